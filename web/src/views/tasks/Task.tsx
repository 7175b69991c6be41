/** One task of a run: what it wrote, how its attempts went, what it was given and what it returned. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { task as taskQuery } from "~/api/queries";
import { Choice } from "~/components/Field";
import { Took } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { State } from "~/components/State";
import { Tabs } from "~/components/Tabs";
import type { Attempt, Task as TaskOf } from "~/generated/api";
import { ATTEMPT_FACTS, TASK_FACTS } from "~/generated/states";
import { isWhole } from "~/views/runs/whole";
import { useRun } from "~/views/runs/useRun";
import { Attempts } from "~/views/tasks/Attempts";
import { ErrorOf } from "~/views/tasks/ErrorOf";
import { Data } from "~/views/tasks/Data";
import { Log } from "~/views/tasks/Log";
import { TaskActions } from "~/views/tasks/TaskActions";
import { Why } from "~/views/why/Why";

const route = getRouteApi("/runs/$run/tasks/$task");

export default function Task() {
  const { run: id, task: name } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: run, error } = useRun(id);
  const known = run?.tasks.find((each) => each.name === name);
  const some = run === undefined || !isWhole(run);
  const alone = useQuery({ ...taskQuery(id, name), enabled: some && known === undefined });
  const task = known ?? (some ? alone.data : undefined);
  const attempt = task?.attempts.find((each) => each.term === search.term) ?? task?.attempts.at(-1);
  // Whoever looks at what waits or failed wants to know; of the rest it can be asked.
  const why = search.why ?? (task !== undefined && task.state !== "succeeded" && task.state !== "running");
  return (
    <Page
      title={name}
      crumbs={[
        { name: "Runs", to: "/runs" },
        { name: run === undefined ? `Run ${id}` : `${run.dag} · ${id}`, to: `/runs/${id}` },
      ]}
      about={task && <About task={task} />}
      actions={run && task && <TaskActions run={run} task={task} why={why} />}
    >
      {error !== null && <Trouble error={error} />}
      {run === undefined ? (
        error === null && <Loading />
      ) : task === undefined && some && alone.error === null ? (
        <Loading />
      ) : task === undefined ? (
        <Empty title={`Run ${id} has no task ${name}.`}>
          <Link to="/runs/$run" params={{ run: id }} className="text-accent underline">
            See its tasks
          </Link>
        </Empty>
      ) : (
        <>
          {task.progress !== null && task.state === "running" && <Progress task={task} />}
          {why && <Why run={id} task={name} />}
          <div className="flex shrink-0 flex-wrap items-end justify-between gap-x-4">
            <div className="min-w-0 flex-1">
              <Tabs
                label="Faces of the task"
                chosen={search.tab ?? "log"}
                tabs={[
                  { name: "Log", value: "log" },
                  { name: "Attempts", value: "attempts", count: task.attempts.length },
                  { name: "Inputs and result", value: "data" },
                ]}
              />
            </div>
            {task.attempts.length > 1 && (search.tab ?? "log") === "log" && (
              <Choice
                label="Attempt"
                value={String(attempt?.term)}
                options={task.attempts.map((each) => [String(each.term), nameOf(each, task)] as const)}
                choose={(term) =>
                  void navigate({ search: ({ at: _, ...before }) => ({ ...before, term: Number(term) }), replace: true })
                }
              />
            )}
          </div>
          {search.tab === "attempts" ? (
            <Attempts run={id} task={task} />
          ) : search.tab === "data" ? (
            <Data run={run} task={task} />
          ) : (
            <Card fill>
              {attempt?.error != null && <ErrorOf error={attempt.error} />}
              {attempt === undefined ? (
                <Empty title="It has not begun.">Its log appears here as soon as a worker runs it.</Empty>
              ) : (
                <Log
                  key={attempt.term}
                  log={{ run: id, task: name, attempt: attempt.attempt, term: attempt.term }}
                  place={search}
                  atEnd={attempt.state !== "succeeded"}
                />
              )}
            </Card>
          )}
        </>
      )}
    </Page>
  );
}

function About({ task }: { task: TaskOf }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <State of="task" state={task.state} />
      <span>
        attempt {task.attempt} of {task.attempts_max}
      </span>
      {task.started_at !== null && (
        <span>
          {TASK_FACTS[task.state].closed ? "took " : "for "}
          <Took of={task} />
        </span>
      )}
      {task.worker !== null && <span>on {task.worker}</span>}
      <span>queue {task.queue}</span>
      {task.stop !== null && !TASK_FACTS[task.state].closed && <span>asked to stop</span>}
    </div>
  );
}

function Progress({ task }: { task: TaskOf }) {
  const { percent, text } = task.progress!;
  return (
    <div className="flex shrink-0 items-center gap-3">
      <div
        role="progressbar"
        aria-label="Progress"
        aria-valuenow={Math.round(percent)}
        data-tone="active"
        className="h-2 flex-1 overflow-hidden rounded-full bg-sunken"
      >
        <div className="h-full bg-tone-solid transition-[width]" style={{ width: `${percent}%` }} />
      </div>
      <span className="text-sm whitespace-nowrap text-soft">
        {Math.round(percent)} %{text !== null && `, ${text}`}
      </span>
    </div>
  );
}

function nameOf(attempt: Attempt, task: TaskOf): string {
  const again = task.generation > 1 ? `, round ${attempt.generation}` : "";
  return `Attempt ${attempt.attempt}${again}: ${ATTEMPT_FACTS[attempt.state].label.toLowerCase()}`;
}
