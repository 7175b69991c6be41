/** How a dag has done: how its runs ended and how long they took, over a time to choose, and on which days. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { statsOf } from "~/api/queries";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Segments } from "~/components/Segments";
import type { Statistics, Width } from "~/generated/api";
import { length } from "~/lib/time";
import { number, percent } from "~/lib/words";
import { Calendar, DAYS_SHOWN } from "~/views/dags/history/Calendar";
import { DurationChart } from "~/views/dags/history/DurationChart";
import { EndsChart } from "~/views/dags/history/EndsChart";

const SPANS: readonly (readonly [days: string, text: string, step: Width])[] = [
  ["1", "Day", "hour"],
  ["7", "Week", "hour"],
  ["30", "Month", "day"],
  ["182", "Half a year", "day"],
  ["730", "Two years", "day"],
];

export default function HistoryTab({ dag, days }: { dag: string; days: number | undefined }) {
  const navigate = useNavigate();
  const [span, , step] = SPANS.find(([each]) => Number(each) === days) ?? SPANS[2]!;
  const { data, error } = useQuery({ ...statsOf(dag, Number(span), step), placeholderData: keepPreviousData });
  const all = useQuery(statsOf(dag, DAYS_SHOWN, "day"));
  const look = (since: Date, until: Date) =>
    void navigate({ to: "/runs", search: { dag, since: since.toISOString(), until: until.toISOString() } });
  const problem = error ?? all.error;
  if (problem !== null) return <Trouble error={problem} />;
  if (data === undefined || all.data === undefined) return <Loading rows={8} />;
  return (
    <>
      <Figures total={data.total} />
      <Card
        title="How its runs ended, and how long they took"
        aside={
          <Segments
            label="Time"
            value={span}
            options={SPANS.map(([each, text]) => [each, text] as const)}
            choose={(next) =>
              void navigate({ to: ".", search: ((given: object) => ({ ...given, days: Number(next) })) as never, replace: true })
            }
          />
        }
      >
        {data.total.runs === 0 ? (
          <Empty title="No run ended in this time.">
            How its runs end, and how long they take, is shown here some ten seconds after each end.
          </Empty>
        ) : (
          <>
            <EndsChart stats={data} look={look} />
            <DurationChart stats={data} look={look} />
          </>
        )}
      </Card>
      <Card
        title="On which days its runs ended"
        aside={<span className="text-xs text-faint">days of UTC</span>}
      >
        <Calendar points={all.data.points} look={look} />
      </Card>
    </>
  );
}

function Figures({ total }: { total: Statistics["total"] }) {
  const over = total.succeeded + total.failed;
  const told = (seconds: number | null) => (seconds === null ? "–" : length(seconds));
  const figures = [
    ["Succeeded", over === 0 ? "–" : percent(total.succeeded / over)],
    ["Failed", number(total.failed)],
    ["Took on average", told(total.duration.mean)],
    ["Took at most", told(total.duration.max)],
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
