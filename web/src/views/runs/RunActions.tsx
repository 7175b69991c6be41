/** What can be done to a run: again, in part or as a whole, on newer code; or no further. */

import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Button } from "~/components/Button";
import { Confirm, Dialog } from "~/components/Dialog";
import { Search } from "~/components/Field";
import { Icon } from "~/components/Icon";
import { Menu } from "~/components/Menu";
import { Rows, type Column } from "~/components/Rows";
import { State } from "~/components/State";
import type { Rerun, RunWhole, Task } from "~/generated/api";
import { RUN_FACTS } from "~/generated/states";
import { counted } from "~/lib/words";
import { countsOf } from "~/views/runs/moves";
import { WhyToggle } from "~/views/why/WhyToggle";

export function RunActions({ run, why }: { run: RunWhole; why: boolean }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<"cancel" | "task" | null>(null);
  const closed = RUN_FACTS[run.state].closed;
  const counts = countsOf(run);
  const failed = (["failed", "cancelled", "upstream_failed"] as const).some((state) => counts.has(state));
  const again = useRerun(run.id);
  const latest = useDeed({
    act: () => ask("rerun_latest", { parts: { run: run.id } }),
    done: (made) => `Run ${made.id} was made, on version ${made.version}.`,
    changes: [["runs"], ["run", run.id]],
  });
  const cancel = useDeed({
    act: () => ask("cancel_run", { parts: { run: run.id }, body: {} }),
    done: (told) =>
      told.asked_to_stop === 0 ? "The run was cancelled." : `${counted(told.asked_to_stop, "task")} were asked to stop.`,
    changes: [["run", run.id], ["runs"], ["why"]],
  });
  return (
    <>
      <WhyToggle open={why} />
      {!closed && (
        <Button look="danger" onClick={() => setAsking("cancel")} disabled={run.stop !== null}>
          {run.stop === null ? "Cancel" : "Stopping…"}
        </Button>
      )}
      <Menu
        label="Rerun"
        acts={[
          { name: "What failed", act: () => again.mutate({}), disabled: !failed },
          { name: "From a task…", act: () => setAsking("task") },
          { name: "All tasks", act: () => again.mutate({ all: true }) },
          {
            name: "On the latest version, as a new run",
            act: () =>
              latest.mutate(undefined, {
                onSuccess: (made) => void navigate({ to: "/runs/$run", params: { run: made.id } }),
              }),
          },
        ]}
      >
        <Icon name="again" /> Rerun <Icon name="down" size={12} />
      </Menu>
      {asking === "cancel" && (
        <Confirm
          title={`Cancel run ${run.id}?`}
          about="What runs is asked to end, and what waits never starts. A rerun can take it up again."
          verb="Cancel the run"
          act={() => cancel.mutateAsync()}
          close={() => setAsking(null)}
        />
      )}
      {asking === "task" && (
        <ChooseTask run={run} choose={(task) => again.mutate({ tasks: [task] })} close={() => setAsking(null)} />
      )}
    </>
  );
}

export function useRerun(run: number) {
  return useDeed({
    act: (which: Rerun) => ask("rerun_run", { parts: { run }, body: which }),
    done: (told) => `${counted(told.reopened.length, "task")} of run ${told.id} will run again.`,
    changes: [["run", run], ["runs"], ["why"]],
  });
}

const COLUMNS: readonly Column<Task>[] = [
  { name: "Task", width: "minmax(8rem, 1fr)", cell: (task) => <span className="font-medium">{task.name}</span> },
  { name: "State", width: "9rem", cell: (task) => <State of="task" state={task.state} /> },
];

function ChooseTask({ run, choose, close }: { run: RunWhole; choose: (task: string) => void; close: () => void }) {
  const [text, setText] = useState("");
  const shown = run.tasks.filter((task) => task.name.toLowerCase().includes(text.toLowerCase()));
  return (
    <Dialog title="Rerun from a task" about="It and all that comes after it run again, in this run." close={close}>
      <div className="flex h-96 flex-col">
        <div className="p-3">
          <Search label="Search tasks" value={text} change={setText} />
        </div>
        <div className="min-h-0 flex-1">
          <Rows
            label="Tasks to begin with"
            items={shown}
            columns={COLUMNS}
            keyOf={(task) => task.id}
            open={(task) => {
              choose(task.name);
              close();
            }}
          />
        </div>
      </div>
    </Dialog>
  );
}
