/** How a dag has done: how long its runs took, how many went well, and on which days. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { useTopics } from "~/api/live";
import { recentRuns, type BriefRun } from "~/api/queries";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { length } from "~/lib/time";
import { counted, number, percent } from "~/lib/words";
import { Calendar } from "~/views/dags/history/Calendar";
import { DurationChart } from "~/views/dags/history/DurationChart";

export default function HistoryTab({ dag }: { dag: string }) {
  useTopics(`runs:dag=${dag}`);
  const navigate = useNavigate();
  const { data: runs, error } = useQuery(recentRuns(dag));
  if (error !== null) return <Trouble error={error} />;
  if (runs === undefined) return <Loading rows={8} />;
  if (runs.length === 0) {
    return (
      <Card>
        <Empty title="It has not run yet.">How long its runs take, and how they end, is shown here.</Empty>
      </Card>
    );
  }
  return (
    <>
      <Figures runs={runs} />
      <Card title="How long its runs took">
        <DurationChart
          runs={runs}
          open={(run) => void navigate({ to: "/runs/$run", params: { run } })}
        />
      </Card>
      <Card
        title="On which days it ran"
        aside={<span className="text-xs text-faint">the newest {counted(runs.length, "run")}</span>}
      >
        <Calendar runs={runs} />
      </Card>
    </>
  );
}

function Figures({ runs }: { runs: readonly BriefRun[] }) {
  const over = runs.filter((run) => ["succeeded", "failed"].includes(run.state));
  const good = over.filter((run) => run.state === "succeeded").length;
  const took = over.flatMap((run) => run.duration_seconds ?? []).sort((a, b) => a - b);
  const at = (share: number) => took[Math.min(took.length - 1, Math.floor(share * took.length))];
  const told = (seconds: number | undefined) => (seconds === undefined ? "–" : length(seconds));
  const figures = [
    ["Succeeded", over.length === 0 ? "–" : percent(good / over.length)],
    ["Failed", number(over.length - good)],
    ["Half took at most", told(at(0.5))],
    ["95 % took at most", told(at(0.95))],
  ] as const;
  return (
    <dl className="grid shrink-0 grid-cols-4 gap-3 max-md:grid-cols-2">
      {figures.map(([name, value]) => (
        <div key={name} className="rounded-lg border border-line bg-card px-4 py-3">
          <dt className="text-xs text-faint">{name}</dt>
          <dd className="text-xl font-semibold">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
