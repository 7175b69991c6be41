/** One run: how it stands, its tasks, their times, and what led to it. */

import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect } from "react";

import { Facts, Json } from "~/components/Facts";
import { Moment } from "~/components/Moment";
import { Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Tabs } from "~/components/Tabs";
import type { RunWhole } from "~/generated/api";
import { whenIdle } from "~/lib/idle";
import { FACES } from "~/views/dags/faces";
import { Compare } from "~/views/runs/Compare";
import { Gantt } from "~/views/runs/Gantt";
import { History } from "~/views/runs/History";
import { RunActions } from "~/views/runs/RunActions";
import { Began, RunFacts, RunProgress } from "~/views/runs/RunFacts";
import { TaskList } from "~/views/runs/TaskList";
import { isWhole } from "~/views/runs/whole";
import { useRun } from "~/views/runs/useRun";
import { Why } from "~/views/why/Why";

const route = getRouteApi("/runs/$run");

export default function Run() {
  const { run: id } = route.useParams();
  const search = route.useSearch();
  const { data: run, error } = useRun(id);
  useEffect(() => whenIdle(() => void FACES.graph.load()), []);
  return (
    <Page
      title={run === undefined ? `Run ${id}` : `${run.dag} · ${id}`}
      crumbs={[
        { name: "Runs", to: "/runs" },
        ...(run === undefined ? [] : [{ name: run.dag, to: `/dags/${encodeURIComponent(run.dag)}` }]),
      ]}
      about={run && <RunFacts run={run} />}
      actions={run && <RunActions run={run} why={search.why ?? false} />}
    >
      {error !== null && <Trouble error={error} />}
      {run === undefined ? (
        error === null && <Loading />
      ) : (
        <>
          <RunProgress run={run} />
          {search.why && <Why run={id} />}
          {run.error !== null && run.state === "failed" && <Failure run={run} />}
          <Tabs
            label="Faces of the run"
            chosen={search.tab ?? "tasks"}
            tabs={[
              { name: "Tasks", value: "tasks", count: run.task_count },
              { name: "Times", value: "times" },
              { name: "Graph", value: "graph" },
              { name: "History", value: "history" },
              { name: "Compare", value: "compare" },
              { name: "Details", value: "details" },
            ]}
          />
          <Face run={run} search={search} />
        </>
      )}
    </Page>
  );
}

function Face({ run, search }: { run: RunWhole; search: ReturnType<typeof route.useSearch> }) {
  switch (search.tab) {
    // Times and history are of all tasks, or they would jump as more of them come.
    case "times":
      return <Card fill>{isWhole(run) ? <Gantt run={run} /> : <Loading rows={8} />}</Card>;
    case "graph":
      return <FACES.graph dag={run.dag} search={{ run: run.id, open: search.open }} fixed />;
    case "history":
      return <Card fill>{isWhole(run) ? <History run={run} /> : <Loading rows={8} />}</Card>;
    case "compare":
      return <Card fill><Compare run={run} other={search.with} /></Card>;
    case "details":
      return <Details run={run} />;
    default:
      return <Card fill><TaskList run={run} filter={search} /></Card>;
  }
}

/** The first thing somebody wants to know who opens a failed run. */
function Failure({ run }: { run: RunWhole }) {
  return (
    <div data-tone="bad" className="flex shrink-0 flex-wrap items-baseline gap-x-3 gap-y-1 rounded-lg border border-tone-solid/40 bg-tone-wash px-4 py-2.5">
      {run.failed_task !== null && <span className="font-medium text-tone-text">{run.failed_task} failed</span>}
      <span className="mono min-w-0 flex-1 truncate" title={run.error!.message}>
        {run.error!.type}: {run.error!.message}
      </span>
      {run.failed_task !== null && (
        <Link
          to="/runs/$run/tasks/$task"
          params={{ run: run.id, task: run.failed_task }}
          className="text-sm whitespace-nowrap text-accent hover:underline"
        >
          Read its log
        </Link>
      )}
    </div>
  );
}

function Details({ run }: { run: RunWhole }) {
  return (
    <>
      <Card title="Parameters">
        <Json value={run.parameters} />
      </Card>
      <Card title="Facts">
        <Facts
          facts={[
            ["Began", <Began run={run} />],
            ["Made", <Moment at={run.created_at} exact />],
            ["Due", <Moment at={run.due_at} exact />],
            ["Fire", <Moment at={run.fire_at} exact />],
            ["Data interval", run.data_interval === null ? "–" : <><Moment at={run.data_interval.start} exact /> to <Moment at={run.data_interval.end} exact /></>],
            ["Started", <Moment at={run.started_at} exact />],
            ["Finished", <Moment at={run.finished_at} exact />],
            ["Version", run.version],
            ["Code", <code className="mono">{run.snapshot}</code>],
          ]}
        />
      </Card>
    </>
  );
}
