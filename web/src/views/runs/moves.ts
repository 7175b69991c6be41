/** Everything that happened to a run and its tasks, as far as it is kept, the newest first. Pure. */

import type { RunWhole, Task } from "~/generated/api";
import { ATTEMPT_FACTS, RUN_FACTS, type TaskState, type Tone } from "../../generated/states.ts";
import { isWhole } from "./whole.ts";

export interface Move {
  readonly key: string;
  readonly at: string;
  readonly task: string | null;
  readonly term: number | null;
  readonly what: string;
  readonly more: string;
  readonly tone: Tone;
}

export function movesOf(run: RunWhole): Move[] {
  const moves = [...beginOf(run), ...run.tasks.flatMap(ofTask), ...endOf(run)];
  // Of what happened within a millisecond, what is said first came first.
  return moves.sort((one, other) => Date.parse(one.at) - Date.parse(other.at)).reverse();
}

function beginOf(run: RunWhole): Move[] {
  const by = run.schedule ?? run.created_by ?? run.trigger;
  const moves: Move[] = [
    { key: "made", at: run.created_at, task: null, term: null, what: "Run made", more: `by ${by}`, tone: "quiet" },
  ];
  if (run.started_at !== null) {
    moves.push({ key: "started", at: run.started_at, task: null, term: null, what: "Run started", more: "", tone: "active" });
  }
  return moves;
}

function endOf(run: RunWhole): Move[] {
  if (run.finished_at === null) return [];
  const { label, tone } = RUN_FACTS[run.state];
  return [{ key: "ended", at: run.finished_at, task: null, term: null, what: `Run ${label.toLowerCase()}`, more: "", tone }];
}

function ofTask(task: Task): Move[] {
  const moves: Move[] = [];
  for (const each of task.attempts) {
    const key = `${task.id}/${each.term}`;
    const name = `Attempt ${each.attempt}`;
    const about = { task: task.name, term: each.term };
    if (each.started_at !== null) {
      const more = each.worker === null ? "" : `on ${each.worker}`;
      moves.push({ ...about, key: `${key}/start`, at: each.started_at, what: `${name} started`, more, tone: "active" });
    }
    if (each.finished_at !== null) {
      const { label, tone } = ATTEMPT_FACTS[each.state];
      const more = each.error === null ? "" : `${each.error.type}: ${each.error.message}`;
      moves.push({ ...about, key: `${key}/end`, at: each.finished_at, what: `${name} ${label.toLowerCase()}`, more, tone });
    }
  }
  for (const each of task.by_hand) {
    const what = each.deed.charAt(0).toUpperCase() + each.deed.slice(1);
    const more = each.note === "" ? `by ${each.who}` : `by ${each.who}: ${each.note}`;
    moves.push({ key: `${task.id}/${each.at}`, at: each.at, task: task.name, term: each.term, what: `${what} by hand`, more, tone: "warn" });
  }
  return moves;
}

export function countStates(tasks: readonly Task[]): Map<TaskState, number> {
  const counts = new Map<TaskState, number>();
  for (const { state } of tasks) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

/** The same of a run: of all its tasks, even where only some are here. */
export function countsOf(run: Pick<RunWhole, "tasks" | "task_count" | "task_counts">): Map<TaskState, number> {
  if (isWhole(run)) return countStates(run.tasks);
  return new Map(Object.entries(run.task_counts) as [TaskState, number][]);
}
