/** From when to when the tasks of each row ran in the chosen run. */

import type { Graph, Timeline } from "~/generated/api";
import { cellOf, type Board, type Row } from "~/lib/cells";
import { criticalPath } from "~/lib/critical";
import type { Span } from "~/views/dags/grid/paint";

export interface Spans {
  /** How long the whole is, as far as it is known. */
  readonly seconds: number;
  readonly of: (row: Row, now: number) => Span | null;
}

export function spansOf(time: Timeline, graph: Graph | undefined, board: Board): Spans {
  const places = board.places.get(time.version);
  const critical = new Set(graph === undefined ? [] : criticalPath(graph.after, time.finished));
  let seconds = 0;
  for (const each of time.finished) if (each !== null && each > seconds) seconds = each;
  for (const each of time.started) if (each !== null && each > seconds) seconds = each;
  return {
    seconds,
    of: (row, now) => {
      let from = Infinity;
      let to = -Infinity;
      let onPath = false;
      for (const number of row.tasks) {
        const place = places?.[number] ?? -1;
        const started = place < 0 ? null : (time.started[place] ?? null);
        if (started === null) continue;
        from = Math.min(from, started);
        to = Math.max(to, time.finished[place] ?? Math.max(now, started));
        onPath ||= critical.has(place);
      }
      const state = from === Infinity ? null : cellOf(row, time.cells, places, time.states);
      return state === null ? null : { state, from, to, critical: onPath, group: row.group };
    },
  };
}
