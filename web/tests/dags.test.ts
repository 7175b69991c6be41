import assert from "node:assert/strict";
import { test } from "node:test";

import { boardOf, cellOf, refreshed, rowsOf, stemOf } from "../src/lib/cells.ts";
import { criticalPath, longestPath, wayThrough } from "../src/lib/critical.ts";
import { folded, LEVEL_MAX } from "../src/lib/folding.ts";
import { askedOf, meant, Unreadable, written } from "../src/lib/parameters.ts";
import { ticks } from "../src/lib/scale.ts";
import { chance } from "./chance.ts";

function someGraph(random: () => number) {
  const count = 1 + Math.floor(random() * 120);
  const after = Array.from({ length: count }, (_, place) =>
    Array.from({ length: place }, (_, parent) => parent).filter(() => random() < 2 / (place + 1)),
  );
  return { tasks: after.map((_, place) => (random() < 0.7 ? `part_${place}` : `task ${place}x`)), after };
}

test("each task is in one node of a folded graph, and nothing leads back", () => {
  const random = chance(7);
  for (let round = 0; round < 200; round += 1) {
    const graph = someGraph(random);
    const { nodes, edges } = folded(graph, new Set(random() < 0.5 ? ["part"] : []));
    const places = nodes.flatMap((node) => node.places).sort((a, b) => a - b);
    assert.deepEqual(places, [...graph.tasks.keys()]);
    const unmet = new Map(nodes.map((node) => [node.id, edges.filter(([, to]) => to === node.id).length]));
    for (let left = nodes.length; left > 0; left -= 1) {
      const free = [...unmet].find(([, count]) => count === 0);
      assert.ok(free !== undefined, "a cycle");
      unmet.delete(free[0]);
      for (const [from, to] of edges) if (from === free[0]) unmet.set(to, unmet.get(to)! - 1);
    }
  }
});

test("ten thousand tasks side by side are few nodes, unfolded too", () => {
  const tasks = ["start", ...Array.from({ length: 9999 }, (_, at) => `part_${at}`)];
  const graph = { tasks, after: tasks.map((_, at) => (at === 0 ? [] : [0])) };
  assert.equal(folded(graph, new Set()).nodes.length, 2);
  const urgent = folded(graph, new Set(["part"]), (place) => (place === 5000 ? 1 : 0));
  assert.equal(urgent.nodes.length, 1 + LEVEL_MAX + 1);
  assert.ok(urgent.nodes.some((node) => node.name === "part_4999"));
});

test("of a folded graph only the edges of the one path are marked, and all of them", () => {
  const random = chance(5);
  for (let round = 0; round < 200; round += 1) {
    const graph = someGraph(random);
    const { nodes, edges } = folded(graph, new Set(random() < 0.5 ? ["part"] : []));
    const path = longestPath(graph.after);
    const way = wayThrough(path, nodes);
    const drawn = new Set(edges.map((edge) => edge.join(" ")));
    assert.equal(way.edges.size, path.length - 1, "each task of a path is on a level of its own");
    for (const edge of way.edges) assert.ok(drawn.has(edge), edge);
  }
  // a → b → c and a → c: the way goes over b, and the short cut is none of it.
  const graph = { tasks: ["a", "b", "c"], after: [[], [0], [0, 1]] };
  const { nodes } = folded(graph, new Set());
  assert.deepEqual([...wayThrough(longestPath(graph.after), nodes).edges], ["t0 t1", "t1 t2"]);
});

test("the critical path ends with what ended last, each step after the parent that ended last", () => {
  const random = chance(11);
  for (let round = 0; round < 200; round += 1) {
    const { after } = someGraph(random);
    const ended = after.map(() => (random() < 0.9 ? random() : null));
    const path = criticalPath(after, ended);
    const known = ended.filter((at) => at !== null);
    if (known.length === 0) continue;
    assert.equal(ended[path.at(-1)!], Math.max(...known));
    path.slice(1).forEach((place, at) => {
      const parents = after[place]!.map((parent) => ended[parent] ?? -1);
      assert.equal(ended[path[at]!], Math.max(...parents));
    });
    assert.ok(longestPath(after).length >= 1);
  }
});

