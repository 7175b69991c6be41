/** The tasks of a run, by name and state. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { Choice, Search } from "~/components/Field";
import { Moment, Took } from "~/components/Moment";
import { Empty, Loading } from "~/components/Notice";
import { Rows, type Column } from "~/components/Rows";
import { State } from "~/components/State";
import type { RunWhole, Task } from "~/generated/api";
import { TASK_FACTS, TASK_STATES, type TaskState } from "~/generated/states";
import { countsOf } from "~/views/runs/moves";
import { isWhole } from "~/views/runs/whole";

export interface TaskFilter {
  readonly text?: string | undefined;
  readonly state?: TaskState | undefined;
}

export function TaskList({ run, filter }: { run: RunWhole; filter: TaskFilter }) {
  const navigate = useNavigate();
  const { text = "", state } = filter;
  const columns = useMemo(() => columnsOf(run.id), [run.id]);
  const shown = run.tasks.filter(
    (task) =>
      (state === undefined || task.state === state) && task.name.toLowerCase().includes(text.toLowerCase()),
  );
  const counts = useMemo(() => countsOf(run), [run]);
  const set = (change: TaskFilter) =>
    void navigate({ to: ".", search: ((before: object) => ({ ...before, ...change })) as never, replace: true });
  return (
    <>
      <div className="flex flex-wrap gap-2 border-b border-line px-3 py-2">
        <Search label="Search tasks" value={text} change={(next) => set({ text: next || undefined })} />
        <Choice
          label="State of tasks"
          value={state ?? ""}
          options={[
            ["", "All states"],
            ...TASK_STATES.filter((each) => each === state || counts.has(each)).map(
              (each) => [each, `${TASK_FACTS[each].label} (${counts.get(each) ?? 0})`] as const,
            ),
          ]}
          choose={(next) => set({ state: TASK_STATES.find((each) => each === next) })}
        />
      </div>
      {shown.length === 0 && !isWhole(run) ? (
        <Loading />
      ) : shown.length === 0 ? (
        <Empty title="No task fits.">Search for less, or choose all states.</Empty>
      ) : (
        <Rows
          label="Tasks"
          items={shown}
          columns={columns}
          keyOf={(task) => task.id}
          open={(task) => void navigate({ to: "/runs/$run/tasks/$task", params: { run: run.id, task: task.name } })}
        />
      )}
    </>
  );
}

function columnsOf(run: number): readonly Column<Task>[] {
  return [
    {
      name: "Task",
      width: "minmax(6rem, 2fr)",
      cell: (task) => (
        <Link to="/runs/$run/tasks/$task" params={{ run, task: task.name }} className="font-medium hover:text-accent hover:underline">
          {task.name}
        </Link>
      ),
    },
    { name: "State", width: "8.5rem", cell: (task) => <State of="task" state={task.state} /> },
    { name: "What", width: "minmax(6rem, 3fr)", wide: true, cell: (task) => <What task={task} /> },
    { name: "Attempt", width: "5rem", right: true, wide: true, cell: (task) => `${task.attempt} / ${task.attempts_max}` },
    { name: "Queue", width: "6rem", wide: true, cell: (task) => <span className="text-soft">{task.queue}</span> },
    { name: "Started", width: "6rem", wide: true, cell: (task) => <Moment at={task.started_at} /> },
    { name: "Took", width: "4rem", right: true, cell: (task) => <Took of={task} /> },
  ];
}

/** The most telling thing about a task: its error, how far it is, what it waits for. */
function What({ task }: { task: Task }) {
  if (task.error !== null && task.state !== "succeeded") {
    return (
      <span data-tone="bad" className="text-tone-text" title={task.error.message}>
        {task.error.type}: {task.error.message}
      </span>
    );
  }
  if (task.progress !== null && task.state === "running") {
    return (
      <span className="text-soft">
        {Math.round(task.progress.percent)} %{task.progress.text !== null && `, ${task.progress.text}`}
      </span>
    );
  }
  if (task.state === "waiting" && task.after.length > 0) {
    return <span className="text-faint">after {task.after.slice(0, 3).join(", ")}{task.after.length > 3 && " …"}</span>;
  }
  if (task.state === "backoff") {
    return (
      <span className="text-soft">
        next try <Moment at={task.due_at} />
      </span>
    );
  }
  return null;
}
