/**
 * The log in sight. Only the rows between the edges are drawn, on a layer that stands still while the
 * scroll bar moves; which rows those are follows from the place that is held, a row of a block, so that
 * what is read stays where it is when a block above turns out longer than it was thought to be.
 *
 * Browsers draw nothing taller than some millions of pixels. A longer log has a scroll bar of its own
 * scale: short ways are taken pixel by pixel, long ones by share.
 */

import { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState, useSyncExternalStore } from "react";

import { blockOf, layOut, placeOf, rowsOf, type Line } from "~/lib/log";
import { LogLine } from "~/views/tasks/LogLine";
import type { LogStore } from "~/views/tasks/LogStore";

const ROW = 20;
const PADDING = 30;
const TALL_MAX = 8_000_000;
const IDLE_MS = 150;
const AROUND = 6;

/** The place at the upper edge: a line and rows of it, or a share of a block that nobody has seen. */
type Held =
  | { readonly block: number; readonly line: number; readonly rows: number }
  | { readonly block: number; readonly share: number };

export interface LogPaneProps {
  readonly label: string;
  readonly store: LogStore;
  readonly wrap: boolean;
  readonly follow: boolean;
  readonly setFollow: (follow: boolean) => void;
  /** The byte at which the chosen line begins; it is brought into sight. */
  readonly at: number | undefined;
  readonly choose: (line: Line) => void;
  readonly find: string;
}

