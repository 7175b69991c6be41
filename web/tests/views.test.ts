import assert from "node:assert/strict";
import { test } from "node:test";

import { weeksOf } from "../src/lib/days_of_runs.ts";
import { Pace } from "../src/lib/pace.ts";
import { stepsOf } from "../src/lib/steps.ts";
import { marks, shares } from "../src/lib/timescale.ts";
import { EMPTY, orderOf } from "../src/views/backfills/order.ts";
import { queuesOf } from "../src/views/queues/whole.ts";
import { countsOf, countStates, movesOf } from "../src/views/runs/moves.ts";
import { isWhole, TASKS_FIRST } from "../src/views/runs/whole.ts";
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

test("of a large run the states of all tasks are known before all tasks are here", () => {
  const tasks = Array.from({ length: TASKS_FIRST }, (_, id) => ({ id, state: "succeeded" })) as never;
  const some = { tasks, task_count: 10_000, task_counts: { succeeded: 9_999, failed: 1 } } as never;
  assert.ok(!isWhole(some));
  assert.deepEqual([...countsOf(some)], [["succeeded", 9_999], ["failed", 1]]);
  assert.ok(isWhole({ tasks, task_count: TASKS_FIRST }));
});

test("what is paced is done at once, then at most so often, and after the last time it was asked for", () => {
  const random = chance(29);
  let now = 0;
  let planned: { at: number; act: () => void }[] = [];
  const clock = { now: () => now, later: (act: () => void, ms: number) => void planned.push({ at: now + ms, act }) };
  const pace = new Pace(1000, clock);
  const done: number[] = [];
  let asked = 0;
  for (let event = 0; event < 2_000; event += 1) {
    const next = now + random() * 400;
    for (const each of planned.filter((one) => one.at <= next)) {
      now = each.at;
      each.act();
    }
    planned = planned.filter((one) => one.at > next);
    now = next;
    asked = now;
    pace.do("list", () => done.push(now));
    if (event === 0) assert.equal(done.length, 1);
  }
  for (const each of planned) {
    now = each.at;
    each.act();
  }
  assert.ok(done.at(-1)! >= asked);
  done.slice(1).forEach((at, place) => assert.ok(at - done[place]! >= 1000 - 1e-6));
  assert.ok(done.length > now / 1000 / 1.5, "and not much less often");
});

test("steps without an end are there, too", () => {
  const point = (at: string) => ({ at }) as never;
  const steps = stepsOf({
    since: "2026-11-16T00:00:00Z",
    until: "2026-11-16T04:00:00Z",
    step: "hour",
    points: [point("2026-11-16T01:00:00Z"), point("2026-11-16T03:00:00Z")],
  });
  assert.deepEqual(steps.map((each) => each.point !== null), [false, true, false, true]);
  assert.equal(steps[1]!.at - steps[0]!.at, 3600);
});

test("weeks end today, begin on a Monday, and hold each day once", () => {
  const weeks = weeksOf([{ at: "2026-11-11T00:00:00Z", runs: 3, failed: 1 }], "2026-11-12", 3);
  assert.deepEqual(weeks.map((week) => week[0]!.date), ["2026-10-26", "2026-11-02", "2026-11-09"]);
  assert.deepEqual(weeks[2]![2], { date: "2026-11-11", runs: 3, failed: 1 });
  assert.deepEqual(weeks[2]!.slice(4), [null, null, null]);
});

const DAYS = { from: "2026-11-01", to: "2026-11-16" };
const NOW = new Date("2026-11-16T10:30:20Z");

test("a backfill is of a schedule by its clock, or of a dag at times of its own, and ends now at the latest", () => {
  assert.deepEqual(orderOf({ schedule: "nightly", zone: "Europe/Berlin" }, DAYS, EMPTY, NOW), {
    schedule: "nightly",
    from: "2026-10-31T23:00:00.000Z",
    to: "2026-11-16T10:30:00.000Z",
    reprocess: "none",
    concurrency: 1,
    newest_first: false,
    priority: 0,
  });
  const own = { dag: "till", times: "0 3 * * *\nevery 90m", zone: "UTC" };
  const draft = { ...EMPTY, exclude: "weekends, closed", parameters: '{"region": "eu"}', fold: "both" } as const;
  const order = orderOf(own, { from: "2026-11-01", to: undefined }, draft, NOW)!;
  assert.equal(order.dag, "till");
  assert.equal(order.to, "2026-11-02T00:00:00.000Z");
  assert.deepEqual(order.parameters, { region: "eu" });
  assert.deepEqual(order.spec, {
    when: ["0 3 * * *", "every 90m"],
    timezone: "UTC",
    dst_gap: "run_after_gap",
    dst_fold: "both",
    exclude: ["weekends", "closed"],
  });
});

test("what a backfill cannot be made of is said, and what is not yet chosen is waited for", () => {
  assert.equal(orderOf(null, DAYS, EMPTY, NOW), null);
  assert.equal(orderOf({ schedule: "nightly", zone: "UTC" }, { from: undefined, to: undefined }, EMPTY, NOW), null);
  assert.throws(() => orderOf({ dag: "till", times: " ", zone: "UTC" }, DAYS, EMPTY, NOW), /at which times/);
  assert.throws(() => orderOf({ dag: "till", times: "@daily", zone: "Mars" }, DAYS, EMPTY, NOW), /no time zone Mars/);
  assert.throws(() => orderOf({ schedule: "nightly", zone: "UTC" }, DAYS, { ...EMPTY, parameters: "[]" }, NOW), /not an object/);
});

test("a queue is what its kinds come to, and tells of a kind that nobody takes", () => {
  const lane = { queue: "mail", ready: 0, oldest_seconds: null, running: 0, workers: 2, aside: 0, pause: null, per_second: 0 };
  const [mail, gpu] = queuesOf([
    { ...lane, kind: "async", ready: 3, oldest_seconds: 4, running: 1, per_second: 2 },
    { ...lane, kind: "process", ready: 1, oldest_seconds: 9, workers: 0 },
    { ...lane, kind: "thread", queue: "gpu" },
  ]);
  assert.deepEqual([mail!.ready, mail!.running, mail!.oldestSeconds, mail!.perSecond, mail!.workers], [4, 1, 9, 2, 2]);
  assert.deepEqual([mail!.busy, mail!.unserved], [["async", "process"], ["process"]]);
  assert.deepEqual([gpu!.name, gpu!.busy, gpu!.oldestSeconds], ["gpu", [], null]);
});
