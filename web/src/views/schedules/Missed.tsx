/** Fires that made no run, of all schedules, each with the reason; newest first. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

import { skippedFires } from "~/api/queries";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { SkippedFires } from "~/generated/api";
import { number } from "~/lib/words";

/** Reasons that somebody has chosen; the others are worth a look. */
const MEANT = new Set(["exclusion", "limit", "pause"]);

const COLUMNS: readonly Column<SkippedFires>[] = [
  {
    name: "Fire",
    width: "minmax(9.25rem, 1.4fr)",
    cell: (each) => (
      <span>
        <Moment at={each.fire_at} exact />
        {each.count > 1 && <span className="text-soft"> and {number(each.count - 1)} more</span>}
      </span>
    ),
  },
  {
    name: "Until",
    width: "10rem",
    wide: true,
    cell: (each) => (each.count > 1 ? <Moment at={each.until_at} exact /> : <span className="text-faint">–</span>),
  },
  {
    name: "Schedule",
    width: "minmax(5rem, 1.5fr)",
    cell: (each) =>
      each.gone ? (
        <span className="text-soft" title="The schedule is there no more.">
          {each.schedule}
        </span>
      ) : (
        <Link
          to="/schedules/$schedule"
          params={{ schedule: each.schedule }}
          search={{ tab: "ledger" }}
          className="font-medium hover:underline"
        >
          {each.schedule}
        </Link>
      ),
  },
  {
    name: "Why",
    width: "minmax(6rem, 2fr)",
    cell: (each) => (
      <span className="flex items-center gap-2">
        <Badge tone={MEANT.has(each.reason) ? "quiet" : "warn"} title={each.text}>
          {each.reason}
        </Badge>
        <span className="truncate text-soft" title={each.text}>
          {each.text}
        </span>
      </span>
    ),
  },
];

export function Missed({ text }: { text: string }) {
  const navigate = useNavigate();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(skippedFires());
  const shown = useMemo(
    () =>
      data?.pages
        .flatMap((page) => page.items)
        .filter((each) => `${each.schedule} ${each.dag} ${each.reason} ${each.text}`.toLowerCase().includes(text.toLowerCase())),
    [data, text],
  );
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  if (error !== null) return <Trouble error={error} />;
  if (shown === undefined) return <Loading />;
  if (shown.length === 0 && !hasNextPage)
    return (
      <Empty title={text === "" ? "No fire was left out." : "No fire that was left out is told like that."}>
        Whatever a schedule names and does not run is written here, with the reason: an overlap, a pause, a day that a
        calendar excludes, or that nobody was there in time.
      </Empty>
    );
  return (
    <Rows
      label="Missed and skipped fires"
      items={shown}
      columns={COLUMNS}
      keyOf={(each) => `${each.schedule} ${each.fire_at} ${each.decided_at}`}
      open={(each) => {
        if (!each.gone)
          void navigate({ to: "/schedules/$schedule", params: { schedule: each.schedule }, search: { tab: "ledger" } });
      }}
      more={hasNextPage ? more : undefined}
      rowHeight={44}
    />
  );
}
