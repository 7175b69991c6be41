/** A cell in words. */

import { RUN_FACTS, TASK_FACTS } from "~/generated/states";
import { cellOf, countsOf } from "~/lib/cells";
import { length } from "~/lib/time";
import { counted, number } from "~/lib/words";
import type { GridData } from "~/views/dags/grid/data";

export function cellWords(data: GridData, { row, column }: { row: number; column: number }): string {
  const line = data.rows[row];
  const run = data.runs[column];
  if (line === undefined || run === undefined) return "";
  const places = data.board.places.get(run.version);
  const state = cellOf(line, run.cells, places, data.states);
  const told =
    state === null
      ? "not part of this run"
      : line.group
        ? [...countsOf(line, run.cells, places, data.states)]
            .map(([each, count]) => `${number(count)} ${TASK_FACTS[each].label.toLowerCase()}`)
            .join(", ")
        : TASK_FACTS[state].label;
  const name = line.group ? `${line.name} (${counted(line.tasks.length, "task")})` : line.name;
  return `${name}, run ${run.id}: ${told}${state === null || line.group ? "" : ` (${TASK_FACTS[state].meaning})`}`;
}

export function runWords(run: GridData["runs"][number]): string {
  const took = run.duration_seconds === null ? "" : `, ${length(run.duration_seconds)}`;
  return `Run ${run.id}, ${RUN_FACTS[run.state].label.toLowerCase()}${took}`;
}
