/** The dead letters of one error: each with its run and what it said. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";

import { useTopics } from "~/api/live";
import { letterGroups, lettersOf } from "~/api/queries";
import { Button } from "~/components/Button";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { useSelection } from "~/components/Selection";
import type { DeadLetter } from "~/generated/api";
import { counted } from "~/lib/words";
import { Redrive, type Order } from "~/views/letters/Redrive";
import type { Verb } from "~/views/letters/redriving";

const route = getRouteApi("/dead-letters/$group");

const COLUMNS: readonly Column<DeadLetter>[] = [
  {
    name: "Run",
    width: "minmax(3.5rem, 7rem)",
    cell: (letter) => (
      <Link to="/runs/$run" params={{ run: letter.run }} className="mono text-accent hover:underline">
        {letter.run}
      </Link>
    ),
  },
  {
    name: "Message",
    width: "minmax(6rem, 3fr)",
    cell: (letter) => <span title={letter.error.message}>{letter.error.message}</span>,
  },
  { name: "Attempt", width: "5rem", right: true, wide: true, cell: (letter) => letter.attempt ?? "–" },
  { name: "Failed", width: "6rem", cell: (letter) => <Moment at={letter.failed_at} /> },
];

const CRUMBS = [{ name: "Dead letters", to: "/dead-letters" }];

export default function LetterGroup() {
  useTopics("runs");
  const { group } = route.useParams();
  const { run } = route.useSearch();
  const navigate = useNavigate();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(lettersOf(group));
  const { data: groups } = useQuery(letterGroups());
  const letters = useMemo(() => data?.pages.flatMap((page) => page.items), [data]);
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  const selection = useSelection(letters ?? [], keyOf, (each) => `run ${each.run}`);
  const [order, setOrder] = useState<Order | null>(null);

  const first = letters?.[0];
  const shown = letters?.find((each) => each.run === run) ?? first;
  const count = groups?.find((each) => each.id === group)?.count ?? letters?.length ?? 0;
  const some = selection.chosen.length > 0;
  const start = (verb: Verb) =>
    setOrder(
      some
        ? {
            verb,
            which: { letters: selection.chosen.map((each) => ({ run: each.run, task: each.task })) },
            count: selection.chosen.length,
          }
        : { verb, which: { groups: [group] }, count },
    );
  const which = some ? String(selection.chosen.length) : "all";
  return (
    <Page
      title={first?.error.type ?? "Dead letters"}
      crumbs={CRUMBS}
      about={
        first && (
          <>
            {counted(count, "letter")} of{" "}
            <Link to="/runs" search={{ dag: first.dag }} className="text-accent hover:underline">
              {first.dag}
            </Link>
            , task {first.task}
          </>
        )
      }
      actions={
        first && (
          <>
            <Button look="main" onClick={() => start("retry")}>
              Retry {which}
            </Button>
            <Button look="danger" onClick={() => start("discard")}>
              Discard {which}
            </Button>
          </>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      {letters === undefined ? (
        error === null && <Loading />
      ) : letters.length === 0 ? (
        <Empty title="No dead letters of this error are left.">
          <Link to="/dead-letters" className="text-accent underline">
            See all dead letters
          </Link>
        </Empty>
      ) : (
        <div className="grid min-h-0 flex-1 grid-cols-2 gap-4 max-lg:grid-cols-1 max-lg:grid-rows-2">
          <Card fill>
            <Rows
              label="Dead letters"
              items={letters}
              columns={[selection.column, ...COLUMNS]}
              keyOf={keyOf}
              open={(each) =>
                void navigate({
                  to: "/dead-letters/$group",
                  params: { group },
                  search: { run: each.run },
                  replace: true,
                })
              }
              more={hasNextPage ? more : undefined}
            />
          </Card>
          {shown !== undefined && <What letter={shown} />}
        </div>
      )}
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

function What({ letter }: { letter: DeadLetter }) {
  return (
    <Card
      fill
      title={`Run ${letter.run}`}
      aside={
        <Link
          to="/runs/$run"
          params={{ run: letter.run }}
          className="text-sm text-accent hover:underline"
        >
          Open the run
        </Link>
      }
    >
      <div className="min-h-0 overflow-auto p-4" tabIndex={0} aria-label="What went wrong" role="region">
        <p data-tone="bad" className="mb-3 font-medium break-words text-tone-text">
          {letter.error.type}: {letter.error.message}
        </p>
        {letter.error.trace !== "" && (
          <pre className="mono whitespace-pre-wrap text-soft">{letter.error.trace}</pre>
        )}
      </div>
    </Card>
  );
}

function keyOf(letter: DeadLetter): string {
  return `${letter.run} ${letter.task}`;
}
