/** Tasks that failed for good, by error: look at one of each, then deal with all of them. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useTopics } from "~/api/live";
import { letterGroups } from "~/api/queries";
import { Button } from "~/components/Button";
import { Search } from "~/components/Field";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { useSelection } from "~/components/Selection";
import type { LetterGroup } from "~/generated/api";
import { counted, number } from "~/lib/words";
import { Redrive, type Order } from "~/views/letters/Redrive";
import type { Verb } from "~/views/letters/redriving";

const route = getRouteApi("/dead-letters");

const COLUMNS: readonly Column<LetterGroup>[] = [
  {
    name: "Error",
    width: "minmax(6rem, 3fr)",
    cell: (group) => (
      <Link
        to="/dead-letters/$group"
        params={{ group: group.id }}
        className="block truncate hover:underline"
        title={`Alike: ${group.message}`}
      >
        <span className="mono font-medium">{group.error_type}</span>{" "}
        <span className="text-soft">{group.example.error.message}</span>
      </Link>
    ),
  },
  { name: "Count", width: "3rem", right: true, cell: (group) => number(group.count) },
  {
    name: "Dag and task",
    width: "minmax(8rem, 1.5fr)",
    wide: true,
    cell: (group) => (
      <>
        {group.dag} <span className="text-faint">·</span> {group.task}
      </>
    ),
  },
  { name: "First", width: "6rem", wide: true, cell: (group) => <Moment at={group.first_at} /> },
  { name: "Last", width: "5.5rem", cell: (group) => <Moment at={group.last_at} /> },
];

export default function Letters() {
  useTopics("runs");
  const { error: text, dag } = route.useSearch();
  const navigate = useNavigate();
  const { data, error } = useQuery({
    ...letterGroups({ error: text, dag }),
    placeholderData: keepPreviousData,
  });
  const selection = useSelection(data ?? [], (each) => each.id, (each) => each.error_type);
  const [order, setOrder] = useState<Order | null>(null);
  const total = (data ?? []).reduce((sum, each) => sum + each.count, 0);
  const start = (verb: Verb) =>
    setOrder({
      verb,
      which: { groups: selection.chosen.map((each) => each.id) },
      count: selection.chosen.reduce((sum, each) => sum + each.count, 0),
    });
  return (
    <Page
      title="Dead letters"
      about={
        data !== undefined && data.length > 0
          ? `${counted(total, "task")} failed for good, with ${counted(data.length, "different error")}`
          : "Tasks that failed for good"
      }
      actions={
        <>
          {dag !== undefined && (
            <Link to="/dead-letters" search={{ error: text }} className="text-sm text-accent hover:underline">
              dag {dag} ×
            </Link>
          )}
          <Search
            label="Search errors"
            value={text ?? ""}
            change={(next) =>
              void navigate({
                to: "/dead-letters",
                search: { ...(dag && { dag }), ...(next && { error: next }) },
                replace: true,
              })
            }
          />
          <Button disabled={selection.chosen.length === 0} onClick={() => start("retry")} look="main">
            Retry
          </Button>
          <Button disabled={selection.chosen.length === 0} onClick={() => start("discard")} look="danger">
            Discard
          </Button>
        </>
      }
    >
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {data === undefined ? (
          error === null && <Loading />
        ) : data.length === 0 ? (
          <Empty title={text || dag ? "No dead letter is like that." : "No dead letters."}>
            {text || dag
              ? "Look for fewer letters of the error, or at all dags."
              : "A task whose last attempt failed shows up here, together with those that failed alike. Mend the cause, then retry them all at once."}
          </Empty>
        ) : (
          <Rows
            label="Dead letters by error"
            items={data}
            columns={[selection.column, ...COLUMNS]}
            keyOf={(each) => each.id}
            open={(each) => void navigate({ to: "/dead-letters/$group", params: { group: each.id } })}
            rowHeight={44}
          />
        )}
      </Card>
      {order !== null && (
        <Redrive
          order={order}
          close={(done) => {
            setOrder(null);
            if (done) selection.clear();
          }}
        />
      )}
    </Page>
  );
}
