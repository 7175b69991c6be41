/** Every move of a run that is kept, the newest first. */

import { Link } from "@tanstack/react-router";
import { useMemo } from "react";

import { Moment } from "~/components/Moment";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { RunWhole } from "~/generated/api";
import { movesOf, type Move } from "~/views/runs/moves";

export function History({ run }: { run: RunWhole }) {
  const moves = useMemo(() => movesOf(run), [run]);
  const columns = useMemo(() => columnsOf(run.id), [run.id]);
  return <Rows label="History" items={moves} columns={columns} keyOf={(move) => move.key} />;
}

function columnsOf(run: number): readonly Column<Move>[] {
  return [
    { name: "When", width: "10rem", wide: true, cell: (move) => <Moment at={move.at} exact /> },
    {
      name: "Task",
      width: "minmax(6rem, 1fr)",
      cell: (move) =>
        move.task === null ? (
          <span className="text-faint">the run</span>
        ) : (
          <Link
            to="/runs/$run/tasks/$task"
            params={{ run, task: move.task }}
            search={move.term === null ? {} : { term: move.term }}
            className="hover:text-accent hover:underline"
          >
            {move.task}
          </Link>
        ),
    },
    { name: "What happened", width: "13rem", cell: (move) => <Badge tone={move.tone}>{move.what}</Badge> },
    { name: "How", width: "minmax(6rem, 2fr)", wide: true, cell: (move) => <span className="text-soft" title={move.more}>{move.more}</span> },
  ];
}
