// Generated from src/mainspring/api/resources by `make gen`; do not edit.

export interface Asked {
  readonly asked: boolean;
}

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
  readonly cpu_seconds: number | null;
  readonly peak_bytes: number | null;
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

/** A calendar with the next days that it holds. */
export interface Calendar {
  readonly name: string;
  readonly dates: readonly (string)[];
  readonly weekdays: readonly (string)[];
  readonly country: string | null;
  readonly subdivision: string | null;
  readonly schedules: readonly (string)[];
  readonly next: readonly (CalendarDay)[];
}

export interface CalendarDay {
  readonly date: string;
  readonly name: string | null;
}

/** A calendar in a list, and how many schedules leave out its days. */
export interface CalendarLine {
  readonly name: string;
  readonly dates: readonly (string)[];
  readonly weekdays: readonly (string)[];
  readonly country: string | null;
  readonly subdivision: string | null;
  readonly schedules: number;
}

/** Some items of a list, in its order. */
export interface CalendarLinePage {
  readonly items: readonly (CalendarLine)[];
  readonly next?: string | null;
}

/** A calendar as it is now, and which schedules leave out its days. */
export interface CalendarPut {
  readonly name: string;
  readonly dates: readonly (string)[];
  readonly weekdays: readonly (string)[];
  readonly country: string | null;
  readonly subdivision: string | null;
  readonly schedules: readonly (string)[];
}

export interface CalendarRemoved {
  readonly name: string;
}

export interface Cancel {
  readonly at_once?: boolean;
}

export interface CancelChosen {
  readonly runs?: readonly (number)[] | null;
  readonly filter?: Filter | null;
  readonly cursor?: string | null;
  readonly limit?: number;
  readonly at_once?: boolean;
}

export interface Cancelled {
  readonly type: "Cancelled";
  readonly reason?: string;
}

export interface Cancelling {
  readonly runs?: boolean;
  readonly note?: string | null;
}

/** One task that holds others back, or holds the answer itself. */
export interface Cause {
  readonly task: string;
  readonly state: TaskState;
  readonly text: string;
  readonly reason: Reason;
  readonly unblocks: readonly (Step)[];
}

