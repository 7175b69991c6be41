import assert from "node:assert/strict";
import { test } from "node:test";

import { marks, shares } from "../src/lib/timescale.ts";
import { quoted, wayOf } from "../src/views/why/step.ts";
import { chance } from "./chance.ts";

test("marks begin with the beginning, stay within the span, and are few and even", () => {
  const random = chance(3);
  for (let round = 0; round < 500; round += 1) {
    const span = 10 ** (random() * 9 - 3);
    const about = 2 + Math.floor(random() * 9);
    const found = marks(span, about);
    assert.equal(found[0], 0);
    assert.ok(found.length <= about + 1, `${span} ${about}`);
    assert.ok(found.at(-1)! <= span * (1 + 1e-6));
    const steps = found.slice(1).map((each, at) => each - found[at]!);
    for (const step of steps) assert.ok(Math.abs(step - steps[0]!) < 1e-6 * step);
  }
});

test("a stretch never leaves the whole", () => {
  assert.deepEqual(shares(-5, 5, 0, 10), { left: 0, width: 0.5 });
  assert.deepEqual(shares(8, 20, 0, 10), { left: 0.8, width: 0.19999999999999996 });
  assert.equal(shares(3, 2, 0, 10).width, 0);
});

test("the page takes the steps that have a route, and leaves the rest to a terminal", () => {
  assert.deepEqual(wayOf("mainspring dag resume etl"), { kind: "resume_dag", dag: "etl" });
  assert.deepEqual(wayOf("mainspring queue resume gpu"), { kind: "resume_queue", queue: "gpu" });
  assert.deepEqual(wayOf("mainspring run rerun 4097"), { kind: "rerun", run: 4097 });
  assert.deepEqual(wayOf("mainspring run priority 7 9"), { kind: "priority", run: 7, priority: 9 });
  assert.deepEqual(wayOf("mainspring run logs 7 load all"), { kind: "log", run: 7, task: "load all" });
  assert.equal(wayOf("mainspring worker --queues gpu"), null);
  assert.equal(wayOf(null), null);
});

test("what stands between backticks is set apart", () => {
  assert.deepEqual(quoted("the queue `gpu` waits"), [
    { text: "the queue ", code: false },
    { text: "gpu", code: true },
    { text: " waits", code: false },
  ]);
});
