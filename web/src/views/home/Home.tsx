/** What needs attention, what runs now, and what comes next. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";

import { useTopics } from "~/api/live";
import { comingFires, dags, jobs, lanes, letterGroups, runs, schedules, workers } from "~/api/queries";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows } from "~/components/Rows";
import { Badge } from "~/components/State";
import { useNow } from "~/lib/now";
import { length } from "~/lib/time";
import { brief } from "~/lib/words";
import { LastHour } from "~/views/home/LastHour";
import { mattersOf, type Matter } from "~/views/home/attention";
import { RUN_COLUMNS } from "~/views/runs/columns";
import { FireLine } from "~/views/schedules/FireLine";

const LINE_HOURS = 12;

export default function Home() {
  useTopics("dags", "runs", "queues", "workers");
  const now = useNow();
  const known = {
    dags: useQuery(dags()),
    letters: useQuery(letterGroups()),
    schedules: useQuery(schedules()),
    lanes: useQuery(lanes()),
    workers: useQuery(workers()),
  };
  const failedJobs = useInfiniteQuery(jobs({ status: "failed" }));
  const error = Object.values(known).find((each) => each.error !== null)?.error ?? null;
  const all = Object.values(known).every((each) => each.data !== undefined);
  const matters = mattersOf(
    {
      dags: known.dags.data ?? [],
      failedJobs: failedJobs.data?.pages[0]?.items ?? [],
      letters: known.letters.data ?? [],
      schedules: known.schedules.data ?? [],
      lanes: known.lanes.data ?? [],
      workers: known.workers.data ?? [],
    },
    now,
  );
  const waiting = known.lanes.data?.reduce((sum, each) => sum + each.ready, 0);
  const running = known.lanes.data?.reduce((sum, each) => sum + each.running, 0);
  const oldest = known.lanes.data?.reduce((most, each) => Math.max(most, each.oldest_seconds ?? 0), 0);
  return (
    <Page title="Home">
      <div className="grid shrink-0 grid-cols-4 gap-4 max-md:grid-cols-2">
        <Figure name="Tasks running" value={told(running)} to="/queues" />
        <Figure name="Tasks waiting" value={told(waiting)} to="/queues" />
        <Figure name="The oldest has waited" value={oldest === undefined ? "…" : length(Math.round(oldest))} to="/queues" />
        <Figure name="Workers" value={told(known.workers.data?.length)} to="/queues" search={{ tab: "workers" }} />
      </div>
      {error !== null && <Trouble error={error} />}
      <div className="grid shrink-0 grid-cols-2 gap-4 max-lg:grid-cols-1">
        <Card title="Needs attention">
          {!all ? (
            error === null && <Loading rows={3} />
          ) : matters.length === 0 ? (
            <Empty title="All is well.">Nothing fails, is late or stuck, and there are no dead letters.</Empty>
          ) : (
            <Matters matters={matters} />
          )}
        </Card>
        <Card title="Running now">
          <Running />
        </Card>
      </div>
      <Card title="The last hour">
        <LastHour />
      </Card>
      <Card title={`Next fires, ${LINE_HOURS} hours`} fill>
        <Coming />
      </Card>
    </Page>
  );
}

function told(count: number | undefined): string {
  return count === undefined ? "…" : brief(count);
}

function Figure({
  name,
  value,
  to,
  search,
}: {
  name: string;
  value: string;
  to: string;
  search?: Record<string, string>;
}) {
  return (
    <Link
      to={to}
      search={(search ?? {}) as never}
      className="flex flex-col-reverse rounded-lg border border-line bg-card px-4 py-3 hover:border-line-strong"
    >
      <span className="text-sm text-soft">{name}</span>
      <span className="text-2xl font-semibold">{value}</span>
    </Link>
  );
}

function Matters({ matters }: { matters: readonly Matter[] }) {
  return (
    <ul className="h-72 overflow-auto">
      {matters.map((each) => (
        <li key={each.kind + each.to + each.title}>
          <Link
            to={each.to}
            search={(each.search ?? {}) as never}
            className="flex items-start gap-3 border-b border-line/60 px-4 py-2.5 hover:bg-hover"
          >
            <span className="mt-0.5 w-26 shrink-0">
              <Badge tone={each.tone}>{each.kind}</Badge>
            </span>
            <span className="min-w-0">
              <span className="block truncate font-medium">{each.title}</span>
              <span className="block text-sm text-soft">{each.about}</span>
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

const NARROW_COLUMNS = RUN_COLUMNS.filter((each) => ["Run", "Dag", "State", "Took"].includes(each.name));

function Running() {
  const navigate = useNavigate();
  const { data, error } = useInfiniteQuery(runs({ state: "running" }));
  const items = data?.pages.flatMap((page) => page.items);
  if (error !== null) return <Trouble error={error} />;
  if (items === undefined) return <Loading rows={3} />;
  if (items.length === 0)
    return (
      <Empty title="Nothing runs.">
        <Link to="/dags" className="text-accent underline">
          Trigger a dag
        </Link>{" "}
        or{" "}
        <Link to="/jobs/new" className="text-accent underline">
          make a job
        </Link>
        , and its run appears here.
      </Empty>
    );
  return (
    <div className="h-72">
      <Rows
        label="Running now"
        items={items}
        columns={NARROW_COLUMNS}
        keyOf={(each) => each.id}
        open={(each) => void navigate({ to: "/runs/$run", params: { run: each.id } })}
      />
    </div>
  );
}

function Coming() {
  const { data, error } = useQuery(comingFires(LINE_HOURS));
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return <Loading rows={3} />;
  const coming = data.filter((each) => each.fires.length > 0);
  if (coming.length === 0)
    return (
      <Empty title={`Nothing fires within ${LINE_HOURS} hours.`}>
        <Link to="/schedules/new" className="text-accent underline">
          Make a schedule
        </Link>
        , and its fires are shown here.
      </Empty>
    );
  return <FireLine coming={coming} hours={LINE_HOURS} />;
}
