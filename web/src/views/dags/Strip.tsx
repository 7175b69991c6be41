/** The last runs of a dag as small bars, the newest right: as high as they took, in the tone of their ends. */

import { useNavigate } from "@tanstack/react-router";

import type { StripRun } from "~/generated/api";
import { RUN_FACTS } from "~/generated/states";
import { heights } from "~/lib/scale";
import { length } from "~/lib/time";

const LENGTH = 14;

export function Strip({ dag, runs }: { dag: string; runs: readonly StripRun[] | undefined }) {
  const navigate = useNavigate();
  if (runs === undefined || runs.length === 0) return <span className="text-faint">has not run</span>;
  const shown = runs.slice(0, LENGTH).toReversed();
  const tall = heights(shown.map((run) => run.duration_seconds));
  return (
    <div role="group" aria-label={`Last runs of ${dag}`} className="flex h-7 items-end gap-0.5">
      {Array.from({ length: LENGTH - shown.length }, (_, at) => (
        <span key={at} aria-hidden className="h-0.5 w-1.5 bg-line" />
      ))}
      {shown.map((run, at) => {
        const took = run.duration_seconds === null ? "" : `, ${length(run.duration_seconds)}`;
        const words = `Run ${run.id}, ${RUN_FACTS[run.state].label.toLowerCase()}${took}`;
        return (
          <button
            key={run.id}
            type="button"
            tabIndex={-1}
            aria-label={words}
            title={words}
            data-tone={RUN_FACTS[run.state].tone}
            onClick={() => void navigate({ to: "/dags/$dag", params: { dag }, search: { run: run.id } })}
            className="flex h-full w-1.5 items-end hover:opacity-70"
          >
            <span
              aria-hidden
              className={`w-full rounded-t-[2px] bg-tone-solid ${
                run.state === "running" ? "animate-[breathe_1.6s_ease-in-out_infinite]" : ""
              }`}
              style={{ height: `${Math.max(14, tall[at]! * 100)}%` }}
            />
          </button>
        );
      })}
    </div>
  );
}
