import assert from "node:assert/strict";
import { test } from "node:test";

import { around, changedFiles, difference, linesIn } from "../src/lib/difference.ts";
import { chance } from "./chance.ts";

/** The longest common subsequence, by trying everything. */
function common(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let x = 1; x <= a.length; x += 1) {
    for (let y = 1; y <= b.length; y += 1) {
      table[x]![y] = a[x - 1] === b[y - 1] ? table[x - 1]![y - 1]! + 1 : Math.max(table[x - 1]![y]!, table[x]![y - 1]!);
    }
  }
  return table[a.length]![b.length]!;
}

test("a difference holds both texts, in order, and changes as few lines as can be", () => {
  const random = chance(17);
  for (let round = 0; round < 500; round += 1) {
    const some = () => Array.from({ length: Math.floor(random() * 14) }, () => "abcd"[Math.floor(random() * 4)]!);
    const [before, after] = [some(), some()];
    const lines = difference(before, after);
    const old = lines.filter((line) => line.before !== null);
    const now = lines.filter((line) => line.after !== null);
    assert.deepEqual(old.map((line) => line.text), before);
    assert.deepEqual(now.map((line) => line.text), after);
    assert.deepEqual(old.map((line) => line.before), before.map((_, at) => at + 1));
    assert.deepEqual(now.map((line) => line.after), after.map((_, at) => at + 1));
    const changes = lines.filter((line) => line.before === null || line.after === null).length;
    assert.equal(changes, before.length + after.length - 2 * common(before, after));
  }
});

test("texts that have next to nothing in common are told in a moment, as one taken away and one added", () => {
  const [before, after] = ["x", "y"].map((name) => Array.from({ length: 15_000 }, (_, at) => `${name}${at}`));
  const lines = difference(["same", ...before!], ["same", ...after!]);
  assert.equal(lines.length, 30_001);
  assert.deepEqual(lines[0], { before: 1, after: 1, text: "same" });
});

test("around changes some lines are shown, and the rest is counted", () => {
  const random = chance(23);
  for (let round = 0; round < 200; round += 1) {
    const before = Array.from({ length: 40 }, (_, at) => `line ${at}`);
    const after = before.map((line) => (random() < 0.06 ? `${line}!` : line));
    const lines = difference(before, after);
    const shown = around(lines, 2);
    const count = shown.reduce((sum, each) => sum + ("same" in each ? each.same : 1), 0);
    assert.equal(count, lines.length);
    for (const each of shown) if ("same" in each) assert.ok(each.same > 1);
    const changed = lines.filter((line) => line.before === null || line.after === null);
    for (const line of changed) assert.ok(shown.includes(line));
  }
});

test("lines are told apart by their breaks, and the last break begins none", () => {
  assert.deepEqual(linesIn("a\r\nb\n\n"), ["a", "b", ""]);
  assert.deepEqual(linesIn(""), []);
});

test("files that differ come first", () => {
  const file = (path: string, digest: string) => ({ path, digest });
  assert.deepEqual(changedFiles([file("a", "1"), file("b", "1"), file("d", "1")], [file("a", "1"), file("b", "2"), file("c", "1")]), [
    { path: "b", change: "changed" },
    { path: "c", change: "added" },
    { path: "d", change: "removed" },
    { path: "a", change: "same" },
  ]);
});
