import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsOf, parseLine, plain } from "../src/lib/ansi.ts";
import { highlight } from "../src/lib/highlight.ts";
import { chance } from "./chance.ts";

test("colours and weights become styles, and go on until they are taken back", () => {
  const { parts, after } = parseLine("a\x1b[1;31mb\x1b[39mc\x1b[0md\x1b[32m");
  assert.deepEqual(parts, [
    { text: "a", style: {} },
    { text: "b", style: { bold: true, ink: "red" } },
    { text: "c", style: { bold: true } },
    { text: "d", style: {} },
  ]);
  assert.deepEqual(parseLine("e", after).parts, [{ text: "e", style: { ink: "green" } }]);
});

test("other colours become the nearest of the eight", () => {
  const ink = (codes: string) => parseLine(`\x1b[${codes}mx`).parts[0]!.style.ink;
  assert.equal(ink("38;5;196"), "red");
  assert.equal(ink("38;5;12"), "blue");
  assert.equal(ink("38;2;255;250;10"), "yellow");
  assert.equal(ink("38;5;255"), "white");
  assert.equal(ink("93"), "yellow");
});

test("of a line that was written over, the last is shown", () => {
  assert.equal(plain("10 %\r50 %\r100 %"), "100 %");
  assert.equal(plain("done\r"), "done");
});

test("sequences that move a cursor, set a title or a link leave nothing behind", () => {
  assert.equal(plain("\x1b[2K\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\\x1b(Bc\x00\x07"), "abc");
});

test("tabs go to every eighth column", () => {
  assert.equal(plain("a\tb\t\tc"), "a       b               c");
  assert.equal(parseLine("abc\x1b[1m\td").parts[1]!.text, "     d");
});

test("wide letters take two columns", () => {
  assert.equal(columnsOf("aä日本"), 6);
});

test("highlighting loses no letter, and marks exactly what was sought", () => {
  const random = chance(7);
  const letters = () => Array.from({ length: Math.floor(random() * 12) }, () => "abA"[Math.floor(random() * 3)]).join("");
  for (let round = 0; round < 500; round += 1) {
    const parts = Array.from({ length: 4 }, () => ({ text: letters(), style: {} }));
    const words = letters().slice(0, 3);
    const told = highlight(parts, words);
    const text = parts.map((part) => part.text).join("");
    assert.equal(told.map((part) => part.text).join(""), text);
    const marked = told.map((part) => (part.hit ? "#" : ".").repeat(part.text.length)).join("");
    const expected = words === "" ? ".".repeat(text.length) : overwritten(text.toLowerCase(), words.toLowerCase());
    assert.equal(marked, expected);
  }
});

function overwritten(text: string, words: string): string {
  return text.replaceAll(words, "#".repeat(words.length)).replaceAll(/[^#]/g, ".");
}
