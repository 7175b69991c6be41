/** When each task of a run waited and worked, attempt by attempt; what runs grows as one looks. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { Link } from "@tanstack/react-router";
import { useMemo, useRef } from "react";

import { useNarrow } from "~/components/Rows";
import { Empty } from "~/components/Notice";
import type { Attempt, RunWhole, Task } from "~/generated/api";
import { ATTEMPT_FACTS, RUN_FACTS, TASK_FACTS, type Tone } from "~/generated/states";
import { useNow } from "~/lib/now";
import { length } from "~/lib/time";
import { marks, shares } from "~/lib/timescale";

const ROW = 30;

export function Gantt({ run }: { run: RunWhole }) {
  const now = useNow();
  const narrow = useNarrow();
  const frame = useRef<HTMLDivElement>(null);
  const tasks = useMemo(() => inOrder(run.tasks), [run.tasks]);
  const virtual = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: 20,
  });
  if (run.started_at === null) {
    return <Empty title="Nothing has started yet.">As soon as a task runs, its time is drawn here.</Empty>;
  }
  const begin = Date.parse(run.started_at) / 1000;
  const latest = run.tasks.reduce((most, task) => Math.max(most, task.finished_at ? Date.parse(task.finished_at) / 1000 : 0), 0);
  const end = Math.max(RUN_FACTS[run.state].closed ? latest : now.getTime() / 1000, begin + 0.001);
  const places = marks(end - begin, narrow ? 3 : 8);
  const grid = { gridTemplateColumns: narrow ? "7rem 1fr" : "minmax(8rem, 16rem) 1fr" };
  return (
    <div ref={frame} role="table" aria-label="Times of tasks" tabIndex={0} className="h-full min-h-0 flex-1 overflow-auto">
      <div role="row" style={grid} className="sticky top-0 z-10 grid h-8 items-center gap-3 border-b border-line bg-card px-4 text-xs text-faint">
        <div role="columnheader">Task</div>
        <div role="columnheader" aria-label="Time since the start" className="relative h-full">
          {/* At the right edge there is room for a line, but not for its words. */}
          {places
            .filter((place) => place / (end - begin) < (narrow ? 0.75 : 0.9))
            .map((place) => (
              <span key={place} className="absolute top-2 whitespace-nowrap" style={{ left: `${(100 * place) / (end - begin)}%` }}>
                {place === 0 ? "start" : `+${length(place)}`}
              </span>
            ))}
        </div>
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((row) => {
          const task = tasks[row.index]!;
          return (
            <div
              role="row"
              key={task.id}
              aria-rowindex={row.index + 2}
              style={{ ...grid, height: ROW, transform: `translateY(${row.start}px)` }}
              className="absolute inset-x-0 top-0 grid items-center gap-3 px-4 hover:bg-hover"
            >
              <div role="cell" className="min-w-0 truncate text-sm">
                <Link to="/runs/$run/tasks/$task" params={{ run: run.id, task: task.name }} className="hover:text-accent hover:underline">
                  {task.name}
                </Link>
              </div>
              <div role="cell" aria-label={told(task)} className="relative h-full">
                {places.map((place) => (
                  <span key={place} aria-hidden className="absolute inset-y-0 w-px bg-line/60" style={{ left: `${(100 * place) / (end - begin)}%` }} />
                ))}
                {spansOf(task, end).map((span) => {
                  const { left, width } = shares(span.from, span.to, begin, end);
                  return (
                    <Link
                      key={span.key}
                      to="/runs/$run/tasks/$task"
                      params={{ run: run.id, task: task.name }}
                      search={{ term: span.term }}
                      tabIndex={-1}
                      title={`${span.name}: ${length(span.to - span.from)}`}
                      aria-label={`${task.name}, ${span.name}`}
                      data-tone={span.tone}
                      className={`absolute rounded-xs bg-tone-solid hover:brightness-110 ${span.thin ? "top-3.5 h-0.5 opacity-60" : "top-2 h-3.5"}`}
                      style={{ left: `${left * 100}%`, width: `max(${width * 100}%, 3px)` }}
                    />
                  );
                })}
              </div>
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface Span {
  readonly key: string;
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
  readonly thin: boolean;
  readonly term: number;
}

/** Attempts as bars; before each, thin, how long it was ready and nobody took it. */
function spansOf(task: Task, end: number): Span[] {
  const spans: Span[] = [];
  const attempts = task.attempts.filter((each) => each.started_at !== null);
  for (const each of attempts) {
    const from = Date.parse(each.started_at!) / 1000;
    const to = each.finished_at === null ? end : Date.parse(each.finished_at) / 1000;
    spans.push({ key: `${each.term}`, name: nameOf(each), from, to, tone: ATTEMPT_FACTS[each.state].tone, thin: false, term: each.term });
  }
  const due = Date.parse(task.due_at) / 1000;
  const last = attempts.at(-1);
  const started = last === undefined ? null : Date.parse(last.started_at!) / 1000;
  const waits = task.state === "ready" || task.state === "backoff";
  if (started !== null && due < started) {
    spans.push({ key: "wait", name: "waited", from: due, to: started, tone: "pending", thin: true, term: task.term });
  } else if (waits && due < end) {
    spans.push({ key: "wait", name: "waits", from: due, to: end, tone: "pending", thin: true, term: task.term });
  }
  return spans;
}

function nameOf(attempt: Attempt): string {
  return `attempt ${attempt.attempt} ${ATTEMPT_FACTS[attempt.state].label.toLowerCase()}`;
}

function told(task: Task): string {
  const took = task.duration_seconds === null ? "" : `, ${length(task.duration_seconds)}`;
  return `${TASK_FACTS[task.state].label}${took}`;
}

/** As they started; those that have not, in the order of the dag, last. */
function inOrder(tasks: readonly Task[]): Task[] {
  const first = (task: Task) => task.attempts.find((each) => each.started_at !== null)?.started_at ?? task.started_at;
  return [...tasks].sort((one, other) => {
    const [a, b] = [first(one), first(other)];
    if (a === b) return one.id - other.id;
    if (a === null || b === null) return a === null ? 1 : -1;
    return Date.parse(a) - Date.parse(b) || one.id - other.id;
  });
}