export function LogPane({ label, store, wrap, follow, setFollow, at, choose, find }: LogPaneProps) {
  useSyncExternalStore(store.subscribe, () => store.version);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const frame = useRef<HTMLDivElement>(null);
  const letter = useRef<HTMLSpanElement>(null);
  const box = useBox(frame, letter);
  const held = useRef<Held>({ block: 0, share: 0 });
  const seen = useRef({ last: 0, idle: 0 as number | undefined, scrolling: false });
  const shown = useRef(-1);
  const wrapped = useRef(wrap);

  const columns = wrap ? Math.max(20, Math.floor((box.width - PADDING) / box.letter)) : 0;
  const heights = useHeights(store, columns);
  const before = layOut(store.blocks, heights.known(), store.lastShare);
  const rows = before[store.blocks]!;
  const tall = Math.min(rows * ROW, TALL_MAX);
  const scale = rows * ROW > TALL_MAX ? (rows * ROW - box.height) / (TALL_MAX - box.height) : 1;
  const last = Math.max(0, rows - box.height / ROW);

  const hold = (row: number) => {
    const block = Math.min(placeOf(before, row), store.blocks - 1);
    const within = row - before[block]!;
    const starts = heights.starts(block);
    if (starts === undefined || starts.length < 2) {
      held.current = { block, share: within / Math.max(1, before[block + 1]! - before[block]!) };
    } else {
      const line = Math.min(placeOf(starts, within), starts.length - 2);
      held.current = { block, line, rows: within - starts[line]! };
    }
  };
  // Wrapping moves the chosen line out of sight.
  if (wrapped.current !== wrap) {
    wrapped.current = wrap;
    shown.current = -1;
  }
  // A line that was asked for is brought into sight as soon as its block is there.
  if (at !== undefined && at !== shown.current && store.lines(blockOf(at)) !== undefined) {
    shown.current = at;
    const block = blockOf(at);
    const line = store.lines(block)!.findIndex((each) => each.start >= at);
    const row = before[block]! + heights.starts(block)![Math.max(0, line)]!;
    const now = placed(held.current, before, heights);
    if (row < now + 1 || row > now + box.height / ROW - 2) hold(Math.min(Math.max(0, row - 6), last));
  }
  if (follow) hold(last);
  const top = Math.min(Math.max(0, placed(held.current, before, heights)), last);
  const from = Math.max(0, top - AROUND);
  const to = Math.min(rows, top + box.height / ROW + AROUND);
  const first = Math.min(placeOf(before, from), store.blocks - 1);
  const final = Math.min(placeOf(before, to), store.blocks - 1);

  useEffect(() => {
    store.want(first - 1, final + 1);
    if (at !== undefined && shown.current !== at) store.want(blockOf(at), blockOf(at));
  });
  useLayoutEffect(() => {
    const element = frame.current!;
    if (seen.current.scrolling && scale !== 1) return;
    const wanted = (top * ROW) / scale;
    if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted;
    seen.current.last = element.scrollTop;
  });

  const scroll = () => {
    const place = frame.current!.scrollTop;
    const way = place - seen.current.last;
    if (Math.abs(way) <= 1 && scale === 1) return;
    seen.current.last = place;
    const short = Math.abs(way) < 4 * box.height;
    const row = scale === 1 ? place / ROW : short ? top + way / ROW : (place * scale) / ROW;
    hold(Math.min(Math.max(0, row), last));
    const ended = row >= last - 0.5;
    if (follow !== ended && (follow || store.ending === "open")) setFollow(ended);
    seen.current.scrolling = true;
    window.clearTimeout(seen.current.idle);
    seen.current.idle = window.setTimeout(() => {
      seen.current.scrolling = false;
      redraw();
    }, IDLE_MS);
    redraw();
  };

  const width = wrap ? columns * box.letter + PADDING : null;
  const drawn: { line: Line; row: number; rows: number }[] = [];
  let widest = 0;
  for (let block = first; block <= final; block += 1) {
    const lines = store.lines(block);
    const starts = heights.starts(block);
    if (lines === undefined || starts === undefined) continue;
    const start = Math.max(0, placeOf(starts, from - before[block]!));
    for (let index = start; index < lines.length; index += 1) {
      const row = before[block]! + starts[index]!;
      if (row > to) break;
      widest = Math.max(widest, lines[index]!.text.length);
      drawn.push({ line: lines[index]!, row, rows: starts[index + 1]! - starts[index]! });
    }
  }
  return (
    <div
      ref={frame}
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={scroll}
      className="mono relative min-h-0 flex-1 overflow-auto overscroll-contain text-[13px] leading-5"
    >
      <div aria-hidden className="invisible absolute size-0 overflow-hidden">
        <span ref={letter}>{"0".repeat(100)}</span>
      </div>
      <div style={{ height: tall, minWidth: wrap ? undefined : widest * box.letter + PADDING }}>
        <div className="sticky top-0 overflow-clip" style={{ height: Math.min(box.height, tall) }}>
          {drawn.map(({ line, row, rows: count }) => (
            <LogLine
              key={line.start}
              line={line}
              top={Math.round((row - top) * ROW)}
              height={count * ROW}
              width={width}
              chosen={line.start === at}
              find={find}
              choose={choose}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function placed(held: Held, before: Float64Array, heights: Heights): number {
  const start = before[held.block]!;
  if ("share" in held) return start + held.share * (before[held.block + 1]! - start);
  return start + (heights.starts(held.block)?.[held.line] ?? 0) + held.rows;
}

interface Heights {
  /** Rows before each line of a block, and of all. */
  readonly starts: (block: number) => Float64Array | undefined;
  /** How many rows blocks have that are or were in hand. */
  readonly known: () => ReadonlyMap<number, number>;
}

function useHeights(store: LogStore, columns: number): Heights {
  return useMemo(() => {
    const counts = new Map<number, number>();
    const made = new WeakMap<readonly Line[], Float64Array>();
    const starts = (block: number): Float64Array | undefined => {
      const lines = store.lines(block);
      if (lines === undefined) return undefined;
      let found = made.get(lines);
      if (found === undefined) {
        found = new Float64Array(lines.length + 1);
        lines.forEach((line, index) => (found![index + 1] = found![index]! + rowsOf(line, columns)));
        made.set(lines, found);
      }
      counts.set(block, found.at(-1)!);
      return found;
    };
    const known = () => {
      for (let block = 0; block < store.blocks; block += 1) starts(block);
      return counts;
    };
    return { starts, known };
  }, [store, columns]);
}

function useBox(frame: React.RefObject<HTMLDivElement | null>, letter: React.RefObject<HTMLSpanElement | null>) {
  const [box, setBox] = useState({ width: 800, height: 400, letter: 7.8 });
  const measure = useCallback(() => {
    const { clientWidth, clientHeight } = frame.current!;
    const width = letter.current!.getBoundingClientRect().width / 100;
    setBox({ width: clientWidth, height: clientHeight, letter: width || 7.8 });
  }, [frame, letter]);
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, [measure, frame]);
  return box;
}
