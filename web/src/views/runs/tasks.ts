/** The tasks of a run as far as they are here: a large run comes with some of them first. Pure. */

import type { RunWhole } from "~/generated/api";
import type { TaskState } from "../../generated/states.ts";
import { countStates } from "./moves.ts";

/** So many tasks come at once, more than fill a screen. */
export const TASKS_FIRST = 100;

export function isWhole(run: Pick<RunWhole, "tasks" | "task_count">): boolean {
  return run.tasks.length !== TASKS_FIRST || run.task_count <= TASKS_FIRST;
}

/** How many tasks are in each state: all of them, even where only some are here. */
export function countsOf(run: Pick<RunWhole, "tasks" | "task_count" | "task_counts">): Map<TaskState, number> {
  if (isWhole(run)) return countStates(run.tasks);
  return new Map(Object.entries(run.task_counts) as [TaskState, number][]);
}
