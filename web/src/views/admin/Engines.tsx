/** Engines at work, and the shards of schedules that each looks at first. */

import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Engine } from "~/generated/api";
import { length } from "~/lib/time";
import { number } from "~/lib/words";

/** From so long a silence on, others stand in. */
const SILENT_SECONDS = 5;

const COLUMNS: readonly Column<Engine>[] = [
  {
    name: "Engine",
    width: "minmax(8rem, 2fr)",
    cell: (engine) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-medium">{engine.name}</span>
        {engine.leads && (
          <Badge tone="active" title="It also does what one engine does for all: wake, reap, audit, archive.">
            Leads
          </Badge>
        )}
        {engine.silent_seconds > SILENT_SECONDS && <Badge tone="bad">Silent</Badge>}
      </span>
    ),
  },
  {
    name: "Shards",
    width: "minmax(5rem, 2fr)",
    cell: (engine) => (
      <span className="text-soft">{rangesOf(engine.shards.map((each) => each.number)) || "none"}</span>
    ),
  },
  {
    name: "Due",
    width: "4rem",
    right: true,
    wide: true,
    cell: (engine) => number(engine.shards.reduce((sum, each) => sum + each.due, 0)),
  },
  {
    name: "Behind",
    width: "5rem",
    right: true,
    cell: (engine) => length(Math.max(0, ...engine.shards.map((each) => each.lag_seconds))),
  },
  { name: "Started", width: "6rem", wide: true, cell: (engine) => <Moment at={engine.started_at} /> },
  { name: "Heard of", width: "6rem", wide: true, cell: (engine) => <Moment at={engine.renewed_at} /> },
];

export function Engines({ engines, error }: { engines: readonly Engine[] | undefined; error: unknown }) {
  return (
    <Card title="Engines" fill>
      {error !== null && <Trouble error={error} />}
      {engines === undefined ? (
        error === null && <Loading />
      ) : engines.length === 0 ? (
        <Empty title="No engine is at work.">
          Schedules do not fire, and nobody looks after runs. Start one with{" "}
          <code className="mono">mainspring engine</code>.
        </Empty>
      ) : (
        <Rows label="Engines" items={engines} columns={COLUMNS} keyOf={(each) => each.name + each.started_at} rowHeight={48} />
      )}
    </Card>
  );
}

/** `1–4, 7`: numbers that follow each other as one range. */
export function rangesOf(numbers: readonly number[]): string {
  const told: string[] = [];
  for (let at = 0; at < numbers.length; ) {
    let end = at;
    while (numbers[end + 1] === numbers[end]! + 1) end += 1;
    told.push(end === at ? `${numbers[at]}` : `${numbers[at]}–${numbers[end]}`);
    at = end + 1;
  }
  return told.join(", ");
}
