/** Backfills of this dag: runs for times of the past, and how far they are. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { backfillsOf } from "~/api/queries";
import { useTopics } from "~/api/live";
import { Bar } from "~/components/Bar";
import { buttonClass } from "~/components/Button";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { State } from "~/components/State";
import type { Backfill } from "~/generated/api";
import { useZone } from "~/lib/preferences";
import { dateAndTime } from "~/lib/time";
import { number } from "~/lib/words";

/** Of its schedule, if it has one; else at times that somebody says. */
export default function BackfillsTab({ dag, schedule }: { dag: string; schedule: string | undefined }) {
  const search = schedule === undefined ? ({ of: "dag", dag } as const) : { schedule, dag };
  useTopics(`runs:dag=${dag}`);
  const { data, error } = useQuery(backfillsOf(dag));
  if (error !== null) return <Trouble error={error} />;
  return (
    <Card
      fill
      {...(data !== undefined &&
        data.length > 0 && {
          title: "Backfills",
          aside: (
            <Link to="/backfills/new" search={search} className={buttonClass()}>
              Backfill a range
            </Link>
          ),
        })}
    >
      {data === undefined ? (
        <Loading />
      ) : data.length === 0 ? (
        <Empty title="Nothing was backfilled.">
          <p className="mb-3">
            A backfill runs this dag for times of the past: those it missed, or those to do again
            {schedule === undefined && "; it has no schedule, so you say the times"}.
          </p>
          <Link to="/backfills/new" search={search} className={buttonClass("main")}>
            Backfill a range
          </Link>
        </Empty>
      ) : (
        <Rows label={`Backfills of ${dag}`} items={data} columns={COLUMNS} keyOf={(each) => each.id} rowHeight={48} />
      )}
    </Card>
  );
}

const COLUMNS: readonly Column<Backfill>[] = [
  {
    name: "Number",
    width: "4.5rem",
    cell: (each) => (
      <Link to={`/backfills/${each.id}` as string} className="mono text-accent hover:underline">
        {each.id}
      </Link>
    ),
  },
  { name: "State", width: "7rem", cell: (each) => <State of="backfill" state={each.state} /> },
  { name: "Range", width: "minmax(10rem, 2fr)", wide: true, cell: (each) => <Range of={each} /> },
  {
    name: "Progress",
    width: "minmax(7rem, 2fr)",
    cell: (each) => (
      <div className="flex flex-col gap-1">
        <Bar
          label={`Backfill ${each.id}`}
          of={each.instants}
          parts={[
            { tone: "good", count: each.succeeded, name: "succeeded" },
            { tone: "bad", count: each.failed, name: "failed" },
            { tone: "active", count: each.open, name: "open" },
            { tone: "quiet", count: each.existing + each.excluded + each.cancelled, name: "left out or cancelled" },
          ]}
        />
        <span className="text-xs text-faint">
          {number(each.done)} of {number(each.instants)}
        </span>
      </div>
    ),
  },
  { name: "Made", width: "6rem", wide: true, cell: (each) => <Moment at={each.created_at} /> },
  { name: "By", width: "6rem", wide: true, cell: (each) => <span className="text-soft">{each.created_by}</span> },
];

function Range({ of }: { of: Backfill }) {
  const [zone] = useZone();
  const told = (at: string) => dateAndTime(new Date(at), zone).slice(0, 16);
  return (
    <span className="text-soft">
      {told(of.from)} – {told(of.to)}
    </span>
  );
}
