/** When something would fire, told as it is typed. What a change of clocks does is marked. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { preview } from "~/api/queries";
import { Moment } from "~/components/Moment";
import { Trouble } from "~/components/Notice";
import { Badge } from "~/components/State";
import type { PreviewFire, WrittenSpec } from "~/generated/api";
import { useSettled } from "~/lib/settled";

export function Preview({ spec, count = 8 }: { spec: WrittenSpec; count?: number }) {
  const settled = useSettled(spec);
  const said = settled.when.some((each) => typeof each !== "string" || each.trim() !== "");
  const { data, error } = useQuery({
    ...preview(settled, count),
    enabled: said,
    placeholderData: keepPreviousData,
  });
  if (!said) return <p className="text-sm text-faint">Say when, and the next fires are shown here.</p>;
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return null;
  return <Fires label="Next fires" fires={data.items} />;
}

export function Fires({ label, fires }: { label: string; fires: readonly PreviewFire[] }) {
  if (fires.length === 0) return <p className="text-sm text-soft">It never fires.</p>;
  return (
    <ol aria-label={label} className="flex flex-col text-sm">
      {fires.map((each) => (
        <li
          key={each.fire_at}
          className="flex flex-wrap items-center justify-between gap-x-4 gap-y-0.5 border-b border-line/60 py-1.5 last:border-0"
        >
          <span className="mono">{localWords(each.local)}</span>
          <span className="flex items-center gap-3">
            {each.note !== null && <Badge tone="warn">{each.note}</Badge>}
            <span className="text-soft">
              <Moment at={each.fire_at} />
            </span>
          </span>
        </li>
      ))}
    </ol>
  );
}

/** `2026-11-16T02:30:00+01:00` as `Mon 2026-11-16 02:30 +01:00`: the schedule's own clock. */
export function localWords(local: string): string {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?(?:\.\d+)?(.*)$/.exec(local);
  if (found === null) return local;
  const [, day, minutes, seconds = "", offset = ""] = found;
  const weekday = new Date(`${day}T12:00:00Z`).toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" });
  const rest = seconds === ":00" ? "" : seconds;
  return `${weekday} ${day} ${minutes}${rest} ${offset === "Z" ? "+00:00" : offset}`.trim();
}
