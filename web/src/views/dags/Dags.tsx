/** All dags: what they are, how they do, when they are next. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { useTopics } from "~/api/live";
import { dags } from "~/api/queries";
import { Search } from "~/components/Field";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge, State } from "~/components/State";
import type { Dag } from "~/generated/api";
import { counted } from "~/lib/words";

const route = getRouteApi("/dags");

const COLUMNS: readonly Column<Dag>[] = [
  {
    name: "Dag",
    width: "minmax(10rem, 2fr)",
    cell: (dag) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-medium">{dag.name}</span>
        {dag.pause !== null && <Badge tone="warn">Paused</Badge>}
        {dag.tags.map((tag) => (
          <Link
            key={tag}
            to="/dags"
            search={{ tag }}
            className="rounded-sm bg-sunken px-1.5 text-xs text-soft hover:text-ink"
          >
            {tag}
          </Link>
        ))}
      </span>
    ),
  },
  {
    name: "Last run",
    width: "11rem",
    cell: (dag) =>
      dag.last_run?.state == null ? (
        <span className="text-faint">never</span>
      ) : (
        <span className="flex items-center gap-2">
          <State of="run" state={dag.last_run.state} />
          <span className="text-soft">
            <Moment at={dag.last_run.created_at} />
          </span>
        </span>
      ),
  },
  {
    name: "Schedule",
    width: "minmax(8rem, 1.5fr)",
    wide: true,
    cell: (dag) => (
      <span className="text-soft">{dag.schedules.map((each) => each.words).join("; ")}</span>
    ),
  },
  {
    name: "Next fire",
    width: "7rem",
    wide: true,
    cell: (dag) => (
      <Moment at={dag.schedules.map((each) => each.next_fire_at).filter((at) => at !== null).sort()[0] ?? null} />
    ),
  },
  { name: "Owner", width: "7rem", wide: true, cell: (dag) => <span className="text-soft">{dag.owner}</span> },
];

export default function Dags() {
  useTopics("dags", "runs");
  const { text = "", tag } = route.useSearch();
  const navigate = useNavigate();
  const { data, error } = useQuery(dags());
  const shown = data?.filter(
    (dag) =>
      (tag === undefined || dag.tags.includes(tag)) &&
      `${dag.name} ${dag.description} ${dag.owner}`.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <Page
      title="Dags"
      about={data && counted(data.length, "dag")}
      actions={
        <>
          {tag !== undefined && (
            <Link to="/dags" search={{ text }} className="text-sm text-accent hover:underline">
              tag {tag} ×
            </Link>
          )}
          <Search
            label="Search dags"
            value={text}
            change={(next) =>
              void navigate({ to: "/dags", search: { ...(tag && { tag }), ...(next && { text: next }) }, replace: true })
            }
          />
        </>
      }
    >
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {shown === undefined ? (
          error === null && <Loading />
        ) : shown.length === 0 ? (
          <Empty title={data?.length ? "No dag is called like that." : "There are no dags yet."}>
            Put a Python file with a <code className="mono">@dag</code> function into the folder of dags; it
            appears here within a second.
          </Empty>
        ) : (
          <Rows
            label="Dags"
            items={shown}
            columns={COLUMNS}
            keyOf={(each) => each.name}
            open={(each) => void navigate({ to: "/runs", search: { dag: each.name } })}
            rowHeight={44}
          />
        )}
      </Card>
    </Page>
  );
}
