/** What can be done to a task: run it again, or close it by hand with a note. */

import { useState, type FormEvent } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Button } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Field, TextBox } from "~/components/Field";
import { Icon } from "~/components/Icon";
import { Menu } from "~/components/Menu";
import type { RunWhole, Task } from "~/generated/api";
import { TASK_FACTS } from "~/generated/states";
import { useRerun } from "~/views/runs/RunActions";
import { WhyToggle } from "~/views/why/WhyToggle";

type Marked = "succeeded" | "skipped";

export function TaskActions({ run, task, why }: { run: RunWhole; task: Task; why: boolean }) {
  const [marking, setMarking] = useState<Marked | null>(null);
  const again = useRerun(run.id);
  const closed = TASK_FACTS[task.state].closed;
  const markable = !closed || task.state === "failed";
  return (
    <>
      <WhyToggle open={why} />
      <Button disabled={!closed} busy={again.isPending} onClick={() => again.mutate({ tasks: [task.name] })}>
        <Icon name="again" /> Rerun from here
      </Button>
      <Menu
        label="More for this task"
        acts={[
          { name: "Mark as succeeded…", act: () => setMarking("succeeded"), disabled: !markable },
          { name: "Mark as skipped…", act: () => setMarking("skipped"), disabled: !markable },
        ]}
      />
      {marking !== null && <MarkTask run={run.id} task={task.name} state={marking} close={() => setMarking(null)} />}
    </>
  );
}

function MarkTask({ run, task, state, close }: { run: number; task: string; state: Marked; close: () => void }) {
  const [note, setNote] = useState("");
  const [result, setResult] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const deed = useDeed({
    act: (value: unknown) => ask("mark", { parts: { run, task }, body: { state, note, result: value } }),
    done: () => `${task} was marked as ${state}.`,
    changes: [["run", run], ["runs"], ["why"]],
  });
  const mark = (event: FormEvent) => {
    event.preventDefault();
    let value: unknown = null;
    try {
      if (result.trim() !== "") value = JSON.parse(result);
    } catch {
      setWrong('This is not JSON. Texts stand in quotes: "done".');
      return;
    }
    deed.mutate(value, { onSuccess: close });
  };
  return (
    <Dialog
      title={`Mark ${task} as ${state}`}
      about="What comes after it goes on as if it had ended so. If it runs, it is stopped."
      close={close}
    >
      <form onSubmit={mark} className="flex flex-col gap-4 p-5">
        <Field label="Note" about="Why; it is kept with the run.">
          <TextBox required autoFocus value={note} onChange={(event) => setNote(event.target.value)} />
        </Field>
        {state === "succeeded" && (
          <Field label="Result" about="JSON, for the tasks that use it; may be left empty." error={wrong}>
            <TextBox value={result} onChange={(event) => setResult(event.target.value)} className="mono" />
          </Field>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Keep it as it is</Button>
          <Button look="main" type="submit" busy={deed.isPending}>
            Mark it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
