/** Which tasks a worker runs now, and since when. */

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";

import { inHand } from "~/api/queries";
import { Lasted } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import type { InHand as Held, Worker } from "~/generated/api";

const COLUMNS: readonly Column<Held>[] = [
  {
    name: "Run",
    width: "minmax(3.5rem, 6rem)",
    cell: (each) => (
      <Link to="/runs/$run" params={{ run: each.run }} className="mono text-accent hover:underline">
        {each.run}
      </Link>
    ),
  },
  { name: "Task", width: "minmax(5rem, 2fr)", cell: (each) => <span className="font-medium">{each.task}</span> },
  { name: "Dag", width: "minmax(5rem, 2fr)", cell: (each) => each.dag },
  { name: "Kind", width: "6rem", wide: true, cell: (each) => <span className="text-soft">{each.kind}</span> },
  { name: "For", width: "5rem", right: true, cell: (each) => <Lasted from={each.claimed_at} to={null} /> },
];

export function InHand({ worker }: { worker: Worker }) {
  const navigate = useNavigate();
  const { data, error } = useQuery(inHand(worker.id));
  return (
    <Card title={`In the hands of ${worker.name}`} fill>
      {error !== null && <Trouble error={error} />}
      {data === undefined ? (
        error === null && <Loading rows={3} />
      ) : data.length === 0 ? (
        <Empty title="It runs nothing now.">What it claims shows up here at once.</Empty>
      ) : (
        <Rows
          label={`In the hands of ${worker.name}`}
          items={data}
          columns={COLUMNS}
          keyOf={(each) => `${each.run} ${each.task}`}
          open={(each) => void navigate({ to: "/runs/$run", params: { run: each.run } })}
        />
      )}
    </Card>
  );
}
