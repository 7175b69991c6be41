/**
 * Runs × tasks, and the timeline of a chosen run in step with the same rows.
 *
 * One element scrolls, both ways; a layer the size of the window stays in place inside it, and cells,
 * bars and spans are painted there for where it stands. So nothing is ever missing while it scrolls,
 * whether there are ten cells or a million. Names, runs and the cell under the cursor are elements, for
 * keyboards and screen readers.
 */

import { Link } from "@tanstack/react-router";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { flushSync } from "react-dom";

import { TASK_FACTS } from "~/generated/states";
import { cellOf } from "~/lib/cells";
import { useColours } from "~/lib/tones";
import { ColumnHeads, RowHeads } from "~/views/dags/grid/Heads";
import { cellWords } from "~/views/dags/grid/words";
import { COLUMN, HEAD, paintBar, paintCell, paintSpan, prepared, ROW } from "~/views/dags/grid/paint";
import { heights } from "~/lib/scale";
import { TimeAxis } from "~/views/dags/grid/TimeAxis";
import { spansOf } from "~/views/dags/grid/spans";
import type { GridData } from "~/views/dags/grid/data";

export interface Place {
  readonly row: number;
  readonly column: number;
}

export function GridView({
  data,
  now,
  choose,
  toggle,
  open,
  at,
  setAt,
}: {
  data: GridData;
  /** Seconds of the chosen run's timeline that have gone by. */
  now: number;
  choose: (run: number | null) => void;
  toggle: (group: string) => void;
  /** Goes to a task of a run. */
  open: (run: number, task: string) => void;
  at: Place | null;
  setAt: (place: Place | null) => void;
}) {
  const { rows, runs, board, chosen, chosenGraph } = data;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useColours();
  const [view, setView] = useState({ width: 0, height: 0 });
  const [scroll, setScroll] = useState({ left: 0, top: 0 });
  const [hover, setHover] = useState<Place | null>(null);

  const label = view.width < 640 ? 120 : 220;
  const shown = chosen !== undefined;
  const timeWidth = !shown ? 0 : Math.round(Math.max((view.width - label) * 0.55, 160));
  const room = Math.max(0, view.width - label - timeWidth);
  const total = { width: label + runs.length * COLUMN + 8 + timeWidth, height: HEAD + rows.length * ROW + 12 };
  const chosenColumn = chosen === undefined ? -1 : runs.findIndex((run) => run.id === chosen.run);

  useLayoutEffect(() => {
    const element = frame.current!;
    const measure = () => setView({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  // The newest run is at the right, where one starts; older ones come in at the left without a jump.
  const newest = runs.at(-1)?.id;
  const count = useRef(0);
  useLayoutEffect(() => {
    if (view.width === 0) return;
    const element = frame.current!;
    const added = runs.length - count.current;
    element.scrollLeft = count.current === 0 ? element.scrollWidth : element.scrollLeft + added * COLUMN;
    count.current = runs.length;
    setScroll({ left: element.scrollLeft, top: element.scrollTop });
  }, [runs.length, newest, shown, view.width]);

  // The chosen run stays in sight when its timeline takes its room.
  useLayoutEffect(() => {
    const element = frame.current!;
    const left = chosenColumn * COLUMN;
    if (chosenColumn < 0 || room === 0) return;
    if (left < element.scrollLeft) element.scrollLeft = left;
    else if (left + COLUMN + 8 > element.scrollLeft + room) element.scrollLeft = left + COLUMN + 8 - room;
    // eslint-disable-next-line -- runs that are added move it by the effect above.
  }, [chosen?.run, room]);

  const more = data.more;
  useEffect(() => {
    if (scroll.left < 12 * COLUMN) more?.();
  }, [scroll.left, more]);

  const first = Math.max(0, Math.floor(scroll.top / ROW));
  const last = Math.min(rows.length, Math.ceil((scroll.top + view.height - HEAD) / ROW));
  const from = Math.max(0, Math.floor(scroll.left / COLUMN));
  const until = Math.min(runs.length, Math.ceil((scroll.left + room) / COLUMN));
  const tall = useMemo(() => heights(runs.map((run) => run.duration_seconds)), [runs]);
  const spans = useMemo(
    () => (chosen === undefined ? null : spansOf(chosen, chosenGraph, board)),
    [chosen, chosenGraph, board],
  );
  const seconds = spans === null ? 1 : Math.max(spans.seconds, chosen!.state === "running" ? now : 0, 0.001);

  useLayoutEffect(() => {
    if (view.width === 0) return;
    const pen = prepared(canvas.current!, view.width, view.height);
    const rowY = (row: number) => HEAD + row * ROW - scroll.top + ROW / 2;
    const columnX = (column: number) => label + column * COLUMN - scroll.left + COLUMN / 2 + 4;
    const { surface } = colours;
    const lit = hover ?? at;
    if (lit !== null) {
      pen.fillStyle = surface.hover;
      pen.fillRect(0, rowY(lit.row) - ROW / 2, view.width, ROW);
    }
    pen.save();
    pen.beginPath();
    pen.rect(label, 0, room, view.height);
    pen.clip();
    if (chosenColumn >= 0) {
      pen.fillStyle = surface["accent-wash"];
      pen.fillRect(columnX(chosenColumn) - COLUMN / 2, 0, COLUMN, view.height);
    }
    for (let row = first; row < last; row += 1) {
      for (let column = from; column < until; column += 1) {
        const run = runs[column]!;
        const state = cellOf(rows[row]!, run.cells, board.places.get(run.version), data.states);
        if (state !== null) paintCell(pen, state, columnX(column), rowY(row), colours);
      }
    }
    pen.restore();
    if (spans !== null) {
      const x = label + room;
      pen.fillStyle = surface.line;
      pen.fillRect(x, 0, 1, view.height);
      for (let row = first; row < last; row += 1) {
        const span = spans.of(rows[row]!, now);
        if (span !== null) paintSpan(pen, span, x + 8, rowY(row), timeWidth - 16, seconds, colours);
      }
    }
    pen.fillStyle = surface.card;
    pen.fillRect(0, 0, label + room, HEAD);
    pen.save();
    pen.beginPath();
    pen.rect(label, 0, room, HEAD);
    pen.clip();
    for (let column = from; column < until; column += 1) {
      if (column === chosenColumn) {
        pen.fillStyle = surface["accent-wash"];
        pen.fillRect(columnX(column) - COLUMN / 2, 0, COLUMN, HEAD);
      }
      paintBar(pen, runs[column]!.state, tall[column]!, columnX(column), HEAD - 6, HEAD - 20, colours);
    }
    pen.restore();
    pen.fillStyle = surface.line;
    pen.fillRect(0, HEAD - 1, view.width, 1);
  });

  const placeAt = (event: { clientX: number; clientY: number }): Place | null => {
    const box = frame.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = Math.floor((y - HEAD + scroll.top) / ROW);
    if (y < HEAD || row >= rows.length) return null;
    const inTime = x >= label + room;
    const column = inTime ? chosenColumn : Math.floor((x - label - 4 + scroll.left) / COLUMN);
    return x < label || column < 0 || column >= runs.length ? null : { row, column };
  };

  const goTo = (row: number, column: number) => {
    const next = {
      row: Math.min(Math.max(row, 0), rows.length - 1),
      column: Math.min(Math.max(column, 0), runs.length - 1),
    };
    const element = frame.current!;
    const top = next.row * ROW;
    const left = next.column * COLUMN;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW > element.scrollTop + view.height - HEAD) element.scrollTop = top + ROW - view.height + HEAD;
    if (left < element.scrollLeft) element.scrollLeft = left;
    else if (left + COLUMN + 8 > element.scrollLeft + room) element.scrollLeft = left + COLUMN + 8 - room;
    setAt(next);
  };
  /** The task of a run that a cell is about; null, if it is about several or none. */
  const taskAt = ({ row, column }: Place) => {
    const [line, run] = [rows[row]!, runs[column]!];
    if (line.group || cellOf(line, run.cells, board.places.get(run.version), data.states) === null) return null;
    return { run: run.id, task: line.name };
  };
  const enter = (place: Place) => {
    const found = taskAt(place);
    if (found !== null) open(found.run, found.task);
    else if (rows[place.row]!.group) toggle(rows[place.row]!.name);
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || runs.length === 0) return;
    const { row, column } = at ?? { row: 0, column: runs.length - 1 };
    const page = Math.max(1, Math.floor((view.height - HEAD) / ROW) - 1);
    const moves: Record<string, () => void> = {
      ArrowUp: () => goTo(row - 1, column),
      ArrowDown: () => goTo(row + 1, column),
      ArrowLeft: () => goTo(row, column - 1),
      ArrowRight: () => goTo(row, column + 1),
      PageUp: () => goTo(row - page, column),
      PageDown: () => goTo(row + page, column),
      Home: () => goTo(event.ctrlKey ? 0 : row, 0),
      End: () => goTo(event.ctrlKey ? rows.length : row, runs.length),
      Enter: () => enter({ row, column }),
      " ": () => choose(column === chosenColumn ? null : runs[column]!.id),
      Escape: () => (shown ? choose(null) : setAt(null)),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  };

  const seen = hover ?? null;
  const pointed = seen === null || seen.column >= runs.length || seen.row >= rows.length ? null : taskAt(seen);
  return (
    <div
      ref={frame}
      role="grid"
      aria-label="Runs and tasks"
      aria-rowcount={rows.length + 1}
      aria-colcount={runs.length + 1}
      aria-activedescendant={at === null ? undefined : "grid-cell"}
      tabIndex={0}
      onKeyDown={press}
      onScroll={(event) => {
        const { scrollLeft: left, scrollTop: top } = event.currentTarget;
        // Painted before the frame is shown.
        flushSync(() => setScroll({ left, top }));
      }}
      onMouseMove={(event) => {
        const next = placeAt(event);
        if (next?.row !== hover?.row || next?.column !== hover?.column) setHover(next);
      }}
      onMouseLeave={() => setHover(null)}
      onClick={(event) => {
        const place = placeAt(event);
        if (place === null || (event.target as HTMLElement).closest("a,button")) return;
        setAt(place);
        enter(place);
      }}
      className="relative h-full min-h-0 overflow-auto"
    >
      <div role="presentation" style={total}>
        <div role="presentation" className="sticky top-0 left-0 overflow-hidden" style={view}>
          <canvas ref={canvas} aria-hidden className="absolute inset-0" style={view} />
          <ColumnHeads
            runs={runs}
            from={from}
            until={until}
            left={label + 4 - scroll.left}
            clip={{ left: label, width: room }}
            chosen={chosenColumn}
            choose={choose}
          />
          {shown && <TimeAxis left={label + room} width={timeWidth} seconds={seconds} time={chosen!} close={() => choose(null)} />}
          <RowHeads
            rows={rows}
            first={first}
            last={last}
            top={HEAD - scroll.top}
            width={label}
            toggle={toggle}
            at={at}
            cell={at === null ? "" : cellWords(data, at)}
            cellLeft={at === null ? 0 : label + 4 + at.column * COLUMN - scroll.left}
            clipRight={label + room}
          />
          {pointed !== null && (
            // A link where the mouse is, so that it opens in another tab, too. Keys have Enter.
            <Link
              to="/runs/$run/tasks/$task"
              params={pointed}
              tabIndex={-1}
              aria-hidden
              className="absolute"
              style={{
                left: label + 4 + seen!.column * COLUMN - scroll.left,
                top: HEAD + seen!.row * ROW - scroll.top,
                width: COLUMN,
                height: ROW,
              }}
            />
          )}
          {seen !== null && (
            <div
              role="presentation"
              className="pointer-events-none absolute z-20 max-w-72 rounded-md border border-line bg-raised px-2.5 py-1.5 text-xs shadow-lg"
              style={{
                left: Math.min(label + 4 + (seen.column + 1) * COLUMN - scroll.left + 6, view.width - 220),
                top: Math.min(HEAD + (seen.row + 1) * ROW - scroll.top + 4, view.height - 64),
              }}
            >
              {cellWords(data, seen)}
            </div>
          )}
        </div>
      </div>
    </div>
  );
}

/** What the marks mean. */
export function Legend() {
  const states = ["succeeded", "failed", "upstream_failed", "running", "backoff", "ready", "waiting", "skipped", "cancelled"] as const;
  const colours = useColours();
  const paint = (canvas: HTMLCanvasElement | null, state: (typeof states)[number]) => {
    if (canvas !== null) paintCell(prepared(canvas, 14, 14), state, 7, 7, colours);
  };
  return (
    <ul aria-label="Legend" className="flex flex-wrap gap-x-3 gap-y-1 text-xs text-soft max-sm:hidden">
      {states.map((state) => (
        <li key={state} title={TASK_FACTS[state].meaning} className="flex items-center gap-1">
          <canvas key={JSON.stringify(colours.solid)} aria-hidden style={{ width: 14, height: 14 }} ref={(canvas) => paint(canvas, state)} />
          {TASK_FACTS[state].label}
        </li>
      ))}
    </ul>
  );
}
