import { Link } from "@tanstack/react-router";

import { Moment, Took } from "~/components/Moment";
import type { Column } from "~/components/Rows";
import { State } from "~/components/State";
import type { Run } from "~/generated/api";
import { number } from "~/lib/words";

export const RUN_COLUMNS: readonly Column<Run>[] = [
  {
    name: "Run",
    width: "minmax(4rem, 6rem)",
    cell: (run) => (
      <Link to="/runs/$run" params={{ run: run.id }} className="mono text-accent hover:underline">
        {run.id}
      </Link>
    ),
  },
  { name: "Dag", width: "minmax(8rem, 2fr)", cell: (run) => run.dag },
  { name: "State", width: "7rem", cell: (run) => <State of="run" state={run.state} /> },
  {
    name: "Tasks",
    width: "6rem",
    right: true,
    wide: true,
    cell: (run) =>
      run.open_tasks === 0
        ? number(run.task_count)
        : `${number(run.task_count - run.open_tasks)} / ${number(run.task_count)}`,
  },
  { name: "Created", width: "7rem", wide: true, cell: (run) => <Moment at={run.created_at} /> },
  {
    name: "Took",
    width: "6rem",
    right: true,
    wide: true,
    cell: (run) => <Took of={run} />,
  },
  {
    name: "Trigger",
    width: "7rem",
    wide: true,
    cell: (run) => <span className="text-soft">{run.trigger}</span>,
  },
];
