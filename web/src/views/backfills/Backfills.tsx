/** Runs for times of the past: what is under way, and what was. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

import { useTopics } from "~/api/live";
import { backfills } from "~/api/queries";
import { Bar } from "~/components/Bar";
import { buttonClass } from "~/components/Button";
import { Icon } from "~/components/Icon";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { State } from "~/components/State";
import type { Backfill } from "~/generated/api";
import { number } from "~/lib/words";

const COLUMNS: readonly Column<Backfill>[] = [
  {
    name: "Backfill",
    width: "minmax(6rem, 2fr)",
    cell: (each) => (
      <Link to="/backfills/$backfill" params={{ backfill: each.id }} className="font-medium hover:underline">
        {each.schedule ?? each.dag} <span className="text-faint">#{each.id}</span>
      </Link>
    ),
  },
  { name: "State", width: "6.5rem", cell: (each) => <State of="backfill" state={each.state} /> },
  { name: "Progress", width: "minmax(5.5rem, 2fr)", cell: (each) => <HowFar backfill={each} /> },
  {
    name: "From",
    width: "10rem",
    wide: true,
    cell: (each) => <Moment at={each.from} exact />,
  },
  { name: "To", width: "10rem", wide: true, cell: (each) => <Moment at={each.to} exact /> },
  { name: "Made", width: "6rem", wide: true, cell: (each) => <Moment at={each.created_at} /> },
];

export default function Backfills() {
  useTopics("runs");
  const navigate = useNavigate();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(backfills());
  const items = data?.pages.flatMap((page) => page.items);
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  return (
    <Page
      title="Backfills"
      about="Runs for times of the past"
      actions={
        <Link to="/backfills/new" className={buttonClass("main")}>
          <Icon name="plus" />
          New backfill
        </Link>
      }
    >
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {items === undefined ? (
          error === null && <Loading />
        ) : items.length === 0 ? (
          <Empty title="There are no backfills yet.">
            A backfill makes the runs that a schedule would have made, for days of the past.{" "}
            <Link to="/backfills/new" className="text-accent underline">
              Choose the days
            </Link>
            .
          </Empty>
        ) : (
          <Rows
            label="Backfills"
            items={items}
            columns={COLUMNS}
            keyOf={(each) => each.id}
            open={(each) => void navigate({ to: "/backfills/$backfill", params: { backfill: each.id } })}
            more={hasNextPage ? more : undefined}
            rowHeight={44}
          />
        )}
      </Card>
    </Page>
  );
}

export function HowFar({ backfill }: { backfill: Backfill }) {
  const { succeeded, failed, cancelled, open, existing, excluded } = backfill;
  return (
    <span className="flex items-center gap-3">
      <Bar
        label="Instants"
        of={backfill.instants}
        parts={[
          { tone: "good", count: succeeded, name: "succeeded" },
          { tone: "bad", count: failed, name: "failed" },
          { tone: "quiet", count: cancelled + existing + excluded, name: "left as they are" },
          { tone: "active", count: open, name: "open" },
        ]}
      />
      <span className="text-sm whitespace-nowrap text-soft">
        {number(backfill.done)} / {number(backfill.instants)}
      </span>
    </span>
  );
}
