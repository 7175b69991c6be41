/** Living workers, how much of each kind they have in hand, and letting one drain. */

import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Bar } from "~/components/Bar";
import { Button } from "~/components/Button";
import { Confirm } from "~/components/Dialog";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Worker } from "~/generated/api";
import { number, rate } from "~/lib/words";

const COLUMNS: readonly Column<Worker>[] = [
  {
    name: "Worker",
    width: "minmax(7.5rem, 2fr)",
    cell: (worker) => (
      // One below the other: beside its standing a name would be cut off where there is little room.
      <span className="flex min-w-0 flex-col items-start gap-1 py-1">
        <span className="max-w-full truncate font-medium" title={`${worker.host}, process ${worker.pid}`}>
          {worker.name}
        </span>
        <Standing worker={worker} />
      </span>
    ),
  },
  { name: "In hand", width: "minmax(5rem, 3fr)", cell: (worker) => <Slots worker={worker} /> },
  {
    name: "Queues",
    width: "minmax(6rem, 1fr)",
    wide: true,
    cell: (worker) => <span className="text-soft">{worker.queues.includes("*") ? "all" : worker.queues.join(", ")}</span>,
  },
  {
    name: "Rate",
    width: "4.5rem",
    right: true,
    wide: true,
    cell: (worker) => (worker.per_second === 0 ? <span className="text-faint">–</span> : rate(worker.per_second)),
  },
  { name: "Host", width: "minmax(6rem, 1fr)", wide: true, cell: (worker) => <span className="text-soft">{worker.host}</span> },
  { name: "Started", width: "6rem", wide: true, cell: (worker) => <Moment at={worker.started_at} /> },
  { name: "Heard of", width: "6rem", wide: true, cell: (worker) => <Moment at={worker.renewed_at} /> },
];

export function Workers({ workers, error }: { workers: readonly Worker[] | undefined; error: unknown }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<Worker | null>(null);
  const drain = useDeed({
    act: (worker: Worker) => ask("drain_worker", { parts: { worker: String(worker.id) }, body: {} }),
    done: (_, worker) => `${worker.name} takes nothing new.`,
    changes: [["workers"], ["lanes"]],
    meanwhile: {
      key: ["workers"],
      change: (before: readonly Worker[], worker) =>
        changed(before, worker, { draining: true, drain: { then: "stay", at: new Date().toISOString(), by: null, note: null } }),
    },
  });
  const resume = useDeed({
    act: (worker: Worker) => ask("resume_worker", { parts: { worker: String(worker.id) } }),
    done: (_, worker) => `${worker.name} goes on.`,
    changes: [["workers"], ["lanes"]],
    meanwhile: {
      key: ["workers"],
      change: (before: readonly Worker[], worker) => changed(before, worker, { draining: false, drain: null }),
    },
  });
  const columns: readonly Column<Worker>[] = [
    ...COLUMNS,
    {
      name: "Drain",
      head: <span className="sr-only">Drain</span>,
      width: "5.25rem",
      right: true,
      cell: (worker) =>
        worker.drain !== null ? (
          <Button aria-label={`Resume ${worker.name}`} onClick={() => resume.mutate(worker)}>
            Resume
          </Button>
        ) : worker.draining ? null : (
          <Button aria-label={`Drain ${worker.name}`} onClick={() => setAsking(worker)}>
            Drain
          </Button>
        ),
    },
  ];
  if (error !== null) return <Trouble error={error} />;
  if (workers === undefined) return <Loading />;
  if (workers.length === 0)
    return (
      <Empty title="No worker lives.">
        Nothing runs until there is one. Start it with <code className="mono">mainspring worker</code>.
      </Empty>
    );
  return (
    <>
      <Rows
        label="Workers"
        items={workers}
        columns={columns}
        keyOf={(each) => each.id}
        open={(each) =>
          void navigate({ to: "/queues", search: { tab: "workers", worker: each.id }, replace: true })
        }
        rowHeight={60}
      />
      {asking !== null && (
        <Confirm
          title={`Drain ${asking.name}?`}
          about="It finishes what it runs, and is given nothing more until it is resumed. What it has not begun goes to others."
          verb="Drain it"
          act={() => drain.mutateAsync(asking)}
          close={() => setAsking(null)}
        />
      )}
    </>
  );
}

function changed(before: readonly Worker[], worker: Worker, change: Partial<Worker>): readonly Worker[] {
  return before.map((each) => (each.id === worker.id ? { ...each, ...change } : each));
}

function Standing({ worker }: { worker: Worker }) {
  if (worker.overdue)
    return (
      <Badge tone="bad" title="It was not heard of for longer than its lease; an engine is about to take its tasks back.">
        Silent
      </Badge>
    );
  if (worker.draining) {
    const left = Object.values(worker.running).reduce((sum, each) => sum + each, 0);
    return (
      <Badge tone="warn" title={whyDraining(worker)}>
        {`Draining, ${number(left)} left`}
      </Badge>
    );
  }
  return null;
}

function whyDraining({ drain }: Worker): string {
  if (drain === null) return "It takes nothing new, and ends when what it has in hand is done.";
  const then = drain.then === "stop" ? "ends when nothing is left" : "stays until it is resumed";
  const by = drain.by === null ? "" : ` ${drain.by} wanted so${drain.note === null ? "." : `: ${drain.note}`}`;
  return `It takes nothing new, and ${then}.${by}`;
}

function Slots({ worker }: { worker: Worker }) {
  const kinds = Object.entries(worker.slots)
    .filter(([, slots]) => slots > 0)
    .map(([kind, slots]) => ({ kind, slots, busy: worker.running[kind] ?? 0 }))
    .sort((a, b) => b.busy / b.slots - a.busy / a.slots);
  const told = kinds.map(({ kind, busy, slots }) => `${kind} ${busy}/${slots}`).join(" · ");
  // The fullest kind: a thousand idle slots of another would hide that it takes nothing more.
  const fullest = kinds[0];
  return (
    <div className="flex flex-col gap-1 py-1">
      {fullest !== undefined && (
        <Bar
          label={`Slots of ${worker.name}`}
          of={fullest.slots}
          parts={[{ tone: "active", count: fullest.busy, name: `${fullest.kind} running` }]}
        />
      )}
      <span className="truncate text-xs text-soft" title={told}>
        {told}
      </span>
    </div>
  );
}