test("names that differ in numbers at their end have one stem", () => {
  assert.equal(stemOf("part_3_17"), "part");
  assert.equal(stemOf("load[4]"), "load");
  assert.equal(stemOf("check_eu"), "check_eu");
  assert.equal(stemOf("2026"), "2026");
});

test("tasks of several versions share rows, and a group shows what matters most", () => {
  const board = boardOf([
    { dag: "d", version: 1, tasks: ["a", "old"], after: [[], [0]] },
    { dag: "d", version: 2, tasks: ["a", "p1", "p2", "p3", "p4"], after: [[], [0], [0], [0], [0]] },
  ]);
  assert.deepEqual(board.names, ["a", "p1", "p2", "p3", "p4", "old"]);
  const rows = rowsOf(board.names, new Set());
  assert.deepEqual(rows.map((row) => row.name), ["a", "p", "old"]);
  const states = ["succeeded", "failed"] as const;
  assert.equal(cellOf(rows[1]!, "00010", board.places.get(2), states), "failed");
  assert.equal(cellOf(rows[1]!, "00", board.places.get(1), states), null);
  assert.equal(cellOf(rows[2]!, "01", board.places.get(1), states), "failed");
  assert.equal(rowsOf(board.names, new Set(["p"])).length, 7);
  assert.deepEqual(rowsOf(board.names, new Set(), "OLD").map((row) => row.name), ["old"]);
});

test("newer runs are put before those in hand, unless there is a gap between", () => {
  const grid = (ids: number[], next: string | null) => ({
    dag: "d",
    states: [],
    next,
    runs: ids.map((id) => ({ id }) as never),
  });
  const ids = (told: { runs: readonly { id: number }[] }) => told.runs.map((run) => run.id);
  assert.deepEqual(ids(refreshed(grid([5, 4, 3, 2], "c"), grid([6, 5, 4], "b"))), [6, 5, 4, 3, 2]);
  assert.equal(refreshed(grid([5, 4, 3, 2], "c"), grid([6, 5, 4], "b")).next, "c");
  assert.deepEqual(ids(refreshed(grid([3, 2], "c"), grid([9, 8], "b"))), [9, 8]);
  assert.deepEqual(ids(refreshed(undefined, grid([1], null))), [1]);
});

test("what a form shows at first means the default again", () => {
  const parameter = (schema: Record<string, unknown>, value: unknown) =>
    askedOf({ name: "p", schema, required: false, default: value });
  for (const [schema, value] of [
    [{ type: "integer" }, 7],
    [{ type: "number" }, 1.5],
    [{ type: "boolean" }, false],
    [{ type: "string" }, "eu"],
    [{ type: "string", format: "date" }, "2026-11-16"],
    [{ enum: ["full", "quick"] }, "quick"],
    [{ type: "array", items: { type: "string" } }, ["a", "b"]],
    [{ $ref: "#/$defs/Colour", $defs: { Colour: { enum: ["red", 2] } } }, 2],
    [{}, { any: null }],
  ] as const) {
    const asked = parameter(schema, value);
    assert.deepEqual(meant(asked, written(asked)), value);
  }
  const none = parameter({ anyOf: [{ type: "integer" }, { type: "null" }] }, null);
  assert.equal(none.ask.kind, "integer");
  assert.equal(meant(none, written(none)), undefined);
});

test("what cannot be meant is said to be wrong", () => {
  const needed = (schema: Record<string, unknown>) =>
    askedOf({ name: "p", schema, required: true, default: null });
  assert.throws(() => meant(needed({ type: "integer" }), "1.5"), Unreadable);
  assert.throws(() => meant(needed({ type: "integer" }), ""), Unreadable);
  assert.throws(() => meant(needed({ type: "array" }), "[1"), Unreadable);
});

test("ticks are even and within the span", () => {
  const random = chance(5);
  for (let round = 0; round < 300; round += 1) {
    const span = 10 ** (random() * 9 - 3);
    const most = 1 + Math.floor(random() * 12);
    const found = ticks(span, most);
    assert.ok(found.length <= most + 1 && found.at(-1)! <= span * (1 + 1e-9));
  }
});
