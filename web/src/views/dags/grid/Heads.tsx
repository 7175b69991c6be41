/** The names beside the cells and the runs above them: elements, as many as are in sight. */

import { Icon } from "~/components/Icon";
import type { GridRun } from "~/generated/api";
import type { Row } from "~/lib/cells";
import { number } from "~/lib/words";
import { COLUMN, HEAD, ROW } from "~/views/dags/grid/paint";
import { runWords } from "~/views/dags/grid/words";

export function ColumnHeads({
  runs,
  from,
  until,
  left,
  clip,
  chosen,
  choose,
}: {
  runs: readonly GridRun[];
  from: number;
  until: number;
  left: number;
  clip: { left: number; width: number };
  chosen: number;
  choose: (run: number | null) => void;
}) {
  return (
    <div
      role="row"
      aria-rowindex={1}
      className="absolute top-0 overflow-hidden"
      style={{ left: clip.left, width: clip.width, height: HEAD }}
    >
      {runs.slice(from, until).map((run, index) => {
        const column = from + index;
        return (
          <div
            role="columnheader"
            key={run.id}
            aria-colindex={column + 2}
            className="absolute top-0 h-full"
            style={{ left: left - clip.left + column * COLUMN, width: COLUMN }}
          >
            <button
              type="button"
              tabIndex={-1}
              aria-pressed={column === chosen}
              aria-label={runWords(run)}
              title={`${runWords(run)} · version ${run.version} · ${run.trigger}`}
              onClick={() => choose(column === chosen ? null : run.id)}
              className="h-full w-full rounded-sm hover:bg-ink/5"
            />
          </div>
        );
      })}
    </div>
  );
}

export function RowHeads({
  rows,
  first,
  last,
  top,
  width,
  toggle,
  at,
  cell,
  cellLeft,
  clipRight,
}: {
  rows: readonly Row[];
  first: number;
  last: number;
  top: number;
  width: number;
  toggle: (group: string) => void;
  at: { row: number; column: number } | null;
  cell: string;
  cellLeft: number;
  clipRight: number;
}) {
  return (
    <div
      role="rowgroup"
      className="pointer-events-none absolute inset-x-0 bottom-0 overflow-hidden"
      style={{ top: HEAD }}
    >
      {rows.slice(first, last).map((row, index) => {
        const number_ = first + index;
        return (
          <div
            role="row"
            key={row.key}
            aria-rowindex={number_ + 2}
            className="absolute inset-x-0"
            style={{ top: top - HEAD + number_ * ROW, height: ROW }}
          >
            <div
              role="rowheader"
              title={row.name}
              className={`pointer-events-auto flex h-full items-center gap-1 pr-2 text-sm ${row.inner ? "pl-9" : "pl-4"}`}
              style={{ width }}
            >
              {row.group ? (
                <button
                  type="button"
                  tabIndex={-1}
                  aria-expanded={row.open}
                  onClick={() => toggle(row.name)}
                  className="-ml-1 flex min-w-0 items-center gap-1 hover:text-accent"
                >
                  <Icon name={row.open ? "down" : "right"} size={12} />
                  <span className="truncate font-medium">{row.name}</span>
                  <span className="shrink-0 text-xs text-faint">× {number(row.tasks.length)}</span>
                </button>
              ) : (
                <span className="truncate">{row.name}</span>
              )}
            </div>
            {at?.row === number_ && (
              <div
                role="gridcell"
                id="grid-cell"
                aria-colindex={at.column + 2}
                aria-label={cell}
                className={`absolute top-0.5 rounded-sm outline-2 outline-accent ${
                  cellLeft < width || cellLeft + COLUMN > clipRight ? "opacity-0" : ""
                }`}
                style={{ left: cellLeft, width: COLUMN, height: ROW - 4 }}
              />
            )}
          </div>
        );
      })}
    </div>
  );
}