/** One field, as JSON data; null stands for what is not there. */
export interface Change {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** A task or parameter that both versions have. */
export interface Changed {
  readonly name: string;
  readonly changes: readonly (Change)[];
}

/** One thing that was looked at. */
export interface Check {
  readonly name: string;
  readonly verdict: Verdict;
  readonly found: string;
  readonly fix?: string;
  readonly count?: number | null;
  readonly details?: unknown;
}

export interface Chunk {
  readonly task: number;
  readonly term: number;
  readonly start: number;
  readonly content: string;
}

export interface Chunks {
  readonly chunks: readonly (Chunk)[];
}

/** A task in hand, with all that is needed to run it besides the spec and inputs. */
export interface Claimed {
  readonly claim_id: string;
  readonly task_id: number;
  readonly run_id: number;
  readonly version_id: number;
  readonly snapshot_id: number;
  readonly node: number;
  readonly lane: number;
  readonly priority: number;
  readonly position: number;
  readonly term: number;
  readonly attempt: number;
  readonly lost: number;
  readonly generation: number;
  readonly epoch: number;
  readonly due_at: string;
  readonly parameters: string | null;
  readonly many: boolean;
  readonly schedule_id?: number | null;
  readonly fire_at?: string | null;
  readonly interval_start?: string | null;
  readonly attempts_max?: number | null;
  readonly timeout_seconds?: number | null;
}

/** The database's clock. */
export interface Clock {
  readonly now: string;
}

/** The last code that a version was read from, and the text of one of its files. */
export interface Code {
  readonly dag: string;
  readonly version: number;
  readonly snapshot: string;
  readonly files: readonly (CodeFile)[];
  readonly file: string | null;
  readonly text: string | null;
  readonly cut: boolean;
}

export interface CodeFile {
  readonly path: string;
  readonly bytes: number;
  readonly digest: string;
}

/** What a schedule does in the hours to come, if nothing changes. */
export interface ComingFires {
  readonly schedule: string;
  readonly dag: string;
  readonly since: string;
  readonly by_hour: readonly (number)[];
  readonly fires: readonly (string)[];
}

/** Some items of a list, in its order. */
export interface ComingFiresPage {
  readonly items: readonly (ComingFires)[];
  readonly next?: string | null;
}

/** A program and its arguments; no shell reads them. */
export interface CommandCall {
  readonly arguments: readonly (string)[];
  readonly cwd?: string | null;
}

/** A parameter that is not the same in both runs. */
export interface ComparedParameter {
  readonly name: string;
  readonly values: readonly (unknown)[];
  readonly given: readonly (boolean)[];
}

/** How a task stands in one of the runs. */
export interface ComparedTask {
  readonly state: TaskState;
  readonly attempt: number;
  readonly duration_seconds: number | null;
  readonly result: unknown;
  readonly result_bytes: number | null;
}

/** A task of both runs; null where there is no such task. */
export interface ComparedTasks {
  readonly name: string;
  readonly changed: readonly (string)[];
  readonly runs: readonly (ComparedTask | null)[];
}

/** Two runs side by side. */
export interface Comparison {
  readonly runs: readonly (Run)[];
  readonly same_dag: boolean;
  readonly same_version: boolean;
  readonly same_code: boolean;
  readonly parameters: readonly (ComparedParameter)[];
  readonly tasks: readonly (ComparedTasks)[];
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

/** Tasks, what they wait for, parameters, and when it runs. */
export interface DagBody {
  readonly name: string;
  readonly tasks: readonly (WrittenTask)[];
  readonly parameters?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly timeout?: string | number | null;
  readonly description?: string;
  readonly doc?: string;
  readonly owner?: string;
  readonly tags?: readonly (string)[];
  readonly schedule?: string | readonly (string)[] | WrittenSpec | null;
  readonly schedule_parameters?: Readonly<Record<string, unknown>>;
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

export interface DagRemoved {
  readonly name: string;
  readonly schedules: readonly (string)[];
}

/** A schedule next to its dag. */
export interface DagSchedule {
  readonly name: string;
  readonly words: string;
  readonly in_code: boolean;
  readonly paused: boolean;
  readonly next_fire_at: string | null;
}

export interface DagSpec {
  readonly name: string;
  readonly tasks: readonly (TaskSpec)[];
  readonly edges?: readonly (readonly [number, number])[];
  readonly parameters?: readonly (ParameterSpec)[];
  readonly timeout_seconds?: number | null;
  readonly description?: string;
  readonly doc?: string;
  readonly owner?: string;
  readonly tags?: readonly (string)[];
  readonly notify?: readonly (string)[];
  readonly schedules?: readonly (ScheduleInCode)[];
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

/** A dag after it was written as JSON. */
export interface DagWritten {
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
  readonly created: boolean;
  readonly changed: boolean;
}

export interface DagsChanged {
  readonly topic: string;
  readonly whole: boolean;
  readonly dags: readonly (Dag)[];
  readonly gone: readonly (string)[];
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

/** Any of these is enough. */
export interface Days {
  readonly dates?: readonly (string)[];
  readonly weekdays?: readonly (string)[];
  readonly country?: string | null;
  readonly subdivision?: string | null;
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

/** A dead letter that somebody took off the list. */
export interface DiscardedLetter {
  readonly group: string;
  readonly run: number;
  readonly dag: string;
  readonly task: string;
  readonly attempt: number | null;
  readonly failed_at: string;
  readonly error: TaskError;
  readonly discarded_at: string;
  readonly discarded_by: string;
  readonly note: string;
}

/** Some items of a list, in its order. */
export interface DiscardedLetterPage {
  readonly items: readonly (DiscardedLetter)[];
  readonly next?: string | null;
}

export interface Done {
  readonly done: readonly (number)[];
  readonly left: readonly (Left)[];
  readonly next: string | null;
}

export type Drain = "stay" | "stop";

/** A worker that was asked to drain or to go on, and what was wanted of it before. */
export interface DrainChange {
  readonly worker: Worker;
  readonly changed: boolean;
  readonly drain_before: Draining | null;
}

export interface DrainWish {
  readonly stop?: boolean;
  readonly note?: string | null;
}

/** That a worker is to claim no more: what then, since when, and why. */
export interface Draining {
  readonly then: Drain;
  readonly at: string;
  readonly by: string | null;
  readonly note: string | null;
}

/** What becomes of a time that a change of clocks repeats. */
export type DstFold = "both" | "first" | "last";

/** What becomes of a time that a change of clocks leaves out. */
export type DstGap = "run_after_gap" | "skip";

export interface Edges {
  readonly added: readonly (readonly [string, string])[];
  readonly removed: readonly (readonly [string, string])[];
}

export type Ending = "complete" | "lost" | "open";

export interface Ends {
  readonly ends: readonly (WorkerProtocolEnd)[];
  readonly offer?: Offer | null;
  readonly prepared?: boolean;
}

/** An engine at work. */
export interface Engine {
  readonly name: string;
  readonly started_at: string;
  readonly renewed_at: string;
  readonly silent_seconds: number;
  readonly leads: boolean;
  readonly shards: readonly (Shard)[];
}

/** Some items of a list, in its order. */
export interface EnginePage {
  readonly items: readonly (Engine)[];
  readonly next?: string | null;
}

/** What went wrong, told for a person and for a program. */
export interface Error {
  readonly type: string;
  readonly message: string;
  readonly trace?: string;
  readonly types?: readonly (string)[];
}

export interface Failed {
  readonly type: "Failed";
  readonly error: Error;
  readonly retry?: boolean;
  readonly delay_seconds?: number | null;
}

/** What is wrong with one part of the request. */
export interface FieldProblem {
  readonly pointer: string;
  readonly message: string;
}

/** Runs that all of this holds for. */
export interface Filter {
  readonly dag?: string | null;
  readonly tag?: readonly (string)[];
  readonly text?: string | null;
  readonly state?: RunState | null;
  readonly trigger?: "backfill" | "event" | "manual" | "rerun" | "schedule" | "upstream" | null;
  readonly since?: string | null;
  readonly until?: string | null;
}

export interface FireDifference {
  readonly difference: DifferingDifference;
  readonly before: string | null;
  readonly after: string | null;
  readonly note?: string | null;
}

export interface Found {
  readonly versions?: Readonly<Record<string, DagSpec>>;
  readonly schedules?: Readonly<Record<string, string>>;
  readonly snapshots?: Readonly<Record<string, string>>;
  readonly results?: Readonly<Record<string, string | null>>;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** The tasks of a version, parents before children; `after` holds places in `tasks`. */
export interface Graph {
  readonly dag: string;
  readonly version: number;
  readonly tasks: readonly (string)[];
  readonly after: readonly (readonly (number)[])[];
}

/** Runs of a dag, the newest first. A cell is the place of a state in `states`, in base 36. */
export interface Grid {
  readonly dag: string;
  readonly states: readonly (TaskState)[];
  readonly runs: readonly (GridRun)[];
  readonly next: string | null;
}

/** A run, and its tasks in the order of its version's graph: a character for each. */
export interface GridRun {
  readonly id: number;
  readonly version: number;
  readonly state: RunState;
  readonly trigger: string;
  readonly created_at: string;
  readonly fire_at: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_seconds: number | null;
  readonly cells: string;
}

/** Not run, or stopped by a drain: goes back uncharged, after a rest if one is given. */
export interface HandedBack {
  readonly type: "HandedBack";
  readonly reason?: string;
  readonly delay_seconds?: number;
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

/** A task that a worker has in hand, and since when. */
export interface InHand {
  readonly run: number;
  readonly dag: string;
  readonly task: string;
  readonly attempt: number;
  readonly kind: SlotKind;
  readonly worker_id: number;
  readonly worker: string;
  readonly claimed_at: string;
}

/** Some items of a list, in its order. */
export interface InHandPage {
  readonly items: readonly (InHand)[];
  readonly next?: string | null;
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
  readonly schedule_name: string | null;
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

export interface Join {
  readonly name: string;
  readonly queues: readonly (string)[];
  readonly slots: Readonly<Record<string, number>>;
  readonly host?: string;
  readonly pid?: number;
  readonly lease_seconds?: number;
  readonly drain?: Drain | null;
}

export interface Joined {
  readonly id: number;
  readonly lease_seconds: number;
  readonly renew_seconds: number;
}

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
  readonly per_second: number;
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

/** A run that it could not be done to. */
export interface Left {
  readonly run: number;
  readonly code: string;
  readonly reason: string;
}

/** The letter of a group that failed last. */
export interface LetterExample {
  readonly run: number;
  readonly error: TaskError;
}

/** All dead letters that it leaves; one that says nothing leaves all. */
export interface LetterFilter {
  readonly dag?: string | null;
  readonly task?: string | null;
  readonly error?: string | null;
  readonly since?: string | null;
  readonly until?: string | null;
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

export interface LetterNote {
  readonly note?: string;
}

/** The dead letters of a run, or of one task of it. */
export interface LetterOf {
  /** A run's number. */
  readonly run: number;
  readonly task?: string | null;
}

/** Letters of a run that could not be retried, and why. */
export interface LettersLeft {
  readonly run: number;
  readonly tasks: readonly (string)[];
  readonly reason: string;
  readonly hint: string;
}

export interface ListOf {
  readonly type: "list";
  readonly items: readonly (Value | Parameter | Result | ListOf | MappingOf)[];
}

/** From here on changes of these topics are told. */
export interface Listening {
  readonly server: string;
  readonly topics: readonly (string)[];
}

/** What one try of a task wrote, and whether that is all. */
export interface Log {
  readonly task: string;
  readonly task_id: number;
  readonly attempt: number;
  readonly term: number;
  readonly state: string;
  readonly log: Ending;
  readonly bytes: number;
  readonly stored: number;
  readonly content: string | null;
}

/** Some items of a list, in its order. */
export interface LogPage {
  readonly items: readonly (Log)[];
  readonly next?: string | null;
}

export interface LogWritten {
  readonly topic: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly ending: Ending;
}

/** The child that ran it, or its worker, is gone; nobody knows how far it came. */
export interface Lost {
  readonly type: "Lost";
  readonly error: Error;
}

export interface MappingOf {
  readonly type: "mapping";
  readonly items: Readonly<Record<string, Value | Parameter | Result | ListOf | MappingOf>>;
}

export interface Mark {
  readonly state: "skipped" | "succeeded";
  readonly note: string;
  readonly result?: unknown;
}

/** How long it took, in seconds. Mean and maximum are exact, the rest within a factor of two. */
export interface Measured {
  readonly count: number;
  readonly mean: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly max: number | null;
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

export interface NewRunOfMany {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly key?: string | null;
}

export interface NewRuns {
  readonly runs: readonly (NewRunOfMany)[];
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

/** The answer to who waits for notes. */
export interface Note {
  readonly renew: boolean;
}

/** Free slots for children, and the claim that they would be under. */
export interface Offer {
  readonly claim: string;
  readonly slots: Readonly<Record<string, number>>;
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

/** The run's parameter of this name. */
export interface Parameter {
  readonly type: "parameter";
  readonly name: string;
}

export interface ParameterSpec {
  readonly name: string;
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly required?: boolean;
  readonly default?: unknown;
}

export interface ParametersBeforeAfter {
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>>;
}

export interface Parts {
  readonly added: readonly (string)[];
  readonly removed: readonly (string)[];
  readonly changed: readonly (Changed)[];
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
  readonly pause_before: Pause | null;
}

export interface PauseNote {
  readonly note?: string | null;
}

/** A dag or a queue that is paused. */
export interface PausedThing {
  readonly what: "dag" | "queue";
  readonly name: string;
  readonly pause: Pause;
}

/** Some items of a list, in its order. */
export interface PausedThingPage {
  readonly items: readonly (PausedThing)[];
  readonly next?: string | null;
}

/** The instants that a plug-in knows; see `plugged.py`. */
export interface PluginSpec {
  readonly type: "plugin";
  readonly name: string;
  readonly address?: string;
}

/** What ended in one step. */
export interface Point {
  readonly runs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly again: number;
  readonly runs_per_second: number;
  readonly tasks: number;
  readonly failed_tasks: number;
  readonly retries: number;
  readonly duration: Measured;
  readonly lag: Measured;
  readonly at: string;
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

export interface Priority {
  readonly priority: number;
}

export interface PriorityOfChosen {
  readonly runs?: readonly (number)[] | null;
  readonly filter?: Filter | null;
  readonly cursor?: string | null;
  readonly limit?: number;
  readonly priority: number;
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

export interface Prune {
  readonly keep_seconds: number;
  readonly dry_run?: boolean;
}

/** What went, or would go. */
export interface Pruning {
  readonly dry_run: boolean;
  readonly finished_before: string;
  readonly runs: number;
  readonly periods: number;
  readonly objects: number;
  readonly more: boolean;
}

/** A queue with its lanes and the workers that serve it. */
export interface QueueWhole {
  readonly name: string;
  readonly pause: Pause | null;
  readonly kinds: readonly (Lane)[];
  readonly workers: readonly (string)[];
}

/** Always whole. */
export interface QueuesChanged {
  readonly topic: string;
  readonly lanes: readonly (Lane)[];
}

/** What tasks in hand are made of. */
export interface Read {
  readonly versions?: readonly (number)[];
  readonly schedules?: readonly (number)[];
  readonly snapshots?: readonly (number)[];
  readonly results?: readonly (number)[];
  readonly parameters?: readonly (number)[];
}

export type Reason = "any_moment" | "backoff" | "cancelled" | "dag_paused" | "ended" | "failed" | "handed_back" | "jitter" | "no_engine" | "no_worker" | "no_worker_for_kind" | "no_worker_for_queue" | "others_first" | "parked" | "queue_paused" | "running" | "slots_busy" | "start_time" | "stopping" | "upstream_failed" | "worker_lost" | "workers_draining" | "workers_silent";

/** An RFC 5545 rule, with a `DTSTART` line before it if it needs one; see `recurrence.py`. */
export interface RecurrenceSpec {
  readonly type: "rrule";
  readonly rule: string;
}

export interface Refused {
  readonly task: number;
  readonly term: number;
  readonly reason: string;
}

export interface Renewed {
  readonly now: string;
  readonly stops: readonly (Stop)[];
  readonly drain?: Drain | null;
  readonly unknown?: readonly (string)[];
}

/** Which instants run again that have a run already. One that is open never does. */
export type Reprocess = "all" | "failed" | "none";

export interface Rerun {
  readonly tasks?: readonly (string)[] | null;
  readonly all?: boolean;
}

export interface RerunChosen {
  readonly runs?: readonly (number)[] | null;
  readonly filter?: Filter | null;
  readonly cursor?: string | null;
  readonly limit?: number;
  readonly all?: boolean;
}

/** What a task before this one returned, or the part of it that `path` leads to. */
export interface Result {
  readonly type: "result";
  readonly task: number;
  readonly path?: readonly (string | number)[];
}

/** Changes of this topic were left out: what is known of it has to be read anew. */
export interface Resync {
  readonly topic: string;
  readonly reason: string;
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

/** How often a task is tried and how long it rests between attempts. */
export interface RetrySpec {
  readonly attempts?: number;
  readonly backoff?: "delays" | "exponential" | "fixed" | "function";
  readonly first_seconds?: number;
  readonly factor?: number;
  readonly cap_seconds?: number;
  readonly jitter?: number;
  readonly delays_seconds?: readonly (number)[];
  readonly give_up_on?: readonly (string)[];
}

/** Claims to hand back as a whole, uncharged. */
export interface Return {
  readonly claims: readonly (string)[];
  readonly reason?: string;
  readonly begun?: readonly (readonly [number, number])[];
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

export interface RunChanged {
  readonly topic: string;
  readonly whole: boolean;
  readonly run: Run;
  readonly tasks: readonly (Task)[];
}

/** A run of which a task was closed by hand. */
export interface RunMarked {
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
  readonly task: string;
  readonly marked: "skipped" | "succeeded";
  readonly repeated: boolean;
  readonly stopped: boolean;
  readonly opened: readonly (string)[];
}

/** Some items of a list, in its order. */
export interface RunPage {
  readonly items: readonly (Run)[];
  readonly next?: string | null;
}

/** A run whose waiting tasks have another priority. */
export interface RunReordered {
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
  readonly priority: number;
  readonly changed_tasks: number;
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
  readonly had_ended: boolean;
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
  readonly task_counts: Readonly<Record<string, number>>;
  readonly tasks: readonly (Task)[];
  readonly reruns: readonly (number)[];
  readonly backfill: number | null;
}

export interface RunsChanged {
  readonly topic: string;
  readonly runs: readonly (Run)[];
}

export interface RunsMade {
  readonly runs: readonly (number)[];
}

/** A schedule, and when it fires next. */
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
  readonly cursor_at: string;
  readonly last_fire_at: string | null;
  readonly last_run_id: number | null;
  readonly last_run_state: RunState | null;
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
  readonly cursor_at: string;
  readonly last_fire_at: string | null;
  readonly last_run_id: number | null;
  readonly last_run_state: RunState | null;
  readonly fired: number;
  readonly failures: number;
  readonly buffered: number;
  readonly created_at: string;
  readonly changed_at: string;
  readonly changed: boolean;
}

/** Some items of a list, in its order. */
export interface ScheduleChangePage {
  readonly items: readonly (ScheduleChange)[];
  readonly next?: string | null;
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
  readonly cursor_at: string;
  readonly last_fire_at: string | null;
  readonly last_run_id: number | null;
  readonly last_run_state: RunState | null;
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

/** A schedule that the file of a dag defines. */
export interface ScheduleInCode {
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly note?: string;
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

export interface Several {
  readonly schedules: readonly (string)[];
}

export interface SeveralPaused {
  readonly schedules: readonly (string)[];
  readonly note?: string | null;
}

/** A part of the schedules, and how far behind it is. */
export interface Shard {
  readonly number: number;
  readonly due: number;
  readonly lag_seconds: number;
}

export interface Skipped {
  readonly type: "Skipped";
  readonly reason?: string;
}

/** Fires of a schedule that made no run, from `fire_at` to `until_at`, all for one reason. */
export interface SkippedFires {
  readonly schedule: string;
  readonly dag: string;
  readonly gone: boolean;
  readonly fire_at: string;
  readonly until_at: string;
  readonly count: number;
  readonly reason: string;
  readonly text: string;
  readonly decided_at: string;
}

/** Some items of a list, in its order. */
export interface SkippedFiresPage {
  readonly items: readonly (SkippedFires)[];
  readonly next?: string | null;
}

/** How a task is run, and what a worker counts. */
export type SlotKind = "async" | "command" | "process" | "thread";

/** What one request came to. `next` is the `cursor` of the request that goes on, if need be. */
export interface SomeDiscarded {
  readonly discarded: number;
  readonly left: readonly (LettersLeft)[];
  readonly ended: string | null;
  readonly next: string | null;
}

/** What one request came to. `next` is the `cursor` of the request that goes on, if need be. */
export interface SomeRetried {
  readonly retried: number;
  readonly left: readonly (LettersLeft)[];
  readonly ended: string | null;
  readonly next: string | null;
}

export interface Started {
  readonly task: number;
  readonly term: number;
  readonly started_us: number;
}

/** What ended between two instants. */
export interface Statistics {
  readonly dag: string | null;
  readonly step: Width;
  readonly since: string;
  readonly until: string;
  readonly total: RollupShapesEnded;
  readonly points: readonly (Point)[];
}

/** Something that would move it on. */
export interface Step {
  readonly text: string;
  readonly command?: string | null;
}

export interface Stop {
  readonly task: number;
  readonly term: number;
  readonly kind: string;
}

/** The last runs of a dag, the newest first. */
export interface Strip {
  readonly dag: string;
  readonly runs: readonly (StripRun)[];
}

/** Some items of a list, in its order. */
export interface StripPage {
  readonly items: readonly (Strip)[];
  readonly next?: string | null;
}

export interface StripRun {
  readonly id: number;
  readonly state: RunState;
  readonly created_at: string;
  readonly duration_seconds: number | null;
}

export interface Succeeded {
  readonly type: "Succeeded";
  readonly result?: string;
}

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

export interface TaskProgress {
  readonly task: number;
  readonly term: number;
  readonly percent: number;
  readonly text?: string;
}

export interface TaskSpec {
  readonly name: string;
  readonly entry: string;
  readonly kind?: SlotKind;
  readonly executor?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly arguments?: Readonly<Record<string, Value | Parameter | Result | ListOf | MappingOf>>;
  readonly retry?: RetrySpec;
  readonly timeout_seconds?: number | null;
  readonly max_lost?: number;
  readonly on_lost?: "fail" | "retry";
  readonly description?: string;
}

export type TaskState = "backoff" | "cancelled" | "failed" | "parked" | "ready" | "running" | "skipped" | "succeeded" | "upstream_failed" | "waiting";

export interface Tasks {
  readonly tasks: readonly (Claimed)[];
  readonly work?: readonly (Work)[];
}

export interface TimedOut {
  readonly type: "TimedOut";
  readonly error: Error;
}

/** When a run's tasks ran, in the order of its version's graph, in seconds after `since`. */
export interface Timeline {
  readonly run: number;
  readonly dag: string;
  readonly version: number;
  readonly state: RunState;
  readonly since: string;
  readonly now: number;
  readonly states: readonly (TaskState)[];
  readonly cells: string;
  readonly started: readonly (number | null)[];
  readonly finished: readonly (number | null)[];
  readonly attempts: readonly (number)[];
}

export interface ToVersion {
  /** A version's number. */
  readonly version: number;
}

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

/** Signs of life of tasks that last. */
export interface Told {
  readonly started?: readonly (Started)[];
  readonly progress?: readonly (TaskProgress)[];
}

/** A file of the dags folder that could not be read. */
export interface UnreadFile {
  readonly file: string;
  readonly line: number | null;
  readonly message: string;
  readonly seen_at: string;
}

/** Some items of a list, in its order. */
export interface UnreadFilePage {
  readonly items: readonly (UnreadFile)[];
  readonly next?: string | null;
}

export interface Use {
  readonly cpu_seconds: number;
  readonly peak_bytes?: number | null;
}

/** A literal, already JSON data. */
export interface Value {
  readonly type: "value";
  readonly value?: unknown;
}

export type Verdict = "broken" | "ok" | "unknown" | "warning";

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

/** What a rollback came to. */
export interface VersionChange {
  readonly dag: string;
  readonly version_before: number;
  readonly version: number;
  readonly snapshot: string;
  readonly rolled_back_at: string | null;
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

/** What changed in a dag from one version to another. */
export interface VersionsDiffer {
  readonly dag: string;
  readonly before: number;
  readonly after: number;
  readonly difference: DifferencesDifference;
}

export interface Which {
  readonly groups?: readonly (string)[];
  readonly letters?: readonly (LetterOf)[];
  readonly filter?: LetterFilter | null;
  readonly note?: string;
  readonly limit?: number;
  readonly cursor?: string | null;
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

/** Why a run or a task stands where it stands, and what would move it on. */
export interface Why {
  readonly run: number;
  readonly dag: string;
  readonly task: string | null;
  readonly state: string;
  readonly headline: string;
  readonly causes: readonly (Cause)[];
  readonly more: number;
  readonly dag_pause: Pause | null;
  readonly dag_gone_at: string | null;
}

export type Width = "day" | "hour" | "minute";

/** A claim: for so many free slots, and how long to wait for the first task. */
export interface Wish {
  readonly claim: string;
  readonly slots: Readonly<Record<string, number>>;
  readonly wait_seconds?: number;
  readonly prepared?: boolean;
}

/** A task for who does not read specs: what it is called, and its arguments. */
export interface Work {
  readonly dag: string;
  readonly task: string;
  readonly kind: SlotKind;
  readonly entry: string;
  readonly arguments: unknown;
  readonly timeout_seconds: number | null;
}

/** A living worker and what it has in hand. One that is `draining` claims nothing: somebody wants so (`drain`), or it is about to leave. */
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
  readonly drain: Draining | null;
  readonly per_second: number;
  readonly overdue: boolean;
}

/** Some items of a list, in its order. */
export interface WorkerPage {
  readonly items: readonly (Worker)[];
  readonly next?: string | null;
}

export interface WorkersChanged {
  readonly topic: string;
  readonly whole: boolean;
  readonly workers: readonly (Worker)[];
  readonly gone: readonly (number)[];
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

/** One of `command`, `http` and `task`, and what it waits for. */
export interface WrittenTask {
  readonly name: string;
  readonly command?: readonly (unknown)[] | null;
  readonly cwd?: string | null;
  readonly http?: string | Readonly<Record<string, unknown>> | null;
  readonly task?: string | null;
  readonly kind?: SlotKind | null;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly after?: readonly (string)[];
  readonly retries?: number | null;
  readonly timeout?: string | number | null;
  readonly priority?: number;
  readonly queue?: string;
  readonly description?: string;
}

export interface OperationsHealth {
  readonly status: string;
}

export interface DifferencesDifference {
  readonly dag: readonly (Change)[];
  readonly parameters: Parts;
  readonly tasks: Parts;
  readonly edges: Edges;
}

export type DifferingDifference = "added" | "moved" | "removed";

/** How all of it is. */
export interface ChecksHealth {
  readonly ok: boolean;
  readonly checks: readonly (Check)[];
}

/** What ended in some time. */
export interface RollupShapesEnded {
  readonly runs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly again: number;
  readonly runs_per_second: number;
  readonly tasks: number;
  readonly failed_tasks: number;
  readonly retries: number;
  readonly duration: Measured;
  readonly lag: Measured;
}

/** Nothing has changed for a while; whoever hears not even this is cut off. */
export interface StreamShapesBeat {
}

/** Nothing more will come. */
export interface StreamShapesEnd {
  readonly reason: string;
}

export interface WorkerProtocolBeat {
  readonly claims?: readonly (string)[];
  readonly draining?: boolean;
  readonly rates?: Readonly<Record<string, number>>;
}

/** How one attempt ended. */
export interface WorkerProtocolEnd {
  readonly task: number;
  readonly term: number;
  readonly outcome: Succeeded | Failed | TimedOut | Skipped | Lost | Cancelled | HandedBack;
  readonly started_us?: number | null;
  readonly finished_us?: number | null;
  readonly chained?: boolean;
  readonly use?: Use | null;
}

export interface WorkerProtocolEnded {
  readonly refused: readonly (Refused)[];
  readonly granted: Tasks;
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
  /** Make a dag from JSON, or a new version of it: all of it, as it is to be. */
  write_dag: {
    parts: object;
    query: object;
    body: DagBody;
    answer: DagWritten;
  };
  /** Files of dags that could not be read, and why. What was read of them before is in force. */
  list_file_problems: {
    parts: object;
    query: object;
    body: undefined;
    answer: UnreadFilePage;
  };
  /** One dag with its parameters and tasks, as a trigger uses it now. */
  show_dag: {
    parts: { dag: string };
    query: { fields?: string };
    body: undefined;
    answer: DagWhole;
  };
  /** Take a dag away that was written as JSON, and its schedules. */
  remove_dag: {
    parts: { dag: string };
    query: object;
    body: undefined;
    answer: DagRemoved;
  };
  /** The versions of a dag, the newest first; the oldest are not told. */
  list_dag_versions: {
    parts: { dag: string };
    query: { limit?: number };
    body: undefined;
    answer: VersionPage;
  };
  /** What changed in a dag from one version to another. */
  diff_versions: {
    parts: { dag: string };
    query: { before: number; after: number };
    body: undefined;
    answer: VersionsDiffer;
  };
  /** The last code that a version was read from: its files, and the text of one. */
  show_code: {
    parts: { dag: string; version: number };
    query: { file?: string };
    body: undefined;
    answer: Code;
  };
  /** Let triggers of a dag use this version, with its code. */
  roll_back: {
    parts: { dag: string };
    query: object;
    body: ToVersion;
    answer: VersionChange;
  };
  /** Let engines ask their repositories of dags now, not in a while. */
  refresh_dags: {
    parts: object;
    query: object;
    body: undefined;
    answer: Asked;
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
    query: { state?: RunState; trigger?: "backfill" | "event" | "manual" | "rerun" | "schedule" | "upstream"; since?: string; until?: string; before?: number; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: RunPage;
  };
  /** One run of a dag, as `/runs/{run}` tells it. */
  show_dag_run: {
    parts: { dag: string; run: number };
    query: { wait?: number; task_state?: readonly (TaskState)[]; tasks_max?: number; result_bytes?: number; fields?: string };
    body: undefined;
    answer: RunWhole;
  };
  /** Start many runs of a dag, all or none; an error says which of them cannot be. */
  create_runs: {
    parts: { dag: string };
    query: object;
    body: NewRuns;
    answer: RunsMade;
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
    query: { status?: JobStatus; kind?: JobKind; name?: string; before?: number; limit?: number; cursor?: string; fields?: string };
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
    query: { state?: readonly (RunState)[]; since?: string; until?: string; before?: number; limit?: number; cursor?: string; fields?: string };
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
    query: { state?: RunState; trigger?: "backfill" | "event" | "manual" | "rerun" | "schedule" | "upstream"; since?: string; until?: string; before?: number; limit?: number; cursor?: string; fields?: string; dag?: string; tag?: readonly (string)[]; text?: string };
    body: undefined;
    answer: RunPage;
  };
  /** One run with its parameters, its tasks and their attempts. */
  show_run: {
    parts: { run: number };
    query: { wait?: number; task_state?: readonly (TaskState)[]; tasks_max?: number; result_bytes?: number; fields?: string };
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
  /** One task of a run, with its attempts. */
  show_task: {
    parts: { run: number; task: string };
    query: object;
    body: undefined;
    answer: Task;
  };
  /** The attempts of one task, in their order. */
  list_attempts: {
    parts: { run: number; task: string };
    query: object;
    body: undefined;
    answer: AttemptPage;
  };
  /** Why a run, or one task of it, stands where it stands, and what would move it on. */
  why: {
    parts: { run: number };
    query: { task?: string };
    body: undefined;
    answer: Why;
  };
  /** Two runs side by side: versions, parameters, and each task. */
  compare: {
    parts: { run: number; other: number };
    query: object;
    body: undefined;
    answer: Comparison;
  };
  /** The logs of a run's tasks, in the order of its dag: how long they are, and how they end. */
  list_logs: {
    parts: { run: number };
    query: { task?: string; content?: boolean; cursor?: string };
    body: undefined;
    answer: LogPage;
  };
  /** What an attempt wrote, by byte range, or as it comes. */
  read_log: {
    parts: { run: number; task: string; number: number };
    query: { term?: number; offset?: number; wait?: number };
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
  /** Close a task by hand: what comes after it goes on as if it had ended so. */
  mark: {
    parts: { run: number; task: string };
    query: object;
    body: Mark;
    answer: RunMarked;
  };
  /** Give all tasks of a run that no worker has yet another priority. */
  set_priority: {
    parts: { run: number };
    query: object;
    body: Priority;
    answer: RunReordered;
  };
  /** Stop many runs. */
  cancel_runs: {
    parts: object;
    query: object;
    body: CancelChosen | undefined;
    answer: Done;
  };
  /** Run again what failed or was cancelled in many runs, each in the same run. */
  rerun_runs: {
    parts: object;
    query: object;
    body: RerunChosen | undefined;
    answer: Done;
  };
  /** Give all tasks of many runs that no worker has yet another priority. */
  set_priorities: {
    parts: object;
    query: object;
    body: PriorityOfChosen;
    answer: Done;
  };
  /** The last runs of every dag, by name of the dag. */
  show_strips: {
    parts: object;
    query: { runs?: number; limit?: number; cursor?: string };
    body: undefined;
    answer: StripPage;
  };
  /** The tasks of a dag and what they come after, parents before children. */
  show_graph: {
    parts: { dag: string };
    query: { version?: number };
    body: undefined;
    answer: Graph;
  };
  /** Runs of a dag, the newest first, with the state of each task as one character. */
  show_grid: {
    parts: { dag: string };
    query: { runs?: number; cursor?: string };
    body: undefined;
    answer: Grid;
  };
  /** When each task of a run ran, in the order of its version's graph. */
  show_timeline: {
    parts: { run: number };
    query: object;
    body: undefined;
    answer: Timeline;
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
  /** Let schedules fire no more, all of these or none. What they have started goes on. */
  pause_several_schedules: {
    parts: object;
    query: object;
    body: SeveralPaused;
    answer: ScheduleChangePage;
  };
  /** Let schedules fire again, all of these or none; fires of their pauses are skipped. */
  resume_several_schedules: {
    parts: object;
    query: object;
    body: Several;
    answer: ScheduleChangePage;
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
  /** All calendars by name, and how many schedules leave out their days. */
  list_calendars: {
    parts: object;
    query: object;
    body: undefined;
    answer: CalendarLinePage;
  };
  /** One calendar: what it holds, the days to come, and which schedules leave them out. */
  show_calendar: {
    parts: { calendar: string };
    query: object;
    body: undefined;
    answer: Calendar;
  };
  /** Make a calendar hold these days and no others. */
  put_calendar: {
    parts: { calendar: string };
    query: object;
    body: Days | undefined;
    answer: CalendarPut;
  };
  /** Remove a calendar that no schedule excludes any more. */
  remove_calendar: {
    parts: { calendar: string };
    query: object;
    body: undefined;
    answer: CalendarRemoved;
  };
  /** What each schedule does in the hours to come: counts by the hour, and the first fires. */
  list_fires: {
    parts: object;
    query: { hours?: number; limit?: number; cursor?: string };
    body: undefined;
    answer: ComingFiresPage;
  };
  /** Fires of all schedules that made no run, with the reason; newest first. */
  list_skipped: {
    parts: object;
    query: { limit?: number; cursor?: string };
    body: undefined;
    answer: SkippedFiresPage;
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
    query: { dag?: string; task?: string; error?: string; since?: string; until?: string; group?: string; limit?: number; cursor?: string; fields?: string };
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
  /** Letters that were taken off the list, by whom and why; the last comes first. */
  list_discarded_dead_letters: {
    parts: object;
    query: { dag?: string; task?: string; error?: string; since?: string; limit?: number; cursor?: string; fields?: string };
    body: undefined;
    answer: DiscardedLetterPage;
  };
  /** The dead letters of a run, in the order of its tasks. */
  list_dead_letters_of_run: {
    parts: { run: number };
    query: { task?: string; fields?: string };
    body: undefined;
    answer: DeadLetterPage;
  };
  /** Run dead letters again: each in its own run, with what comes after it. */
  retry_letters: {
    parts: object;
    query: object;
    body: Which | undefined;
    answer: SomeRetried;
  };
  /** Take dead letters off the list. Their runs stay as they are, in history. */
  discard_letters: {
    parts: object;
    query: object;
    body: Which | undefined;
    answer: SomeDiscarded;
  };
  /** Run all dead letters of a group again. */
  retry_group: {
    parts: { group: string };
    query: object;
    body: LetterNote | undefined;
    answer: SomeRetried;
  };
  /** Take all dead letters of a group off the list. */
  discard_group: {
    parts: { group: string };
    query: object;
    body: LetterNote | undefined;
    answer: SomeDiscarded;
  };
  /** What ended in some time, all dags together or one: throughput, failures, durations and lag. */
  show_stats: {
    parts: object;
    query: { since?: string; until?: string; step?: Width; dag?: string };
    body: undefined;
    answer: Statistics;
  };
  /** What ended of one dag in some time. */
  show_stats_of_dag: {
    parts: { dag: string };
    query: { since?: string; until?: string; step?: Width };
    body: undefined;
    answer: Statistics;
  };
  /** What waits and what runs, by queue and slot kind; queues where nothing does are left out. */
  list_queues: {
    parts: object;
    query: object;
    body: undefined;
    answer: LanePage;
  };
  /** Dags and queues that are paused; those that were paused first come first. */
  list_pauses: {
    parts: object;
    query: object;
    body: undefined;
    answer: PausedThingPage;
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
  /** What living workers have in hand; what they have held longest comes first. */
  list_in_hand: {
    parts: object;
    query: { worker?: number; limit?: number };
    body: undefined;
    answer: InHandPage;
  };
  /** Let a worker finish what it runs. From the answer on it is given nothing more. */
  drain_worker: {
    parts: { worker: string };
    query: object;
    body: DrainWish | undefined;
    answer: DrainChange;
  };
  /** Let a worker claim again that was to drain. */
  resume_worker: {
    parts: { worker: string };
    query: object;
    body: undefined;
    answer: DrainChange;
  };
  /** Take a lease, for queues that the token is bound to. */
  join: {
    parts: { worker: string };
    query: object;
    body: Join;
    answer: Joined;
  };
  /** Give the lease back, when everything in hand has been reported. */
  leave: {
    parts: { worker: string };
    query: object;
    body: undefined;
    answer: undefined;
  };
  /** Tasks for free slots, as soon as there is one. */
  claim_tasks: {
    parts: { worker: string };
    query: object;
    body: Wish;
    answer: Tasks;
  };
  /** Renew the lease, and learn what is to stop, and of claims that were not named. */
  renew_lease: {
    parts: { worker: string };
    query: object;
    body: WorkerProtocolBeat | undefined;
    answer: Renewed;
  };
  /** Wait until something in hand is to stop. */
  await_note: {
    parts: { worker: string };
    query: { wait_seconds?: number };
    body: undefined;
    answer: Note;
  };
  /** Report how attempts ended, each under its term. The answer may bring the next tasks. */
  report_ends: {
    parts: { worker: string };
    query: object;
    body: Ends;
    answer: WorkerProtocolEnded;
  };
  /** Append to the logs of attempts in hand. */
  append_logs: {
    parts: { worker: string };
    query: object;
    body: Chunks;
    answer: undefined;
  };
  /** Tell which attempts in hand have started, and how far they are. */
  tell_progress: {
    parts: { worker: string };
    query: object;
    body: Told | undefined;
    answer: undefined;
  };
  /** Hand claims back as a whole, uncharged. */
  return_claims: {
    parts: { worker: string };
    query: object;
    body: Return;
    answer: undefined;
  };
  /** What tasks in hand are made of: specs, results of parents, large parameters. */
  read_inputs: {
    parts: { worker: string };
    query: object;
    body: Read | undefined;
    answer: Found;
  };
  /** The packed files that a task in hand is made of. */
  fetch_code: {
    parts: { worker: string; snapshot: number };
    query: object;
    body: undefined;
    answer: string;
  };
  /** Changes of topics as server-sent events. */
  listen: {
    parts: object;
    query: { topics: string; seconds?: number };
    body: undefined;
    answer: string;
  };
  /** Engines at work, by name, with the shards of schedules that they look at first. */
  list_engines: {
    parts: object;
    query: object;
    body: undefined;
    answer: EnginePage;
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
  /** Checks, each with a verdict, what was found and what to do. */
  doctor: {
    parts: object;
    query: object;
    body: undefined;
    answer: ChecksHealth;
  };
  /** Let go of finished runs that are older than is kept, with their logs and results. */
  prune: {
    parts: object;
    query: object;
    body: Prune;
    answer: Pruning;
  };
  /** The database's clock, by which everything happens. */
  clock: {
    parts: object;
    query: object;
    body: undefined;
    answer: Clock;
  };
}

/** Where each operation is. */
export const OPERATIONS = {
  list_dags: ["GET", "/api/v1/dags"],
  write_dag: ["POST", "/api/v1/dags"],
  list_file_problems: ["GET", "/api/v1/file-problems"],
  show_dag: ["GET", "/api/v1/dags/{dag}"],
  remove_dag: ["DELETE", "/api/v1/dags/{dag}"],
  list_dag_versions: ["GET", "/api/v1/dags/{dag}/versions"],
  diff_versions: ["GET", "/api/v1/dags/{dag}/diff"],
  show_code: ["GET", "/api/v1/dags/{dag}/versions/{version}/code"],
  roll_back: ["POST", "/api/v1/dags/{dag}/rollback"],
  refresh_dags: ["POST", "/api/v1/dags/refresh"],
  pause_dag: ["POST", "/api/v1/dags/{dag}/pause"],
  resume_dag: ["POST", "/api/v1/dags/{dag}/resume"],
  create_run: ["POST", "/api/v1/dags/{dag}/runs"],
  list_dag_runs: ["GET", "/api/v1/dags/{dag}/runs"],
  show_dag_run: ["GET", "/api/v1/dags/{dag}/runs/{run}"],
  create_runs: ["POST", "/api/v1/dags/{dag}/runs/bulk"],
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
  show_task: ["GET", "/api/v1/runs/{run}/tasks/{task}"],
  list_attempts: ["GET", "/api/v1/runs/{run}/tasks/{task}/attempts"],
  why: ["GET", "/api/v1/runs/{run}/why"],
  compare: ["GET", "/api/v1/runs/{run}/compare/{other}"],
  list_logs: ["GET", "/api/v1/runs/{run}/logs"],
  read_log: ["GET", "/api/v1/runs/{run}/tasks/{task}/attempts/{number}/logs"],
  cancel_run: ["POST", "/api/v1/runs/{run}/cancel"],
  rerun_run: ["POST", "/api/v1/runs/{run}/rerun"],
  rerun_latest: ["POST", "/api/v1/runs/{run}/rerun-latest"],
  mark: ["POST", "/api/v1/runs/{run}/tasks/{task}/mark"],
  set_priority: ["POST", "/api/v1/runs/{run}/priority"],
  cancel_runs: ["POST", "/api/v1/runs/bulk/cancel"],
  rerun_runs: ["POST", "/api/v1/runs/bulk/rerun"],
  set_priorities: ["POST", "/api/v1/runs/bulk/priority"],
  show_strips: ["GET", "/api/v1/strips"],
  show_graph: ["GET", "/api/v1/dags/{dag}/graph"],
  show_grid: ["GET", "/api/v1/dags/{dag}/grid"],
  show_timeline: ["GET", "/api/v1/runs/{run}/timeline"],
  list_schedules: ["GET", "/api/v1/schedules"],
  show_schedule: ["GET", "/api/v1/schedules/{schedule}"],
  put_schedule: ["PUT", "/api/v1/schedules/{schedule}"],
  delete_schedule: ["DELETE", "/api/v1/schedules/{schedule}"],
  pause_schedule: ["POST", "/api/v1/schedules/{schedule}/pause"],
  resume_schedule: ["POST", "/api/v1/schedules/{schedule}/resume"],
  pause_several_schedules: ["POST", "/api/v1/schedules/pause"],
  resume_several_schedules: ["POST", "/api/v1/schedules/resume"],
  preview_spec: ["POST", "/api/v1/schedules/preview"],
  preview_schedule: ["GET", "/api/v1/schedules/{schedule}/preview"],
  diff_schedule: ["POST", "/api/v1/schedules/{schedule}/diff"],
  list_calendars: ["GET", "/api/v1/calendars"],
  show_calendar: ["GET", "/api/v1/calendars/{calendar}"],
  put_calendar: ["PUT", "/api/v1/calendars/{calendar}"],
  remove_calendar: ["DELETE", "/api/v1/calendars/{calendar}"],
  list_fires: ["GET", "/api/v1/fires"],
  list_skipped: ["GET", "/api/v1/fires/skipped"],
  create_backfill: ["POST", "/api/v1/backfills"],
  list_backfills: ["GET", "/api/v1/backfills"],
  estimate_backfill: ["POST", "/api/v1/backfills/preview"],
  show_backfill: ["GET", "/api/v1/backfills/{backfill}"],
  pause_backfill: ["POST", "/api/v1/backfills/{backfill}/pause"],
  resume_backfill: ["POST", "/api/v1/backfills/{backfill}/resume"],
  cancel_backfill: ["POST", "/api/v1/backfills/{backfill}/cancel"],
  list_dead_letters: ["GET", "/api/v1/dead-letters"],
  list_group: ["GET", "/api/v1/dead-letters/{group}"],
  list_discarded_dead_letters: ["GET", "/api/v1/dead-letters/discarded"],
  list_dead_letters_of_run: ["GET", "/api/v1/runs/{run}/dead-letters"],
  retry_letters: ["POST", "/api/v1/dead-letters/retry"],
  discard_letters: ["POST", "/api/v1/dead-letters/discard"],
  retry_group: ["POST", "/api/v1/dead-letters/{group}/retry"],
  discard_group: ["POST", "/api/v1/dead-letters/{group}/discard"],
  show_stats: ["GET", "/api/v1/stats"],
  show_stats_of_dag: ["GET", "/api/v1/dags/{dag}/stats"],
  list_queues: ["GET", "/api/v1/queues"],
  list_pauses: ["GET", "/api/v1/pauses"],
  show_queue: ["GET", "/api/v1/queues/{queue}"],
  pause_queue: ["POST", "/api/v1/queues/{queue}/pause"],
  resume_queue: ["POST", "/api/v1/queues/{queue}/resume"],
  list_workers: ["GET", "/api/v1/workers"],
  list_in_hand: ["GET", "/api/v1/workers/tasks"],
  drain_worker: ["POST", "/api/v1/workers/{worker}/drain"],
  resume_worker: ["POST", "/api/v1/workers/{worker}/resume"],
  join: ["PUT", "/api/v1/workers/{worker}"],
  leave: ["DELETE", "/api/v1/workers/{worker}"],
  claim_tasks: ["POST", "/api/v1/workers/{worker}/claims"],
  renew_lease: ["POST", "/api/v1/workers/{worker}/beats"],
  await_note: ["GET", "/api/v1/workers/{worker}/notes"],
  report_ends: ["POST", "/api/v1/workers/{worker}/ends"],
  append_logs: ["POST", "/api/v1/workers/{worker}/logs"],
  tell_progress: ["POST", "/api/v1/workers/{worker}/progress"],
  return_claims: ["POST", "/api/v1/workers/{worker}/returns"],
  read_inputs: ["POST", "/api/v1/workers/{worker}/inputs"],
  fetch_code: ["GET", "/api/v1/workers/{worker}/snapshots/{snapshot}"],
  listen: ["GET", "/api/v1/stream"],
  list_engines: ["GET", "/api/v1/engines"],
  list_tokens: ["GET", "/api/v1/tokens"],
  make_token: ["POST", "/api/v1/tokens"],
  delete_token: ["DELETE", "/api/v1/tokens/{token}"],
  doctor: ["GET", "/api/v1/doctor"],
  prune: ["POST", "/api/v1/prune"],
  clock: ["GET", "/api/v1/clock"],
} as const satisfies Record<keyof Operations, readonly [string, string]>;
