/** What a task could use, and what it returned. */

import { Link } from "@tanstack/react-router";

import { Facts, Json } from "~/components/Facts";
import { Card } from "~/components/Page";
import type { RunWhole, Task } from "~/generated/api";
import { bytes } from "~/lib/words";

export function Data({ run, task }: { run: RunWhole; task: Task }) {
  const before = run.tasks.filter((each) => task.after.includes(each.name));
  return (
    <>
      <Card title="Result" aside={task.result_bytes !== null && <span className="text-xs text-faint">{bytes(task.result_bytes)}</span>}>
        <Value task={task} empty={task.state === "succeeded" ? "It returned nothing." : "It has no result."} />
      </Card>
      <Card title="Parameters of the run">
        <Json value={run.parameters} />
      </Card>
      {before.map((each) => (
        <Card
          key={each.id}
          title={`Result of ${each.name}`}
          aside={
            <Link
              to="/runs/$run/tasks/$task"
              params={{ run: run.id, task: each.name }}
              search={{ tab: "data" }}
              className="text-sm text-accent hover:underline"
            >
              Go there
            </Link>
          }
        >
          <Value task={each} empty="It returned nothing yet." />
        </Card>
      ))}
      <Card title="Settings">
        <Facts
          facts={[
            ["Queue", task.queue],
            ["Slot kind", task.kind],
            ["Priority", task.priority],
            ["Attempts", `${task.attempt} of ${task.attempts_max}`],
            ["Lost", task.lost],
            ["After", task.after.length === 0 ? "nothing: it begins the run" : task.after.join(", ")],
          ]}
        />
      </Card>
    </>
  );
}

function Value({ task, empty }: { task: Task; empty: string }) {
  if (task.result !== null) return <Json value={task.result} />;
  if (task.result_bytes !== null && task.result_bytes > 4) {
    return <p className="px-4 py-3 text-soft">It is too large to be shown: {bytes(task.result_bytes)}.</p>;
  }
  return <p className="px-4 py-3 text-soft">{empty}</p>;
}
