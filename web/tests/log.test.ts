import assert from "node:assert/strict";
import { test } from "node:test";

import { plain } from "../src/lib/ansi.ts";
import { BLOCK_BYTES, blockCount, fitting, lastBreak, layOut, linesOf, placeOf, rangeOf, TAIL_BYTES } from "../src/lib/log.ts";
import { chance } from "./chance.ts";

const encoder = new TextEncoder();

/** A log whose lines are as long as `longest` lets them be. */
function written(random: () => number, bytes: number, longest: number): Uint8Array {
  const lines: string[] = [];
  for (let size = 0; size < bytes; ) {
    const line = "äx".repeat(Math.floor(random() ** 3 * (longest / 3)));
    lines.push(line);
    size += encoder.encode(line).length + 1;
  }
  return encoder.encode(lines.join("\n") + (random() < 0.5 ? "\n" : ""));
}

function told(log: Uint8Array): { start: number; text: string }[] {
  const found = [];
  for (let block = 0; block < blockCount(log.length); block += 1) {
    const [from, to] = rangeOf(block, log.length);
    for (const { start, text } of linesOf(block, log.subarray(from, to))) found.push({ start, text });
  }
  return found;
}

test("the lines of all blocks are the lines of the log, each once", () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const log = written(chance(seed), 2.5 * BLOCK_BYTES, TAIL_BYTES - 4);
    const whole = new TextDecoder().decode(log);
    const expected = whole.split("\n");
    if (expected.at(-1) === "") expected.pop();
    const found = told(log);
    assert.deepEqual(found.map((line) => line.text), expected.map(plain), `seed ${seed}`);
    for (const { start } of found) assert.ok(start === 0 || log[start - 1] === 10, `seed ${seed}`);
  }
});

test("a line of any length loses no letter, however often it is cut", () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    const random = chance(seed);
    const size = Math.floor((1 + 3 * random()) * BLOCK_BYTES);
    const log = new Uint8Array(size).map(() => 97 + Math.floor(random() * 26));
    const found = told(log);
    assert.equal(found.map((line) => line.text).join(""), new TextDecoder().decode(log), `seed ${seed}`);
  }
});

test("an empty log has no lines, and one block", () => {
  assert.deepEqual(told(new Uint8Array()), []);
  assert.equal(blockCount(0), 1);
});

test("looking through pieces finds the same as looking at every line", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = chance(seed);
    const log = encoder.encode(
      Array.from({ length: 500 }, () => (random() < 0.1 ? "\x1b[31mneed\x1b[0mle" : "hay".repeat(random() * 9))).join("\n"),
    );
    const fits = (text: string) => text.includes("needle");
    const found: number[] = [];
    let carried = new Uint8Array();
    for (let at = 0; at < log.length; ) {
      const end = Math.min(log.length, at + 1 + Math.floor(random() * 700));
      const piece = new Uint8Array([...carried, ...log.subarray(at, end)]);
      const cut = end >= log.length ? piece.length : lastBreak(piece);
      found.push(...fitting(at - carried.length, piece.subarray(0, cut), fits));
      carried = piece.slice(cut);
      at = end;
    }
    assert.deepEqual(found, told(log).filter((line) => fits(line.text)).map((line) => line.start));
  }
});

test("what was seen keeps its height, and what was not is guessed by what was", () => {
  const before = layOut(4, new Map([[1, 300]]), 0.5);
  assert.deepEqual([...before], [0, 300, 600, 900, 1050]);
});

test("a place is the last one that is not beyond", () => {
  const values = [0, 0, 5, 5, 9];
  for (let value = 0; value < 12; value += 1) {
    const expected = values.findLastIndex((each) => each <= value);
    assert.equal(placeOf(values, value), expected);
  }
});
