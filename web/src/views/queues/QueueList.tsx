/** Queues: how many tasks wait, how long the first has waited, how many run and end. */

import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Button } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Field, TextBox } from "~/components/Field";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Lane } from "~/generated/api";
import { length } from "~/lib/time";
import { number, rate } from "~/lib/words";
import { queuesOf, type Queue } from "~/views/queues/whole";

export function QueueList({ lanes, error }: { lanes: readonly Lane[] | undefined; error: unknown }) {
  const [pausing, setPausing] = useState<string | null>(null);
  const resume = useDeed({
    act: (queue: string) => ask("resume_queue", { parts: { queue } }),
    done: (_, queue) => `Queue ${queue} goes on.`,
    changes: [["lanes"], ["queue"]],
    meanwhile: {
      key: ["lanes"],
      change: (before: readonly Lane[], queue) =>
        before.map((each) => (each.queue === queue ? { ...each, pause: null } : each)),
    },
  });
  const columns: readonly Column<Queue>[] = [
    {
      name: "Queue",
      width: "minmax(4.25rem, 2fr)",
      cell: (queue) => (
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{queue.name}</span>
          {queue.pause !== null && (
            <Badge tone="warn" title={queue.pause.note ?? "Nothing of it is handed to workers."}>
              Paused
            </Badge>
          )}
        </span>
      ),
    },
    {
      name: "Kinds at work",
      width: "minmax(6rem, 1fr)",
      wide: true,
      cell: (queue) => <span className="text-soft">{queue.busy.length === 0 ? "–" : queue.busy.join(", ")}</span>,
    },
    {
      name: "Waiting",
      width: "4rem",
      right: true,
      cell: (queue) => (
        <span title={queue.aside > 0 ? `${number(queue.aside)} more stand aside, of dags that are paused` : undefined}>
          {number(queue.ready)}
          {queue.aside > 0 && <span className="text-faint"> +{number(queue.aside)}</span>}
        </span>
      ),
    },
    {
      name: "Oldest",
      width: "6rem",
      right: true,
      wide: true,
      cell: (queue) => (queue.oldestSeconds === null ? "–" : length(Math.round(queue.oldestSeconds))),
    },
    { name: "Running", width: "4rem", right: true, cell: (queue) => number(queue.running) },
    {
      name: "Rate",
      width: "4.5rem",
      right: true,
      wide: true,
      cell: (queue) =>
        queue.perSecond === 0 ? (
          <span className="text-faint">–</span>
        ) : (
          <span title="Attempts that ended, over some ten seconds, as its workers tell.">{rate(queue.perSecond)}</span>
        ),
    },
    {
      name: "Workers",
      width: "5rem",
      right: true,
      wide: true,
      cell: (queue) =>
        queue.unserved.length === 0 ? (
          number(queue.workers)
        ) : (
          <Badge tone="bad" title={`Nobody takes what is ${queue.unserved.join(" or ")}.`}>
            None
          </Badge>
        ),
    },
    {
      name: "Pause",
      head: <span className="sr-only">Pause</span>,
      width: "5.5rem",
      right: true,
      cell: (queue) =>
        queue.pause === null ? (
          <Button aria-label={`Pause ${queue.name}`} onClick={() => setPausing(queue.name)}>
            Pause
          </Button>
        ) : (
          <Button aria-label={`Resume ${queue.name}`} onClick={() => resume.mutate(queue.name)}>
            Resume
          </Button>
        ),
    },
  ];
  if (error !== null) return <Trouble error={error} />;
  if (lanes === undefined) return <Loading />;
  if (lanes.length === 0)
    return (
      <Empty title="Nothing waits, and nothing runs.">
        A queue shows up here as soon as a task is ready for it. A task says its queue with{" "}
        <code className="mono">@task(queue="mail")</code>.
      </Empty>
    );
  return (
    <>
      <Rows label="Queues" items={queuesOf(lanes)} columns={columns} keyOf={(each) => each.name} rowHeight={48} />
      {pausing !== null && <PauseQueue queue={pausing} close={() => setPausing(null)} />}
    </>
  );
}

function PauseQueue({ queue, close }: { queue: string; close: () => void }) {
  const [note, setNote] = useState("");
  const pause = useDeed({
    act: () => ask("pause_queue", { parts: { queue }, body: { note: note || null } }),
    done: () => `Queue ${queue} is held.`,
    changes: [["lanes"], ["queue"]],
  });
  return (
    <Dialog
      title={`Pause queue ${queue}?`}
      about="Nothing of it is handed to a worker until it is resumed. What runs goes on."
      close={close}
    >
      <form
        className="flex flex-col gap-4 p-5"
        onSubmit={(event) => {
          event.preventDefault();
          pause.mutate(undefined, { onSuccess: close });
        }}
      >
        <Field label="Note" about="Why, for those who will wonder.">
          <TextBox autoFocus value={note} maxLength={1000} onChange={(event) => setNote(event.target.value)} />
        </Field>
        {pause.error !== null && <Trouble error={pause.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Let it run</Button>
          <Button look="main" type="submit" busy={pause.isPending}>
            Pause it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
