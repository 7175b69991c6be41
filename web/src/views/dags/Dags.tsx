/** All dags: what they are, how they do, when they are next. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { useTopics } from "~/api/live";
import { dags, strips } from "~/api/queries";
import { Button } from "~/components/Button";
import { Choice, Search } from "~/components/Field";
import { Icon } from "~/components/Icon";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Dag, StripRun } from "~/generated/api";
import { counted } from "~/lib/words";
import { PauseButton } from "~/views/dags/PauseButton";
import { Strip } from "~/views/dags/Strip";
import { Trigger } from "~/views/dags/Trigger";

const route = getRouteApi("/dags");

export default function Dags() {
  useTopics("dags", "runs");
  const search = route.useSearch();
  const { text = "", tag, owner } = search;
  const navigate = useNavigate();
  const { data, error } = useQuery(dags());
  const { data: runs } = useQuery(strips());
  const [asking, setAsking] = useState<string | null>(null);
  const columns = useMemo(() => columnsOf(runs, setAsking), [runs]);
  const shown = data?.filter((dag) => fits(dag, text, tag, owner));
  const go = (change: { text?: string | undefined; tag?: string | undefined; owner?: string | undefined }) =>
    void navigate({ to: "/dags", search: { ...search, ...change }, replace: true });
  return (
    <Page
      title="Dags"
      about={data && counted(data.length, "dag")}
      actions={
        <>
          <Choice
            label="Tag"
            value={tag ?? ""}
            options={[["", "All tags"], ...namesIn(data?.flatMap((dag) => dag.tags), tag)]}
            choose={(next) => go({ tag: next || undefined })}
          />
          <Choice
            label="Owner"
            value={owner ?? ""}
            options={[["", "All owners"], ...namesIn(data?.map((dag) => dag.owner), owner)]}
            choose={(next) => go({ owner: next || undefined })}
          />
          <Search label="Search dags" value={text} change={(next) => go({ text: next || undefined })} />
        </>
      }
    >
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {shown === undefined ? (
          error === null && <Loading />
        ) : shown.length === 0 ? (
          <Nothing some={data!.length > 0} />
        ) : (
          <Rows
            label="Dags"
            items={shown}
            columns={columns}
            keyOf={(each) => each.name}
            open={(each) => void navigate({ to: "/dags/$dag", params: { dag: each.name } })}
            rowHeight={48}
          />
        )}
      </Card>
      {asking !== null && <Trigger dag={asking} close={() => setAsking(null)} />}
    </Page>
  );
}

function Nothing({ some }: { some: boolean }) {
  return some ? (
    <Empty title="No dag is like that.">
      <Link to="/dags" search={{}} className="text-accent underline">
        Show all of them
      </Link>
    </Empty>
  ) : (
    <Empty title="There are no dags yet.">
      Put a Python file with a <code className="mono">@dag</code> function into the folder of dags; it appears
      here within a second.
    </Empty>
  );
}

function fits(dag: Dag, text: string, tag: string | undefined, owner: string | undefined): boolean {
  return (
    (tag === undefined || dag.tags.includes(tag)) &&
    (owner === undefined || dag.owner === owner) &&
    `${dag.name} ${dag.description} ${dag.owner} ${dag.tags.join(" ")}`.toLowerCase().includes(text.toLowerCase())
  );
}

function namesIn(names: readonly string[] = [], chosen: string | undefined): (readonly [string, string])[] {
  const all = new Set([...names, chosen ?? ""]);
  all.delete("");
  return [...all].sort().map((name) => [name, name] as const);
}

function nextFire(dag: Dag): string | null {
  return dag.schedules.map((each) => each.next_fire_at).filter((at) => at !== null).sort()[0] ?? null;
}

function columnsOf(
  runs: ReadonlyMap<string, readonly StripRun[]> | undefined,
  trigger: (dag: string) => void,
): readonly Column<Dag>[] {
  return [
    {
      name: "Dag",
      width: "minmax(6rem, 2fr)",
      cell: (dag) => (
        <div className="min-w-0 leading-tight">
          <div className="flex items-center gap-2">
            <Link
              to="/dags/$dag"
              params={{ dag: dag.name }}
              className="truncate font-medium hover:text-accent hover:underline"
            >
              {dag.name}
            </Link>
            {dag.pause !== null && <Badge tone="warn">Paused</Badge>}
            {dag.gone_at !== null && <Badge tone="bad">Gone</Badge>}
            {dag.tags.map((tag) => (
              <Link
                key={tag}
                to="/dags"
                search={{ tag }}
                className="rounded-sm bg-sunken px-1.5 text-xs text-soft hover:text-ink max-sm:hidden"
              >
                {tag}
              </Link>
            ))}
          </div>
          <div className="truncate text-xs text-faint">{dag.description}</div>
        </div>
      ),
    },
    { name: "Last runs", width: "7rem", cell: (dag) => runs && <Strip dag={dag.name} runs={runs.get(dag.name)} /> },
    {
      name: "Last",
      width: "5.5rem",
      wide: true,
      cell: (dag) => (
        <span className="text-soft">
          <Moment at={dag.last_run?.created_at ?? null} />
        </span>
      ),
    },
    {
      name: "Schedule",
      width: "minmax(6rem, 1.2fr)",
      wide: true,
      cell: (dag) => <span className="text-soft">{dag.schedules.map((each) => each.words).join("; ")}</span>,
    },
    { name: "Next", width: "5rem", wide: true, cell: (dag) => <Moment at={nextFire(dag)} /> },
    { name: "Owner", width: "5rem", wide: true, cell: (dag) => <span className="text-soft">{dag.owner}</span> },
    {
      name: "Act",
      width: "4rem",
      right: true,
      cell: (dag) => (
        <span className="inline-flex">
          <PauseButton small dag={dag.name} pause={dag.pause} />
          <Button
            look="bare"
            className="w-8 px-0"
            aria-label={`Trigger ${dag.name}`}
            title="Trigger"
            disabled={dag.gone_at !== null}
            onClick={() => trigger(dag.name)}
          >
            <Icon name="runs" />
          </Button>
        </span>
      ),
    },
  ];
}
