/** What a run is, in one line: why it began, when, how far it is. */

import { Link } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";

import { Bar } from "~/components/Bar";
import { Moment, Took } from "~/components/Moment";
import { Badge, State } from "~/components/State";
import type { Run, RunWhole } from "~/generated/api";
import { TASK_FACTS, TASK_STATES } from "~/generated/states";
import { counted } from "~/lib/words";
import { countsOf } from "~/views/runs/moves";

const LINK = "text-accent hover:underline";

export function RunFacts({ run }: { run: RunWhole }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <State of="run" state={run.state} />
      {run.dag_pause !== null && <Badge tone="warn">Dag paused</Badge>}
      <span>
        <Began run={run} />, <Moment at={run.created_at} />
      </span>
      {run.started_at !== null && (
        <span>
          {run.finished_at === null ? "running for " : "took "}
          <Took of={run} />
        </span>
      )}
      <span>version {run.version}</span>
      {run.rerun_of !== null && (
        <span>
          again of <RunLink id={run.rerun_of} />
        </span>
      )}
      {run.reruns.map((id) => (
        <span key={id}>
          ran again as <RunLink id={id} />
        </span>
      ))}
    </div>
  );
}

/** What triggered it, with a way there. */
export function Began({ run }: { run: Run | RunWhole }): ReactNode {
  if (run.schedule !== null) {
    return (
      <>
        fired by{" "}
        <a href={`/schedules/${encodeURIComponent(run.schedule)}`} className={LINK}>
          {run.schedule}
        </a>
      </>
    );
  }
  if ("backfill" in run && run.backfill !== null) {
    return (
      <>
        by{" "}
        <a href={`/backfills/${run.backfill}`} className={LINK}>
          backfill {run.backfill}
        </a>
      </>
    );
  }
  if (run.trigger === "manual") return `started by ${run.created_by ?? "hand"}`;
  return `began by ${run.trigger}`;
}

function RunLink({ id }: { id: number }) {
  return (
    <Link to="/runs/$run" params={{ run: id }} className={LINK}>
      run {id}
    </Link>
  );
}

export function RunProgress({ run }: { run: RunWhole }) {
  const counts = useMemo(() => countsOf(run), [run]);
  const parts = TASK_STATES.map((state) => ({
    tone: TASK_FACTS[state].tone,
    name: TASK_FACTS[state].label.toLowerCase(),
    count: counts.get(state) ?? 0,
  }));
  // What is over comes first, what is under way next, what waits last.
  const order = ["good", "bad", "warn", "active", "pending", "quiet"];
  const shown = parts
    .filter((part) => part.count > 0)
    .sort((one, other) => order.indexOf(one.tone) - order.indexOf(other.tone));
  return (
    <div className="flex items-center gap-3">
      <Bar label="Tasks" parts={shown} of={run.task_count} />
      <span className="shrink-0 text-sm whitespace-nowrap text-soft">
        {run.open_tasks === 0
          ? counted(run.task_count, "task")
          : `${run.task_count - run.open_tasks} of ${counted(run.task_count, "task")}`}
      </span>
    </div>
  );
}
