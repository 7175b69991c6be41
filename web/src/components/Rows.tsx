/**
 * A list of any length: only what is in sight is drawn, more is fetched before it is reached.
 * j and k move, Enter opens.
 */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { useKeys } from "~/lib/keys";

export interface Column<T> {
  readonly name: string;
  /** What stands on top instead of the name. */
  readonly head?: ReactNode;
  /** A track of the grid: `1fr`, `minmax(8rem, 2fr)`, `6rem`. */
  readonly width: string;
  readonly cell: (item: T) => ReactNode;
  readonly right?: boolean;
  /** Left out where there is little room. */
  readonly wide?: boolean;
}

export interface RowsProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly keyOf: (item: T) => string | number;
  readonly open?: (item: T) => void;
  readonly more?: (() => void) | undefined;
  readonly rowHeight?: number;
}

export function Rows<T>({ label, items, columns, keyOf, open, more, rowHeight = 40 }: RowsProps<T>) {
  const frame = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const narrow = useNarrow();
  const shown = useMemo(() => columns.filter((each) => !narrow || !each.wide), [columns, narrow]);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => keyOf(items[index]!),
  });
  const rows = virtual.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more !== undefined && last >= items.length - 20) more();
  }, [last, items.length, more]);

  const move = (by: number) => {
    const next = Math.min(Math.max(at + by, 0), items.length - 1);
    setAt(next);
    virtual.scrollToIndex(next);
  };
  useKeys(
    useMemo(
      () => ({
        j: () => move(1),
        k: () => move(-1),
        Enter: () => {
          const item = items[at];
          if (item !== undefined) open?.(item);
        },
      }),
      // eslint-disable-next-line -- `move` closes over exactly these.
      [at, items, open],
    ),
  );

  const grid = { gridTemplateColumns: shown.map((each) => each.width).join(" ") };
  return (
    <div
      ref={frame}
      role="table"
      aria-label={label}
      aria-rowcount={more === undefined ? items.length + 1 : -1}
      tabIndex={0}
      className="h-full min-h-0 overflow-auto"
    >
      <div
        role="row"
        style={grid}
        className="sticky top-0 z-10 grid h-9 items-center gap-4 border-b border-line bg-card px-4 text-xs font-medium text-faint"
      >
        {shown.map((each) => (
          <div role="columnheader" key={each.name} className={each.right ? "text-right" : ""}>
            {each.head ?? each.name}
          </div>
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {rows.map((row) => {
          const item = items[row.index]!;
          return (
            <div
              role="row"
              key={row.key}
              aria-rowindex={row.index + 2}
              aria-selected={row.index === at}
              onClick={(event) => {
                if (!(event.target as HTMLElement).closest("a,button,input,label")) open?.(item);
              }}
              style={{ ...grid, height: row.size, transform: `translateY(${row.start}px)` }}
              className={`absolute inset-x-0 top-0 grid items-center gap-4 border-b border-line/60 px-4 ${
                open ? "cursor-pointer hover:bg-hover" : ""
              } ${row.index === at ? "bg-accent-wash" : ""}`}
            >
              {shown.map((each) => (
                <div
                  role="cell"
                  key={each.name}
                  className={`min-w-0 truncate ${each.right ? "text-right" : ""}`}
                >
                  {each.cell(item)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const NARROW = window.matchMedia("(max-width: 720px)");

export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const change = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", change);
    return () => NARROW.removeEventListener("change", change);
  }, []);
  return narrow;
}
