import assert from "node:assert/strict";
import { test } from "node:test";

import { marks, shares } from "../src/lib/timescale.ts";
import { countStates, movesOf } from "../src/views/runs/moves.ts";
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

const AT = (second: number) => `2026-11-16T01:00:0${second}.000Z`;
const attempt = (term: number, state: string, from: number, to: number | null) => ({
  attempt: term,
  term,
  generation: 1,
  state,
  started_at: AT(from),
  finished_at: to === null ? null : AT(to),
  worker: "w",
  error: state === "failed" ? { type: "ValueError", message: "no", trace: "" } : null,
});
const run = {
  created_at: AT(0),
  started_at: AT(1),
  finished_at: AT(3),
  state: "succeeded",
  trigger: "manual",
  schedule: null,
  created_by: "ada",
  tasks: [
    {
      id: 1,
      name: "load",
      state: "succeeded",
      attempts: [attempt(1, "failed", 1, 1), attempt(2, "succeeded", 3, 3)],
      by_hand: [{ deed: "retried", term: 1, at: AT(2), who: "ada", note: "fixed" }],
    },
    { id: 2, name: "never", state: "skipped", attempts: [], by_hand: [] },
  ],
} as never;

test("a history tells the newest first, and what began before what ended at the same instant", () => {
  assert.deepEqual(
    movesOf(run).map((move) => move.what),
    [
      "Run succeeded",
      "Attempt 2 succeeded",
      "Attempt 2 started",
      "Retried by hand",
      "Attempt 1 failed",
      "Attempt 1 started",
      "Run started",
      "Run made",
    ],
  );
  assert.equal(movesOf(run)[3]!.more, "by ada: fixed");
  assert.equal(movesOf(run)[4]!.more, "ValueError: no");
});

test("states are counted, and those of no task left out", () => {
  assert.deepEqual([...countStates((run as { tasks: never }).tasks)], [["succeeded", 1], ["skipped", 1]]);
});
