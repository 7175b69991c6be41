// Generated from the routes in src/mainspring/api by `make gen`; do not edit.

/** One try of a task. */
export interface Attempt {
  readonly attempt: number;
  readonly term: number;
  readonly generation: number;
  readonly state: AttemptState;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_seconds: number | null;
  readonly worker: string | null;
  readonly error: TaskError | null;
}

/** Some items of a list, in its order. */
export interface AttemptPage {
  readonly items: readonly (Attempt)[];
  readonly next?: string | null;
}

export type AttemptState = "cancelled" | "failed" | "lost" | "running" | "succeeded" | "timed_out" | "yielded";

/** A backfill, and how far it is: of its `instants`, `done` need nothing more. */
export interface Backfill {
  readonly id: number;
  readonly dag: string;
  readonly schedule: string | null;
  readonly state: BackfillState;
  readonly from: string;
  readonly to: string;
  readonly reprocess: Reprocess;
  readonly concurrency: number;
  readonly priority: number;
  readonly parameters: unknown;
  readonly note: string | null;
  readonly created_at: string;
  readonly created_by: string | null;
  readonly cursor_at: string | null;
  readonly halted_by: string | null;
  readonly halt_note: string | null;
  readonly ended_at: string | null;
  readonly instants: number;
  readonly done: number;
  readonly made: number;
  readonly existing: number;
  readonly excluded: number;
  readonly open: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** A backfill with what became of its instants, the latest first. */
export interface BackfillDocument {
  readonly id: number;
  readonly dag: string;
  readonly schedule: string | null;
  readonly state: BackfillState;
  readonly from: string;
  readonly to: string;
  readonly reprocess: Reprocess;
  readonly concurrency: number;
  readonly priority: number;
  readonly parameters: unknown;
  readonly note: string | null;
  readonly created_at: string;
  readonly created_by: string | null;
  readonly cursor_at: string | null;
  readonly halted_by: string | null;
  readonly halt_note: string | null;
  readonly ended_at: string | null;
  readonly instants: number;
  readonly done: number;
  readonly made: number;
  readonly existing: number;
  readonly excluded: number;
  readonly open: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly fires: readonly (InstantOfBackfill)[];
}

/** What a backfill would do, if nothing happens meanwhile. */
export interface BackfillEstimate {
  readonly instants: number;
  readonly to_run: number;
  readonly existing: number;
  readonly excluded: number;
  readonly remarks: readonly (string)[];
  readonly run_seconds: number | null;
  readonly seconds: number | null;
  readonly fires: readonly (InstantOfPreview)[];
}

/** Some items of a list, in its order. */
export interface BackfillPage {
  readonly items: readonly (Backfill)[];
  readonly next?: string | null;
}

export type BackfillState = "cancelled" | "finished" | "paused" | "running";

/** What somebody did to a task, and why. */
export interface ByHand {
  readonly deed: string;
  readonly term: number;
  readonly at: string;
  readonly who: string;
  readonly note: string;
}

export interface Cancel {
  readonly at_once?: boolean;
}

export interface Cancelling {
  readonly runs?: boolean;
  readonly note?: string | null;
}

/** A program and its arguments; no shell reads them. */
export interface CommandCall {
  readonly arguments: readonly (string)[];
  readonly cwd?: string | null;
}

/** A cron line of 5 or 6 fields, or `@daily` and friends; see `cron_fields.py`. */
export interface CronSpec {
  readonly type: "cron";
  readonly expression: string;
}

/** A dag in a list. */
export interface Dag {
  readonly name: string;
  readonly version: number;
  readonly snapshot: string;
  readonly file: string;
  readonly task_count: number;
  readonly description: string;
  readonly owner: string;
  readonly tags: readonly (string)[];
  readonly changed_at: string;
  readonly rolled_back_at: string | null;
  readonly gone_at: string | null;
  readonly pause: Pause | null;
  readonly last_run: LastRun | null;
  readonly schedules: readonly (DagSchedule)[];
}

export interface DagBeforeAfter {
  readonly before: string | null;
  readonly after: string;
}

/** Some items of a list, in its order. */
export interface DagPage {
  readonly items: readonly (Dag)[];
  readonly next?: string | null;
}

export interface DagParameter {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required: boolean;
  readonly default: unknown;
}

/** A schedule next to its dag. */
export interface DagSchedule {
  readonly name: string;
  readonly words: string;
  readonly in_code: boolean;
  readonly paused: boolean;
  readonly next_fire_at: string | null;
}

/** A task as the dag says it. */
export interface DagTask {
  readonly name: string;
  readonly description: string;
  readonly kind: SlotKind;
  readonly queue: string;
  readonly priority: number;
  readonly after: readonly (string)[];
  readonly retry: Retry;
  readonly timeout_seconds: number | null;
  readonly max_lost: number;
  readonly on_lost: "fail" | "retry";
}

/** A dag with its parameters and tasks. */
export interface DagWhole {
  readonly name: string;
  readonly version: number;
  readonly snapshot: string;
  readonly file: string;
  readonly description: string;
  readonly doc: string;
  readonly owner: string;
  readonly tags: readonly (string)[];
  readonly notify: readonly (string)[];
  readonly timeout_seconds: number | null;
  readonly version_created_at: string;
  readonly changed_at: string;
  readonly rolled_back_at: string | null;
  readonly gone_at: string | null;
  readonly pause: Pause | null;
  readonly schedules: readonly (DagSchedule)[];
  readonly parameters: readonly (DagParameter)[];
  readonly task_count: number;
  readonly tasks: readonly (DagTask)[];
}

/** The time that a scheduled run is about. */
export interface DataInterval {
  readonly start: string | null;
  readonly end: string;
}

/** These instants, in any order. */
export interface DatesSpec {
  readonly type: "dates";
  readonly at: readonly (string)[];
}

/** A task that failed for good. */
export interface DeadLetter {
  readonly group: string;
  readonly run: number;
  readonly dag: string;
  readonly task: string;
  readonly attempt: number | null;
  readonly failed_at: string;
  readonly error: TaskError;
}

/** Some items of a list, in its order. */
export interface DeadLetterPage {
  readonly items: readonly (DeadLetter)[];
  readonly next?: string | null;
}

export type Difference = "added" | "moved" | "removed";

/** What becomes of a time that a change of clocks repeats. */
export type DstFold = "both" | "first" | "last";

/** What becomes of a time that a change of clocks leaves out. */
export type DstGap = "run_after_gap" | "skip";

/** What is wrong with one part of the request. */
export interface FieldProblem {
  readonly pointer: string;
  readonly message: string;
}

export interface FireDifference {
  readonly difference: Difference;
  readonly before: string | null;
  readonly after: string | null;
  readonly note?: string | null;
}

export interface Health {
  readonly status: string;
}

/** A request; the status of its answer decides whether it went well. */
export interface HttpCall {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: string | null;
  readonly json?: unknown;
  readonly expect?: readonly (number)[] | null;
}

/** What became of one instant. */
export interface InstantOfBackfill {
  readonly fire_at: string;
  readonly outcome: Outcome;
  readonly run: number | null;
  readonly verdict: string | null;
}

/** What would become of one instant, and the run that it has. */
export interface InstantOfPreview {
  readonly fire_at: string;
  readonly interval_start: string;
  readonly version: number | null;
  readonly outcome: Outcome;
  readonly run: number | null;
  readonly run_state: string | null;
  readonly excluded_by: string | null;
}

/** Every so many seconds of elapsed time, counted from 1970 in UTC plus the phase. */
export interface IntervalSpec {
  readonly type: "every";
  readonly seconds: number;
  readonly phase_seconds?: number;
}

/** A command, a request or a task under a name, and how it stands. */
export interface Job {
  readonly id: number;
  readonly name: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly dag: string;
  readonly version: number;
  readonly parameters: unknown;
  readonly schedule: ScheduleSpec | null;
  readonly next_run_at: string | null;
  readonly retries: number | null;
  readonly timeout_seconds: number | null;
  readonly priority: number | null;
  readonly queue: string | null;
  readonly running: number;
  readonly queued: number;
  readonly progress: JobProgress | null;
  readonly last_run: LastRunOfJob | null;
  readonly created_at: string;
  readonly created_by: string | null;
  readonly changed_at: string;
  readonly paused: JobPause | null;
  readonly cancelled: JobCancel | null;
}

export interface JobBodies {
  readonly jobs: readonly (JobBody)[];
}

/** One of `command`, `http` and `task`, and when it runs. */
export interface JobBody {
  readonly name?: string | null;
  readonly command?: readonly (string)[] | CommandCall | null;
  readonly http?: string | HttpCall | null;
  readonly task?: string | null;
  readonly schedule?: string | readonly (string)[] | WrittenSpec | null;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly retries?: number | null;
  readonly timeout?: string | number | null;
  readonly priority?: number | null;
  readonly queue?: string | null;
}

export interface JobCancel {
  readonly at: string;
  readonly by: string | null;
  readonly note: string | null;
}

/** One of `schedule`, `paused` and `cancelled`. */
export interface JobChange {
  readonly schedule?: string | readonly (string)[] | WrittenSpec | null;
  readonly paused?: boolean;
  readonly cancelled?: boolean;
  readonly note?: string | null;
}

export type JobKind = "command" | "http" | "task";

/** A job that was asked for, and how it stands. */
export interface JobMade {
  readonly jobId: number;
  readonly name: string;
  readonly status: JobStatus;
}

/** Some items of a list, in its order. */
export interface JobMadePage {
  readonly items: readonly (JobMade)[];
  readonly next?: string | null;
}

/** Some items of a list, in its order. */
export interface JobPage {
  readonly items: readonly (Job)[];
  readonly next?: string | null;
}

export interface JobPause {
  readonly since: string;
  readonly by: string | null;
  readonly note: string | null;
}

/** What the last run has told of itself, or how many of its tasks are over. */
export interface JobProgress {
  readonly percent: number;
  readonly text: string | null;
}

/** How a job stands, at a glance. */
export type JobStatus = "cancelled" | "failed" | "finished" | "paused" | "pending" | "running" | "succeeded";

/** What waits and what runs for one queue and slot kind. */
export interface Lane {
  readonly queue: string;
  readonly kind: SlotKind;
  readonly ready: number;
  readonly oldest_seconds: number | null;
  readonly running: number;
  readonly workers: number;
  readonly aside: number;
  readonly pause: Pause | null;
}

/** Some items of a list, in its order. */
export interface LanePage {
  readonly items: readonly (Lane)[];
  readonly next?: string | null;
}

/** The newest run of a dag. */
export interface LastRun {
  readonly id: number;
  readonly state: RunState | null;
  readonly created_at: string | null;
}

/** The newest run of a job. */
export interface LastRunOfJob {
  readonly id: number;
  readonly state: RunState;
  readonly due_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** What became of a fire, or of a range of fires that were skipped. */
export interface LedgerEntry {
  readonly fire_at: string;
  readonly until_at: string;
  readonly count: number;
  readonly outcome: string;
  readonly reason: string | null;
  readonly run_id: number | null;
  readonly version: number;
  readonly decided_at: string;
}

/** The letter of a group that failed last. */
export interface LetterExample {
  readonly run: number;
  readonly error: TaskError;
}

/** Dead letters of one task of a dag that look alike. */
export interface LetterGroup {
  readonly id: string;
  readonly dag: string;
  readonly task: string;
  readonly error_type: string;
  readonly message: string;
  readonly count: number;
  readonly first_at: string;
  readonly last_at: string;
  readonly example: LetterExample;
}

/** Some items of a list, in its order. */
export interface LetterGroupPage {
  readonly items: readonly (LetterGroup)[];
  readonly next?: string | null;
}

/** The dead letters of a run, or of one task of it. */
export interface LetterOf {
  /** A run's number. */
  readonly run: number;
  readonly task?: string | null;
}

/** How many dead letters were taken off the list. */
export interface LettersDiscarded {
  readonly discarded: number;
  readonly left: readonly (LettersLeft)[];
  readonly ended: string | null;
}

/** Letters of a run that could not be retried, and why. */
export interface LettersLeft {
  readonly run: number;
  readonly tasks: readonly (string)[];
  readonly reason: string;
  readonly hint: string;
}

/** How many dead letters run again. `ended` says why there are more of them, if there are. */
export interface LettersRetried {
  readonly retried: number;
  readonly left: readonly (LettersLeft)[];
  readonly ended: string | null;
}

/** What becomes of fires whose time went by while no engine ran. */
export type Misfire = "all" | "from_now" | "last" | "none";

/** Of a schedule, as it was in force then, or of a dag at times of its own. */
export interface NewBackfill {
  readonly schedule?: string | null;
  readonly dag?: string | null;
  readonly spec?: WrittenSpec | null;
  readonly from: string;
  readonly to?: string | null;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly reprocess?: Reprocess;
  readonly concurrency?: number;
  readonly newest_first?: boolean;
  readonly priority?: number;
  readonly note?: string | null;
}

export interface NewRun {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly run_at?: string | null;
}

/** A token as it is shown once. */
export interface NewToken {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
  readonly queues: readonly (string)[];
  readonly created_at: string;
  readonly created_by: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly token: string;
}

/** A fire that is to come. */
export interface NextFire {
  readonly fire_at: string;
  readonly local: string;
  readonly start_at: string;
  readonly note: string | null;
}

/** One instant. */
export interface OnceSpec {
  readonly type: "once";
  readonly at: string;
}

export interface OptionDifference {
  readonly option: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What becomes of an instant. */
export type Outcome = "excluded" | "exists" | "made";

/** What a fire does while runs of earlier ones are open. */
export type Overlap = "allow_all" | "buffer_all" | "buffer_one" | "cancel_other" | "skip" | "terminate_other";

export interface ParametersBeforeAfter {
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>>;
}

/** Since when, and why. */
export interface Pause {
  readonly at: string;
  readonly by: string | null;
  readonly note: string | null;
}

/** What a pause or resume came to; `changed` tells whether it was otherwise before. */
export interface PauseChange {
  readonly name: string;
  readonly pause: Pause | null;
  readonly changed: boolean;
}

export interface PauseNote {
  readonly note?: string | null;
}

/** The instants that a plug-in knows; see `plugged.py`. */
export interface PluginSpec {
  readonly type: "plugin";
  readonly name: string;
  readonly address?: string;
}

/** A fire as a spec would have it; the note tells what a clock or a calendar did to it. */
export interface PreviewFire {
  readonly fire_at: string;
  readonly local: string;
  readonly note: string | null;
}

/** Some items of a list, in its order. */
export interface PreviewFirePage {
  readonly items: readonly (PreviewFire)[];
  readonly next?: string | null;
}

export interface PreviewOrder {
  readonly spec: WrittenSpec;
  /** A schedule's name. */
  readonly name?: string;
  readonly since?: string | null;
  readonly until?: string | null;
  /** How many fires at most. */
  readonly count?: number;
}

/** Why a request was not done. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly hint?: string;
  readonly request_id?: string;
  readonly errors?: readonly (FieldProblem)[];
  readonly current?: unknown;
}

/** What a running attempt told of itself. */
export interface Progress {
  readonly percent: number;
  readonly text: string | null;
  readonly at: string | null;
}

/** A queue with its lanes and the workers that serve it. */
export interface QueueWhole {
  readonly name: string;
  readonly pause: Pause | null;
  readonly kinds: readonly (Lane)[];
  readonly workers: readonly (string)[];
}

/** An RFC 5545 rule, with a `DTSTART` line before it if it needs one; see `recurrence.py`. */
export interface RecurrenceSpec {
  readonly type: "rrule";
  readonly rule: string;
}

/** Which instants run again that have a run already. One that is open never does. */
export type Reprocess = "all" | "failed" | "none";

export interface Rerun {
  readonly tasks?: readonly (string)[] | null;
  readonly all?: boolean;
}

/** How often a task is tried and how long it rests between attempts. */
export interface Retry {
  readonly attempts: number;
  readonly backoff: "delays" | "exponential" | "fixed" | "function";
  readonly first_seconds: number;
  readonly factor: number;
  readonly cap_seconds: number;
  readonly jitter: number;
  readonly delays_seconds: readonly (number)[];
  readonly give_up_on: readonly (string)[];
}

export type Role = "admin" | "operator" | "viewer" | "worker";

/** A run without its tasks. */
export interface Run {
  readonly id: number;
  readonly dag: string;
  readonly version: number;
  readonly snapshot: string;
  readonly state: RunState;
  readonly trigger: string;
  readonly created_by: string | null;
  readonly rerun_of: number | null;
  readonly created_at: string;
  readonly due_at: string;
  readonly schedule: string | null;
  readonly fire_at: string | null;
  readonly data_interval: DataInterval | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_seconds: number | null;
  readonly stop: string | null;
  readonly task_count: number;
  readonly open_tasks: number;
  readonly failed_tasks: number;
}

/** A run of which tasks run again. */
export interface RunAgain {
  readonly id: number;
  readonly dag: string;
  readonly version: number;
  readonly snapshot: string;
  readonly state: RunState;
  readonly trigger: string;
  readonly created_by: string | null;
  readonly rerun_of: number | null;
  readonly created_at: string;
  readonly due_at: string;
  readonly schedule: string | null;
  readonly fire_at: string | null;
  readonly data_interval: DataInterval | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_seconds: number | null;
  readonly stop: string | null;
  readonly task_count: number;
  readonly open_tasks: number;
  readonly failed_tasks: number;
  readonly reopened: readonly (string)[];
}

/** Some items of a list, in its order. */
export interface RunPage {
  readonly items: readonly (Run)[];
  readonly next?: string | null;
}

export type RunState = "cancelled" | "failed" | "queued" | "running" | "succeeded";

/** A run that was asked to stop, and how many of its tasks still ran then. */
export interface RunStopping {
  readonly id: number;
  readonly dag: string;
  readonly version: number;
  readonly snapshot: string;
  readonly state: RunState;
  readonly trigger: string;
  readonly created_by: string | null;
  readonly rerun_of: number | null;
  readonly created_at: string;
  readonly due_at: string;
  readonly schedule: string | null;
  readonly fire_at: string | null;
  readonly data_interval: DataInterval | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_seconds: number | null;
  readonly stop: string | null;
  readonly task_count: number;
  readonly open_tasks: number;
  readonly failed_tasks: number;
  readonly asked_to_stop: number;
}

/** A run with its parameters and tasks. */
export interface RunWhole {
  readonly id: number;
  readonly dag: string;
  readonly version: number;
  readonly snapshot: string;
  readonly state: RunState;
  readonly trigger: string;
  readonly created_by: string | null;
  readonly rerun_of: number | null;
  readonly created_at: string;
  readonly due_at: string;
  readonly schedule: string | null;
  readonly fire_at: string | null;
  readonly data_interval: DataInterval | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_seconds: number | null;
  readonly stop: string | null;
  readonly task_count: number;
  readonly open_tasks: number;
  readonly failed_tasks: number;
  readonly dag_pause: Pause | null;
  readonly parameters: unknown;
  readonly error: TaskError | null;
  readonly failed_task: string | null;
  readonly tasks: readonly (Task)[];
  readonly reruns: readonly (number)[];
  readonly backfill: number | null;
}

/** A schedule in a list. */
export interface Schedule {
  readonly name: string;
  readonly dag: string;
  readonly state: ScheduleState;
  readonly words: string;
  readonly version: number;
  readonly spec: WholeSpec;
  readonly parameters: unknown;
  readonly note: string;
  readonly in_code: boolean;
  readonly pause: Pause | null;
  readonly dag_paused: boolean;
  readonly next_fire_at: string | null;
  readonly last_fire_at: string | null;
  readonly last_run_id: number | null;
  readonly fired: number;
  readonly failures: number;
  readonly buffered: number;
  readonly created_at: string;
  readonly changed_at: string;
}

/** A schedule after what was asked; `changed` tells whether it was otherwise before. */
export interface ScheduleChange {
  readonly name: string;
  readonly dag: string;
  readonly state: ScheduleState;
  readonly words: string;
  readonly version: number;
  readonly spec: WholeSpec;
  readonly parameters: unknown;
  readonly note: string;
  readonly in_code: boolean;
  readonly pause: Pause | null;
  readonly dag_paused: boolean;
  readonly next_fire_at: string | null;
  readonly last_fire_at: string | null;
  readonly last_run_id: number | null;
  readonly fired: number;
  readonly failures: number;
  readonly buffered: number;
  readonly created_at: string;
  readonly changed_at: string;
  readonly changed: boolean;
}

/** What a change would add, remove and move; version 0 and null before: there is none yet. */
export interface ScheduleDiff {
  readonly name: string;
  readonly version: number;
  readonly before: string | null;
  readonly after: string;
  readonly options: readonly (OptionDifference)[];
  readonly dag: DagBeforeAfter;
  readonly parameters: ParametersBeforeAfter;
  readonly since: string;
  readonly until: string;
  readonly complete: boolean;
  readonly unchanged: number;
  readonly fires: readonly (FireDifference)[];
}

/** A schedule with its next fires, its ledger and its versions. */
export interface ScheduleDocument {
  readonly name: string;
  readonly dag: string;
  readonly state: ScheduleState;
  readonly words: string;
  readonly version: number;
  readonly spec: WholeSpec;
  readonly parameters: unknown;
  readonly note: string;
  readonly in_code: boolean;
  readonly pause: Pause | null;
  readonly dag_paused: boolean;
  readonly next_fire_at: string | null;
  readonly last_fire_at: string | null;
  readonly last_run_id: number | null;
  readonly fired: number;
  readonly failures: number;
  readonly buffered: number;
  readonly created_at: string;
  readonly changed_at: string;
  readonly problems: readonly (string)[];
  readonly next_fires: readonly (NextFire)[];
  readonly fires: readonly (LedgerEntry)[];
  readonly open_runs: readonly (number)[];
  readonly versions: readonly (VersionOfSchedule)[];
}

export interface ScheduleOrder {
  /** A dag's name. */
  readonly dag: string;
  readonly spec: WrittenSpec;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly note?: string;
}

/** Some items of a list, in its order. */
export interface SchedulePage {
  readonly items: readonly (Schedule)[];
  readonly next?: string | null;
}

/** A schedule that is no more. */
export interface ScheduleRemoved {
  readonly name: string;
  readonly removed: boolean;
}

/** When, and how. */
export interface ScheduleSpec {
  readonly when: readonly (CronSpec | IntervalSpec | OnceSpec | DatesSpec | RecurrenceSpec | PluginSpec)[];
  readonly timezone?: string;
  readonly dst_gap?: DstGap;
  readonly dst_fold?: DstFold;
  readonly exclude?: readonly (string)[];
  readonly start?: string | null;
  readonly end?: string | null;
  readonly jitter_seconds?: number;
  readonly interval_seconds?: number | null;
  readonly overlap?: Overlap;
  readonly overlap_max?: number | null;
  readonly misfire?: Misfire;
  readonly grace_seconds?: number;
  readonly max_age_seconds?: number | null;
  readonly max_count?: number | null;
  readonly limit?: number | null;
  readonly pause_after_failures?: number | null;
}

export type ScheduleState = "active" | "finished" | "paused";

/** How a task is run, and what a worker counts. */
export type SlotKind = "async" | "command" | "process" | "thread";

/** One node of a run. */
export interface Task {
  readonly id: number;
  readonly name: string;
  readonly state: TaskState;
  readonly attempt: number;
  readonly attempts_max: number;
  readonly lost: number;
  readonly term: number;
  readonly generation: number;
  readonly queue: string;
  readonly kind: SlotKind;
  readonly priority: number;
  readonly after: readonly (string)[];
  readonly stop: string | null;
  readonly due_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_seconds: number | null;
  readonly worker: string | null;
  readonly progress: Progress | null;
  readonly result: unknown;
  readonly result_bytes: number | null;
  readonly error: TaskError | null;
  readonly attempts: readonly (Attempt)[];
  readonly by_hand: readonly (ByHand)[];
}

/** What went wrong in an attempt. */
export interface TaskError {
  readonly type: string;
  readonly message: string;
  readonly trace: string;
}

/** Some items of a list, in its order. */
export interface TaskPage {
  readonly items: readonly (Task)[];
  readonly next?: string | null;
}

export type TaskState = "backoff" | "cancelled" | "failed" | "parked" | "ready" | "running" | "skipped" | "succeeded" | "upstream_failed" | "waiting";

/** A token in a list; its secret is not known. */
export interface Token {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
  readonly queues: readonly (string)[];
  readonly created_at: string;
  readonly created_by: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

export interface TokenOrder {
  readonly name: string;
  readonly role: Role;
  readonly queues?: readonly (string)[];
  readonly expires_in?: string | null;
}

/** Some items of a list, in its order. */
export interface TokenPage {
  readonly items: readonly (Token)[];
  readonly next?: string | null;
}

/** A version of a dag. */
export interface Version {
  readonly version: number;
  readonly task_count: number;
  readonly created_at: string;
  readonly snapshot: string;
  readonly code_bytes: number | null;
  readonly in_use: boolean;
  readonly in_folder: boolean;
}

/** A schedule as it was, or is, and in force from when until when. */
export interface VersionOfSchedule {
  readonly version: number;
  readonly words: string;
  readonly spec: WholeSpec;
  readonly parameters: unknown;
  readonly changed_by: string;
  readonly in_force_from: string;
  readonly in_force_until: string | null;
}

/** Some items of a list, in its order. */
export interface VersionPage {
  readonly items: readonly (Version)[];
  readonly next?: string | null;
}

export interface Which {
  readonly groups?: readonly (string)[];
  readonly letters?: readonly (LetterOf)[];
  readonly note?: string;
}

/** When, and how: all of it, also what has its default. */
export interface WholeSpec {
  readonly when: readonly (CronSpec | IntervalSpec | OnceSpec | DatesSpec | RecurrenceSpec | PluginSpec)[];
  readonly timezone?: string;
  readonly dst_gap?: DstGap;
  readonly dst_fold?: DstFold;
  readonly exclude?: readonly (string)[];
  readonly start?: string | null;
  readonly end?: string | null;
  readonly jitter_seconds?: number;
  readonly interval_seconds?: number | null;
  readonly overlap?: Overlap;
  readonly overlap_max?: number | null;
  readonly misfire?: Misfire;
  readonly grace_seconds?: number;
  readonly max_age_seconds?: number | null;
  readonly max_count?: number | null;
  readonly limit?: number | null;
  readonly pause_after_failures?: number | null;
}

export interface Why {
  readonly note?: string;
}

/** A living worker and what it has in hand. */
export interface Worker {
  readonly id: number;
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly queues: readonly (string)[];
  readonly slots: Readonly<Record<string, number>>;
  readonly running: Readonly<Record<string, number>>;
  readonly started_at: string;
  readonly renewed_at: string;
  readonly lease_seconds: number;
  readonly draining: boolean;
  readonly overdue: boolean;
}

/** Some items of a list, in its order. */
export interface WorkerPage {
  readonly items: readonly (Worker)[];
  readonly next?: string | null;
}

/** When, and how. What is left out has its default. */
export interface WrittenSpec {
  readonly timezone?: string;
  readonly dst_gap?: DstGap;
  readonly dst_fold?: DstFold;
  readonly exclude?: readonly (string)[];
  readonly start?: string | null;
  readonly end?: string | null;
  readonly jitter_seconds?: number;
  readonly interval_seconds?: number | null;
  readonly overlap?: Overlap;
  readonly overlap_max?: number | null;
  readonly misfire?: Misfire;
  readonly grace_seconds?: number;
  readonly max_age_seconds?: number | null;
  readonly max_count?: number | null;
  readonly limit?: number | null;
  readonly pause_after_failures?: number | null;
  readonly when: readonly (string | CronSpec | IntervalSpec | OnceSpec | DatesSpec | RecurrenceSpec | PluginSpec)[];
}

/** What each operation takes and answers. */
export interface Operations {
  /** Dags, by name. */
  list_dags: {
    parts: object;
    query: { owner?: string; tag?: readonly (string)[]; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: DagPage;
  };
  /** One dag with its parameters and tasks, as a trigger uses it now. */
  show_dag: {
    parts: { dag: string };
    query: object;
    body: undefined;
    answer: DagWhole;
  };
  /** The versions of a dag, the newest first. */
  list_dag_versions: {
    parts: { dag: string };
    query: object;
    body: undefined;
    answer: VersionPage;
  };
  /** Hold a dag: none of its tasks is handed to a worker any more. What runs goes on. */
  pause_dag: {
    parts: { dag: string };
    query: object;
    body: PauseNote | undefined;
    answer: PauseChange;
  };
  /** End a dag's pause: what waits goes on, in the order that it had. */
  resume_dag: {
    parts: { dag: string };
    query: object;
    body: undefined;
    answer: PauseChange;
  };
  /** Start a run of a dag. */
  create_run: {
    parts: { dag: string };
    query: object;
    body: NewRun | undefined;
    answer: Run;
  };
  /** Runs of a dag, the newest first. */
  list_dag_runs: {
    parts: { dag: string };
    query: { state?: RunState; trigger?: "backfill" | "event" | "manual" | "rerun" | "schedule" | "upstream"; since?: string; until?: string; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: RunPage;
  };
  /** One run of a dag, as `/runs/{run}` tells it. */
  show_dag_run: {
    parts: { dag: string; run: number };
    query: object;
    body: undefined;
    answer: RunWhole;
  };
  /** Make a job of a command, a request or a task; without a schedule it runs at once. */
  create_job: {
    parts: object;
    query: object;
    body: JobBody | undefined;
    answer: JobMade;
  };
  /** Jobs, the newest first. */
  list_jobs: {
    parts: object;
    query: { status?: JobStatus; kind?: JobKind; name?: string; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: JobPage;
  };
  /** Make up to 10,000 jobs, all or none. The answer has them in the order of the request. */
  create_jobs: {
    parts: object;
    query: object;
    body: JobBodies;
    answer: JobMadePage;
  };
  /** How a job stands: status, progress, last and next run. */
  show_job: {
    parts: { job: string };
    query: object;
    body: undefined;
    answer: Job;
  };
  /** Reschedule, pause, resume or cancel a job: one of them at a time. */
  change_job: {
    parts: { job: string };
    query: object;
    body: JobChange | undefined;
    answer: Job;
  };
  /** Runs of a job, the newest first. */
  list_runs_of_job: {
    parts: { job: string };
    query: { state?: readonly (RunState)[]; since?: string; until?: string; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: RunPage;
  };
  /** Run a job now, whatever its schedule says. `id` is the run's. */
  trigger_job: {
    parts: { job: string };
    query: object;
    body: undefined;
    answer: Run;
  };
  /** Runs, the newest first. */
  list_runs: {
    parts: object;
    query: { state?: RunState; trigger?: "backfill" | "event" | "manual" | "rerun" | "schedule" | "upstream"; since?: string; until?: string; limit?: number; cursor?: string; fields?: string; dag?: string };
    body: undefined;
    answer: RunPage;
  };
  /** One run with its parameters, its tasks and their attempts. */
  show_run: {
    parts: { run: number };
    query: object;
    body: undefined;
    answer: RunWhole;
  };
  /** The tasks of a run, in the order of its dag. */
  list_tasks: {
    parts: { run: number };
    query: object;
    body: undefined;
    answer: TaskPage;
  };
  /** The attempts of one task, in their order. */
  list_attempts: {
    parts: { run: number; task: string };
    query: object;
    body: undefined;
    answer: AttemptPage;
  };
  /** What an attempt wrote, by byte range. */
  read_log: {
    parts: { run: number; task: string; number: number };
    query: object;
    body: undefined;
    answer: string;
  };
  /** Stop a run. What runs is asked to end, what waits never starts. */
  cancel_run: {
    parts: { run: number };
    query: object;
    body: Cancel | undefined;
    answer: RunStopping;
  };
  /** Run tasks of a run again, in the same run, and what comes after them. */
  rerun_run: {
    parts: { run: number };
    query: object;
    body: Rerun | undefined;
    answer: RunAgain;
  };
  /** Make a new run with the parameters of another one, on the dag's version and code of now. */
  rerun_latest: {
    parts: { run: number };
    query: object;
    body: undefined;
    answer: Run;
  };
  /** Schedules, by name. */
  list_schedules: {
    parts: object;
    query: { dag?: string; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: SchedulePage;
  };
  /** One schedule: its spec, its next fires, what became of the last ones, its versions. */
  show_schedule: {
    parts: { schedule: string };
    query: { fires?: number };
    body: undefined;
    answer: ScheduleDocument;
  };
  /** Make a schedule what is said here, all of it: what is left out has its default. */
  put_schedule: {
    parts: { schedule: string };
    query: object;
    body: ScheduleOrder;
    answer: ScheduleChange;
  };
  /** Remove a schedule. Runs that it has started go on, and history keeps what it fired. */
  delete_schedule: {
    parts: { schedule: string };
    query: object;
    body: undefined;
    answer: ScheduleRemoved;
  };
  /** Let a schedule fire no more. What it has started goes on. */
  pause_schedule: {
    parts: { schedule: string };
    query: object;
    body: PauseNote | undefined;
    answer: ScheduleChange;
  };
  /** Let a schedule fire again, from its next fire on; those of the pause are skipped. */
  resume_schedule: {
    parts: { schedule: string };
    query: object;
    body: undefined;
    answer: ScheduleChange;
  };
  /** When a schedule would fire, before there is one. */
  preview_spec: {
    parts: object;
    query: object;
    body: PreviewOrder;
    answer: PreviewFirePage;
  };
  /** When a schedule fires; notes tell what a change of clocks or a calendar does to a fire. */
  preview_schedule: {
    parts: { schedule: string };
    query: { since?: string; until?: string; count?: number };
    body: undefined;
    answer: PreviewFirePage;
  };
  /** What a `PUT` with the same body would add, remove and move. Nothing is changed. */
  diff_schedule: {
    parts: { schedule: string };
    query: { days?: number; since?: string };
    body: ScheduleOrder;
    answer: ScheduleDiff;
  };
  /** Make runs for instants of the past; engines do it from now on. */
  create_backfill: {
    parts: object;
    query: object;
    body: NewBackfill;
    answer: Backfill;
  };
  /** Backfills, the newest first. */
  list_backfills: {
    parts: object;
    query: { dag?: string; state?: BackfillState; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: BackfillPage;
  };
  /** What a `POST /backfills` with the same body would run. Nothing is made. */
  estimate_backfill: {
    parts: object;
    query: { count?: number };
    body: NewBackfill;
    answer: BackfillEstimate;
  };
  /** One backfill: how far it is, and what became of its instants, the latest first. */
  show_backfill: {
    parts: { backfill: number };
    query: { failed?: boolean; limit?: number };
    body: undefined;
    answer: BackfillDocument;
  };
  /** Let a backfill make no runs until it is resumed. Those that are open go on. */
  pause_backfill: {
    parts: { backfill: number };
    query: object;
    body: PauseNote | undefined;
    answer: Backfill;
  };
  /** Let a backfill go on where it was. */
  resume_backfill: {
    parts: { backfill: number };
    query: object;
    body: undefined;
    answer: Backfill;
  };
  /** End a backfill: it makes no more runs, ever. */
  cancel_backfill: {
    parts: { backfill: number };
    query: object;
    body: Cancelling | undefined;
    answer: Backfill;
  };
  /** Dead letters by error; what failed last comes first. */
  list_dead_letters: {
    parts: object;
    query: { dag?: string; task?: string; error?: string; since?: string; until?: string; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: LetterGroupPage;
  };
  /** The dead letters of a group, the oldest first, with their errors. */
  list_group: {
    parts: { group: string };
    query: { limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: DeadLetterPage;
  };
  /** Run dead letters again: each in its own run, with what comes after it. */
  retry_letters: {
    parts: object;
    query: object;
    body: Which | undefined;
    answer: LettersRetried;
  };
  /** Take dead letters off the list. Their runs stay as they are, in history. */
  discard_letters: {
    parts: object;
    query: object;
    body: Which | undefined;
    answer: LettersDiscarded;
  };
  /** Run all dead letters of a group again. */
  retry_group: {
    parts: { group: string };
    query: object;
    body: Why | undefined;
    answer: LettersRetried;
  };
  /** Take all dead letters of a group off the list. */
  discard_group: {
    parts: { group: string };
    query: object;
    body: Why | undefined;
    answer: LettersDiscarded;
  };
  /** What waits and what runs, by queue and slot kind; queues where nothing does are left out. */
  list_queues: {
    parts: object;
    query: object;
    body: undefined;
    answer: LanePage;
  };
  /** One queue with the workers that serve it. */
  show_queue: {
    parts: { queue: string };
    query: object;
    body: undefined;
    answer: QueueWhole;
  };
  /** Hold a queue: nothing of it is handed to a worker any more. What runs goes on. */
  pause_queue: {
    parts: { queue: string };
    query: object;
    body: PauseNote | undefined;
    answer: PauseChange;
  };
  /** End a queue's pause. */
  resume_queue: {
    parts: { queue: string };
    query: object;
    body: undefined;
    answer: PauseChange;
  };
  /** Living workers, by name. */
  list_workers: {
    parts: object;
    query: object;
    body: undefined;
    answer: WorkerPage;
  };
  /** All tokens, the newest first; their secrets are not known. */
  list_tokens: {
    parts: object;
    query: object;
    body: undefined;
    answer: TokenPage;
  };
  /** Make a token. Its secret, `token`, is in this answer and nowhere else. */
  make_token: {
    parts: object;
    query: object;
    body: TokenOrder;
    answer: NewToken;
  };
  /** Revoke a token: within a second no server takes it any more. */
  delete_token: {
    parts: { token: number };
    query: object;
    body: undefined;
    answer: Token;
  };
}

/** Where each operation is. */
export const OPERATIONS = {
  list_dags: ["GET", "/api/v1/dags"],
  show_dag: ["GET", "/api/v1/dags/{dag}"],
  list_dag_versions: ["GET", "/api/v1/dags/{dag}/versions"],
  pause_dag: ["POST", "/api/v1/dags/{dag}/pause"],
  resume_dag: ["POST", "/api/v1/dags/{dag}/resume"],
  create_run: ["POST", "/api/v1/dags/{dag}/runs"],
  list_dag_runs: ["GET", "/api/v1/dags/{dag}/runs"],
  show_dag_run: ["GET", "/api/v1/dags/{dag}/runs/{run}"],
  create_job: ["POST", "/api/v1/jobs"],
  list_jobs: ["GET", "/api/v1/jobs"],
  create_jobs: ["POST", "/api/v1/jobs/bulk"],
  show_job: ["GET", "/api/v1/jobs/{job}"],
  change_job: ["PATCH", "/api/v1/jobs/{job}"],
  list_runs_of_job: ["GET", "/api/v1/jobs/{job}/runs"],
  trigger_job: ["POST", "/api/v1/jobs/{job}/trigger"],
  list_runs: ["GET", "/api/v1/runs"],
  show_run: ["GET", "/api/v1/runs/{run}"],
  list_tasks: ["GET", "/api/v1/runs/{run}/tasks"],
  list_attempts: ["GET", "/api/v1/runs/{run}/tasks/{task}/attempts"],
  read_log: ["GET", "/api/v1/runs/{run}/tasks/{task}/attempts/{number}/logs"],
  cancel_run: ["POST", "/api/v1/runs/{run}/cancel"],
  rerun_run: ["POST", "/api/v1/runs/{run}/rerun"],
  rerun_latest: ["POST", "/api/v1/runs/{run}/rerun-latest"],
  list_schedules: ["GET", "/api/v1/schedules"],
  show_schedule: ["GET", "/api/v1/schedules/{schedule}"],
  put_schedule: ["PUT", "/api/v1/schedules/{schedule}"],
  delete_schedule: ["DELETE", "/api/v1/schedules/{schedule}"],
  pause_schedule: ["POST", "/api/v1/schedules/{schedule}/pause"],
  resume_schedule: ["POST", "/api/v1/schedules/{schedule}/resume"],
  preview_spec: ["POST", "/api/v1/schedules/preview"],
  preview_schedule: ["GET", "/api/v1/schedules/{schedule}/preview"],
  diff_schedule: ["POST", "/api/v1/schedules/{schedule}/diff"],
  create_backfill: ["POST", "/api/v1/backfills"],
  list_backfills: ["GET", "/api/v1/backfills"],
  estimate_backfill: ["POST", "/api/v1/backfills/preview"],
  show_backfill: ["GET", "/api/v1/backfills/{backfill}"],
  pause_backfill: ["POST", "/api/v1/backfills/{backfill}/pause"],
  resume_backfill: ["POST", "/api/v1/backfills/{backfill}/resume"],
  cancel_backfill: ["POST", "/api/v1/backfills/{backfill}/cancel"],
  list_dead_letters: ["GET", "/api/v1/dead-letters"],
  list_group: ["GET", "/api/v1/dead-letters/{group}"],
  retry_letters: ["POST", "/api/v1/dead-letters/retry"],
  discard_letters: ["POST", "/api/v1/dead-letters/discard"],
  retry_group: ["POST", "/api/v1/dead-letters/{group}/retry"],
  discard_group: ["POST", "/api/v1/dead-letters/{group}/discard"],
  list_queues: ["GET", "/api/v1/queues"],
  show_queue: ["GET", "/api/v1/queues/{queue}"],
  pause_queue: ["POST", "/api/v1/queues/{queue}/pause"],
  resume_queue: ["POST", "/api/v1/queues/{queue}/resume"],
  list_workers: ["GET", "/api/v1/workers"],
  list_tokens: ["GET", "/api/v1/tokens"],
  make_token: ["POST", "/api/v1/tokens"],
  delete_token: ["DELETE", "/api/v1/tokens/{token}"],
} as const satisfies Record<keyof Operations, readonly [string, string]>;
