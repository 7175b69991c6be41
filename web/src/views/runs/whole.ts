/** A large run comes with some of its tasks first, and then with all of them. Pure. */

import type { RunWhole } from "~/generated/api";

/** So many tasks come at once, more than fill a screen. */
export const TASKS_FIRST = 100;

export function isWhole(run: Pick<RunWhole, "tasks" | "task_count">): boolean {
  return run.tasks.length !== TASKS_FIRST || run.task_count <= TASKS_FIRST;
}
