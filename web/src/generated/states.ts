// Generated from src/mainspring/domain/states.py by `make gen`; do not edit.

/** How a state feels to the person who looks; the style sheet has one colour for each. */
export type Tone = "quiet" | "pending" | "active" | "good" | "warn" | "bad";

/** What is true of a state, whichever machine it belongs to. */
export interface StateFacts {
  readonly label: string;
  readonly tone: Tone;
  /** It is over; only a rerun opens it again. */
  readonly closed: boolean;
  readonly meaning: string;
}

export const RUN_STATES = ["queued", "running", "succeeded", "failed", "cancelled"] as const;

export type RunState = (typeof RUN_STATES)[number];

export const RUN_FACTS: Readonly<Record<RunState, StateFacts>> = {
  queued: {
    label: "Queued",
    tone: "pending",
    closed: false,
    meaning: "accepted; no task has started yet",
  },
  running: {
    label: "Running",
    tone: "active",
    closed: false,
    meaning: "at least one task has started",
  },
  succeeded: {
    label: "Succeeded",
    tone: "good",
    closed: true,
    meaning: "every task ended and none failed or was cancelled",
  },
  failed: {
    label: "Failed",
    tone: "bad",
    closed: true,
    meaning: "every task ended and one failed",
  },
  cancelled: { label: "Cancelled", tone: "quiet", closed: true, meaning: "stopped by request" },
};

/** The states that may follow each state. */
export const RUN_MOVES: Readonly<Record<RunState, readonly RunState[]>> = {
  queued: ["running", "succeeded", "cancelled", "failed"],
  running: ["succeeded", "failed", "cancelled"],
  succeeded: ["running"],
  failed: ["running"],
  cancelled: ["running"],
};

export function isRunState(value: string): value is RunState {
  return Object.hasOwn(RUN_FACTS, value);
}

export const TASK_STATES = [
  "waiting",
  "ready",
  "running",
  "backoff",
  "parked",
  "succeeded",
  "failed",
  "skipped",
  "upstream_failed",
  "cancelled",
] as const;

export type TaskState = (typeof TASK_STATES)[number];

export const TASK_FACTS: Readonly<Record<TaskState, StateFacts>> = {
  waiting: {
    label: "Waiting",
    tone: "quiet",
    closed: false,
    meaning: "for the tasks before it, or for its start time",
  },
  ready: { label: "Ready", tone: "pending", closed: false, meaning: "in a queue, for a free slot" },
  running: { label: "Running", tone: "active", closed: false, meaning: "claimed by a worker" },
  backoff: { label: "Backing off", tone: "warn", closed: false, meaning: "for its next attempt" },
  parked: {
    label: "Parked",
    tone: "quiet",
    closed: false,
    meaning: "for an instant, event or run",
  },
  succeeded: { label: "Succeeded", tone: "good", closed: true, meaning: "its result is kept" },
  failed: { label: "Failed", tone: "bad", closed: true, meaning: "no attempt is left; a problem" },
  skipped: {
    label: "Skipped",
    tone: "quiet",
    closed: true,
    meaning: "by its own wish or by a parent's",
  },
  upstream_failed: {
    label: "Upstream failed",
    tone: "bad",
    closed: true,
    meaning: "never ran: a task before it failed",
  },
  cancelled: { label: "Cancelled", tone: "quiet", closed: true, meaning: "stopped by request" },
};

/** The states that may follow each state. */
export const TASK_MOVES: Readonly<Record<TaskState, readonly TaskState[]>> = {
  waiting: ["ready", "succeeded", "skipped", "upstream_failed", "cancelled"],
  ready: ["running", "succeeded", "skipped", "cancelled"],
  running: ["succeeded", "failed", "skipped", "backoff", "parked", "ready", "cancelled"],
  backoff: ["ready", "succeeded", "skipped", "cancelled"],
  parked: ["ready", "succeeded", "skipped", "cancelled"],
  succeeded: ["waiting"],
  failed: ["waiting"],
  skipped: ["waiting"],
  upstream_failed: ["waiting"],
  cancelled: ["waiting"],
};

export function isTaskState(value: string): value is TaskState {
  return Object.hasOwn(TASK_FACTS, value);
}

export const ATTEMPT_STATES = [
  "running",
  "succeeded",
  "failed",
  "timed_out",
  "lost",
  "cancelled",
  "yielded",
] as const;

export type AttemptState = (typeof ATTEMPT_STATES)[number];

export const ATTEMPT_FACTS: Readonly<Record<AttemptState, StateFacts>> = {
  running: { label: "Running", tone: "active", closed: false, meaning: "a worker holds it" },
  succeeded: { label: "Succeeded", tone: "good", closed: true, meaning: "it returned a result" },
  failed: { label: "Failed", tone: "bad", closed: true, meaning: "it raised, or its process died" },
  timed_out: {
    label: "Timed out",
    tone: "bad",
    closed: true,
    meaning: "stopped at its time limit",
  },
  lost: { label: "Lost", tone: "warn", closed: true, meaning: "its worker was not heard of again" },
  cancelled: { label: "Cancelled", tone: "quiet", closed: true, meaning: "stopped by request" },
  yielded: { label: "Handed back", tone: "quiet", closed: true, meaning: "given back uncharged" },
};

/** The states that may follow each state. */
export const ATTEMPT_MOVES: Readonly<Record<AttemptState, readonly AttemptState[]>> = {
  running: ["succeeded", "failed", "timed_out", "lost", "cancelled", "yielded"],
  succeeded: [],
  failed: [],
  timed_out: [],
  lost: [],
  cancelled: [],
  yielded: [],
};

export function isAttemptState(value: string): value is AttemptState {
  return Object.hasOwn(ATTEMPT_FACTS, value);
}

export const BACKFILL_STATES = ["running", "paused", "cancelled", "finished"] as const;

export type BackfillState = (typeof BACKFILL_STATES)[number];

export const BACKFILL_FACTS: Readonly<Record<BackfillState, StateFacts>> = {
  running: {
    label: "Running",
    tone: "active",
    closed: false,
    meaning: "it makes runs, or awaits their ends",
  },
  paused: {
    label: "Paused",
    tone: "warn",
    closed: false,
    meaning: "it makes no runs until resumed",
  },
  cancelled: { label: "Cancelled", tone: "quiet", closed: true, meaning: "it makes no more runs" },
  finished: {
    label: "Finished",
    tone: "good",
    closed: true,
    meaning: "each instant was dealt with and its runs are over",
  },
};

/** The states that may follow each state. */
export const BACKFILL_MOVES: Readonly<Record<BackfillState, readonly BackfillState[]>> = {
  running: ["paused", "cancelled", "finished"],
  paused: ["running", "cancelled"],
  cancelled: [],
  finished: [],
};

export function isBackfillState(value: string): value is BackfillState {
  return Object.hasOwn(BACKFILL_FACTS, value);
}

/** The state type of each machine. */
export interface StateOf {
  run: RunState;
  task: TaskState;
  attempt: AttemptState;
  backfill: BackfillState;
}

export type MachineName = keyof StateOf;

/** The facts of every machine, for code that shows any of them. */
export const FACTS: { readonly [M in MachineName]: Readonly<Record<StateOf[M], StateFacts>> } = {
  run: RUN_FACTS,
  task: TASK_FACTS,
  attempt: ATTEMPT_FACTS,
  backfill: BACKFILL_FACTS,
};
