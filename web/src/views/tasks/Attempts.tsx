/** The attempts of a task side by side: when, where, how they ended and what went wrong. */

import { Link } from "@tanstack/react-router";

import { Facts } from "~/components/Facts";
import { Moment, Took } from "~/components/Moment";
import { Empty } from "~/components/Notice";
import { State } from "~/components/State";
import type { Attempt, ByHand, Task } from "~/generated/api";
import { length } from "~/lib/time";
import { bytes } from "~/lib/words";

export function Attempts({ run, task }: { run: number; task: Task }) {
  if (task.attempts.length === 0) {
    return <Empty title="There was no attempt yet.">Each try of this task will stand here beside the others.</Empty>;
  }
  return (
    <div className="flex flex-col gap-4">
      {task.by_hand.map((deed) => (
        <Done key={deed.at} deed={deed} />
      ))}
      <div className="grid grid-cols-[repeat(auto-fill,minmax(min(20rem,100%),1fr))] gap-4">
        {[...task.attempts].reverse().map((attempt) => (
          <One key={attempt.term} run={run} task={task} attempt={attempt} />
        ))}
      </div>
    </div>
  );
}

function One({ run, task, attempt }: { run: number; task: Task; attempt: Attempt }) {
  return (
    <section
      aria-label={`Attempt ${attempt.attempt}`}
      className="flex min-w-0 flex-col overflow-hidden rounded-lg border border-line bg-card"
    >
      <header className="flex items-center gap-2 border-b border-line px-4 py-2.5">
        <h2 className="text-sm font-semibold">Attempt {attempt.attempt}</h2>
        <State of="attempt" state={attempt.state} />
        <Link
          to="/runs/$run/tasks/$task"
          params={{ run, task: task.name }}
          search={{ term: attempt.term }}
          className="ml-auto text-sm text-accent hover:underline"
        >
          Log
        </Link>
      </header>
      <Facts
        facts={[
          ["Started", <Moment at={attempt.started_at} exact />],
          ["Took", <Took of={attempt} />],
          ["Worker", attempt.worker ?? "–"],
          ...(attempt.cpu_seconds === null ? [] : [["CPU", length(attempt.cpu_seconds)] as const]),
          ...(attempt.peak_bytes === null ? [] : [["Peak memory", bytes(attempt.peak_bytes)] as const]),
          ...(task.generation > 1 ? [["Round", attempt.generation] as const] : []),
        ]}
      />
      {attempt.error !== null && (
        <div data-tone="bad" className="border-t border-line">
          <p className="px-4 pt-2.5 font-medium break-words text-tone-text">
            {attempt.error.type}: {attempt.error.message}
          </p>
          <pre tabIndex={0} className="mono max-h-80 overflow-auto px-4 py-2.5 text-xs wrap-anywhere whitespace-pre-wrap text-soft">{attempt.error.trace}</pre>
        </div>
      )}
    </section>
  );
}

function Done({ deed }: { deed: ByHand }) {
  return (
    <p data-tone="warn" className="rounded-lg bg-tone-wash px-4 py-2 text-sm text-tone-text">
      {deed.deed} by {deed.who}, <Moment at={deed.at} />
      {deed.note !== "" && `: ${deed.note}`}
    </p>
  );
}
