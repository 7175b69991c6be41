/** What a backfill would run, and for how long, if nothing happens meanwhile. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { ask } from "~/api/call";
import { Facts } from "~/components/Facts";
import { Moment } from "~/components/Moment";
import { Loading, Trouble } from "~/components/Notice";
import { Badge } from "~/components/State";
import type { NewBackfill } from "~/generated/api";
import { useSettled } from "~/lib/settled";
import { length } from "~/lib/time";
import { counted, number } from "~/lib/words";

const SHOWN = 50;
const OUTCOMES = {
  made: { text: "runs", tone: "active" },
  exists: { text: "has a run", tone: "quiet" },
  excluded: { text: "left out", tone: "warn" },
} as const;

export function Estimate({ order }: { order: NewBackfill }) {
  const settled = useSettled(order);
  const { data, error } = useQuery({
    queryKey: ["backfills", "estimate", settled],
    queryFn: ({ signal }) => ask("estimate_backfill", { query: { count: SHOWN }, body: settled, signal }),
    placeholderData: keepPreviousData,
  });
  if (error !== null) return <div className="p-4"><Trouble error={error} /></div>;
  if (data === undefined) return <Loading />;
  return (
    <>
      <Facts
        facts={[
          ["Runs", <strong key="runs">{number(data.to_run)}</strong>],
          ["Of", counted(data.instants, "instant")],
          ["There already", number(data.existing)],
          ["Left out by calendars", number(data.excluded)],
          [
            "Takes about",
            data.seconds === null
              ? "unknown: no run of it has ended yet"
              : `${length(data.seconds)}, at ${length(data.run_seconds ?? 0)} for each`,
          ],
        ]}
      />
      {data.remarks.map((each) => (
        <p key={each} data-tone="warn" className="mx-4 mb-2 text-sm text-tone-text">
          {each}
        </p>
      ))}
      <ol aria-label="Instants" className="max-h-96 overflow-auto border-t border-line px-4 text-sm" tabIndex={0}>
        {data.fires.map((each) => (
          <li key={each.fire_at} className="flex items-center justify-between border-b border-line/60 py-1.5">
            <Moment at={each.fire_at} exact />
            <Badge tone={OUTCOMES[each.outcome].tone}>
              {each.excluded_by === null ? OUTCOMES[each.outcome].text : `left out by ${each.excluded_by}`}
            </Badge>
          </li>
        ))}
        {data.fires.length < data.instants && (
          <li className="py-1.5 text-soft">and {number(data.instants - data.fires.length)} more</li>
        )}
      </ol>
    </>
  );
}
