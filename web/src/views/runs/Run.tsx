/** One run: how it stands, its tasks, and what led to it. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { useTopics } from "~/api/live";
import { run as runQuery } from "~/api/queries";
import { Lasted, Moment } from "~/components/Moment";
import { Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { State } from "~/components/State";
import type { Task } from "~/generated/api";

const route = getRouteApi("/runs/$run");

const COLUMNS: readonly Column<Task>[] = [
  { name: "Task", width: "minmax(8rem, 2fr)", cell: (task) => <span className="font-medium">{task.name}</span> },
  { name: "State", width: "8rem", cell: (task) => <State of="task" state={task.state} /> },
  { name: "Attempt", width: "5rem", right: true, cell: (task) => `${task.attempt} / ${task.attempts_max}` },
  { name: "Queue", width: "7rem", wide: true, cell: (task) => task.queue },
  { name: "Worker", width: "9rem", wide: true, cell: (task) => task.worker },
  { name: "Started", width: "7rem", wide: true, cell: (task) => <Moment at={task.started_at} /> },
  { name: "Took", width: "6rem", right: true, cell: (task) => <Lasted from={task.started_at} to={task.finished_at} /> },
];

export default function Run() {
  const { run: id } = route.useParams();
  useTopics(`run:${id}`);
  const { data: run, error } = useQuery(runQuery(id));
  return (
    <Page
      title={run === undefined ? `Run ${id}` : `${run.dag} · ${id}`}
      crumbs={[{ name: "Runs", to: "/runs" }]}
      about={run && <State of="run" state={run.state} />}
    >
      {error !== null && <Trouble error={error} />}
      {run === undefined ? (
        error === null && <Loading />
      ) : (
        <Card title="Tasks" fill>
          <Rows label="Tasks" items={run.tasks} columns={COLUMNS} keyOf={(each) => each.id} />
        </Card>
      )}
    </Page>
  );
}
