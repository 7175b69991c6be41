/** Living workers, and how much of each kind they have in hand. */

import { useNavigate } from "@tanstack/react-router";

import { Bar } from "~/components/Bar";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Worker } from "~/generated/api";

const COLUMNS: readonly Column<Worker>[] = [
  {
    name: "Worker",
    width: "minmax(8rem, 2fr)",
    cell: (worker) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-medium" title={`${worker.host}, process ${worker.pid}`}>
          {worker.name}
        </span>
        <Standing worker={worker} />
      </span>
    ),
  },
  { name: "In hand", width: "minmax(8rem, 3fr)", cell: (worker) => <Slots worker={worker} /> },
  {
    name: "Queues",
    width: "minmax(6rem, 1fr)",
    wide: true,
    cell: (worker) => <span className="text-soft">{worker.queues.includes("*") ? "all" : worker.queues.join(", ")}</span>,
  },
  { name: "Host", width: "minmax(6rem, 1fr)", wide: true, cell: (worker) => <span className="text-soft">{worker.host}</span> },
  { name: "Started", width: "6rem", wide: true, cell: (worker) => <Moment at={worker.started_at} /> },
  { name: "Heard of", width: "6rem", wide: true, cell: (worker) => <Moment at={worker.renewed_at} /> },
];

export function Workers({ workers, error }: { workers: readonly Worker[] | undefined; error: unknown }) {
  const navigate = useNavigate();
  if (error !== null) return <Trouble error={error} />;
  if (workers === undefined) return <Loading />;
  if (workers.length === 0)
    return (
      <Empty title="No worker lives.">
        Nothing runs until there is one. Start it with <code className="mono">mainspring worker</code>.
      </Empty>
    );
  return (
    <Rows
      label="Workers"
      items={workers}
      columns={COLUMNS}
      keyOf={(each) => each.id}
      open={(each) =>
        void navigate({ to: "/queues", search: { tab: "workers", worker: each.id }, replace: true })
      }
      rowHeight={52}
    />
  );
}

function Standing({ worker }: { worker: Worker }) {
  if (worker.overdue)
    return (
      <Badge tone="bad" title="It was not heard of for longer than its lease; an engine is about to take its tasks back.">
        Silent
      </Badge>
    );
  if (worker.draining)
    return (
      <Badge tone="warn" title="It takes nothing new, and ends when what it has in hand is done.">
        Draining
      </Badge>
    );
  return null;
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
