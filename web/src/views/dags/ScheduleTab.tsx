/** When a dag runs: in words, the next fires with what clocks do to them, and what a change would do. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { scheduleAhead, type DagHead } from "~/api/queries";
import { useTopics } from "~/api/live";
import { Facts } from "~/components/Facts";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Badge } from "~/components/State";
import type { PreviewFire, ScheduleDocument } from "~/generated/api";
import { dateAndTime, offset } from "~/lib/time";
import { counted, number } from "~/lib/words";
import { WhatIf } from "~/views/dags/schedule/WhatIf";

export default function ScheduleTab({ dag, chosen }: { dag: DagHead; chosen: string | undefined }) {
  useTopics("dags");
  if (dag.schedules.length === 0) {
    return (
      <Card>
        <Empty title="It runs only when it is triggered.">
          Give it a schedule in its file, such as{" "}
          <code className="mono">@dag(schedule="0 6 * * *", timezone="Europe/Berlin")</code>, or make one under{" "}
          <Link to={"/schedules" as string} className="text-accent underline">
            Schedules
          </Link>
          .
        </Empty>
      </Card>
    );
  }
  const name = dag.schedules.find((each) => each.name === chosen)?.name ?? dag.schedules[0]!.name;
  return (
    <>
      {dag.schedules.length > 1 && (
        <nav aria-label="Schedules" className="flex shrink-0 flex-wrap gap-2">
          {dag.schedules.map((each) => (
            <Link
              key={each.name}
              to="."
              search={((before: object) => ({ ...before, schedule: each.name })) as never}
              replace
              aria-current={each.name === name ? "page" : undefined}
              className={`rounded-full border px-3 py-1 text-sm ${
                each.name === name ? "border-accent bg-accent-wash" : "border-line bg-card text-soft hover:text-ink"
              }`}
            >
              {each.name}
            </Link>
          ))}
        </nav>
      )}
      <One key={name} name={name} />
    </>
  );
}

function One({ name }: { name: string }) {
  const { data: told, error } = useQuery(scheduleAhead(name));
  if (error !== null) return <Trouble error={error} />;
  if (told === undefined) return <Loading />;
  const data = told.schedule;
  return (
    <div className="grid shrink-0 grid-cols-2 gap-4 max-lg:grid-cols-1">
      <Card title={name} aside={data.pause !== null || data.dag_paused ? <Badge tone="warn">Paused</Badge> : undefined}>
        <p className="px-4 pt-3 text-lg">{data.words}</p>
        <Facts
          facts={[
            ["Time zone", data.spec.timezone ?? "UTC"],
            ["Fired", counted(data.fired, "time")],
            ["Last fire", <Moment key="last" at={data.last_fire_at} />],
            ["Where it is written", data.in_code ? "in the dag's file" : "here, by hand"],
            ...(data.failures > 0 ? [["Failures in a row", number(data.failures)] as const] : []),
            ...(data.note ? [["Note", data.note] as const] : []),
          ]}
        />
        {data.problems.map((each) => (
          <p key={each} data-tone="warn" className="mx-4 mb-3 rounded-md bg-tone-wash px-3 py-2 text-sm text-tone-text">
            {each}
          </p>
        ))}
      </Card>
      <NextFires of={data} ahead={told.ahead} />
      <div className="col-span-full">
        <WhatIf of={data} />
      </div>
    </div>
  );
}

function NextFires({ of, ahead }: { of: ScheduleDocument; ahead: readonly PreviewFire[] }) {
  const zone = of.spec.timezone ?? "UTC";
  return (
    <Card title="Next fires" aside={<span className="text-xs text-faint">{zone}</span>}>
      {ahead.length === 0 ? (
        <Empty title="None are to come.">{of.pause === null ? "Its time is over." : "It is paused."}</Empty>
      ) : (
        <ol tabIndex={0} aria-label="Fires" className="max-h-80 overflow-auto py-1.5">
          {ahead.map((each) => (
            <li key={each.fire_at} className="flex flex-wrap items-baseline justify-between gap-x-4 px-4 py-1 text-sm">
              <span className="mono">
                {dateAndTime(new Date(each.fire_at), zone)}{" "}
                <span className="text-faint">{offset(new Date(each.fire_at), zone)}</span>
              </span>
              <span className="text-soft">
                <Moment at={each.fire_at} />
              </span>
              {each.note !== null && (
                <span data-tone="warn" className="w-full text-xs text-tone-text">
                  {each.note}
                </span>
              )}
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
