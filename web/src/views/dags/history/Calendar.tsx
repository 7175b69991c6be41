/** A square for each day: the darker, the more runs ended; red, where some failed. Click one to see them. */

import { useMemo } from "react";

import type { Point } from "~/generated/api";
import { useNarrow } from "~/components/Rows";
import { weeksOf, type DayOfRuns } from "~/lib/days_of_runs";
import { day } from "~/lib/time";
import { counted } from "~/lib/words";

const WEEKDAYS = ["Mon", "", "Wed", "", "Fri", "", "Sun"];

const WEEKS = 52;
export const DAYS_SHOWN = WEEKS * 7;

export function Calendar({ points, look }: { points: readonly Point[]; look: (since: Date, until: Date) => void }) {
  const weeks = useNarrow() ? 16 : WEEKS;
  const shown = useMemo(() => weeksOf(points, day(new Date(), "UTC"), weeks), [points, weeks]);
  const most = Math.max(1, ...shown.flat().map((each) => each?.runs ?? 0));
  return (
    <div role="img" aria-label={summary(shown)} className="flex gap-[3px] overflow-x-auto p-4">
      <div aria-hidden className="flex flex-col gap-[3px] pt-5 pr-1 text-xs text-faint">
        {WEEKDAYS.map((name, at) => (
          <span key={at} className="h-3.5 leading-[14px]">
            {name}
          </span>
        ))}
      </div>
      {shown.map((week, at) => (
        <div key={at} className="flex flex-col gap-[3px]">
          <span className="h-[17px] w-3.5 text-xs whitespace-nowrap text-faint">{monthOf(week, shown[at - 1])}</span>
          {week.map((each, weekday) => (
            <Square key={weekday} of={each} most={most} look={look} />
          ))}
        </div>
      ))}
    </div>
  );
}

function Square({ of, most, look }: { of: DayOfRuns | null; most: number; look: (since: Date, until: Date) => void }) {
  if (of === null) return <span className="size-3.5" />;
  if (of.runs === 0) return <span title={`${of.date}: no run`} className="size-3.5 rounded-[3px] bg-sunken" />;
  const failed = of.failed === 0 ? "" : `, ${of.failed} failed`;
  const begin = new Date(`${of.date}T00:00:00Z`);
  return (
    <span
      data-tone={of.failed === 0 ? "good" : "bad"}
      title={`${of.date}: ${counted(of.runs, "run")}${failed}`}
      onClick={() => look(begin, new Date(begin.getTime() + 86_400_000))}
      className="size-3.5 cursor-pointer rounded-[3px] bg-tone-solid"
      style={{ opacity: 0.35 + 0.65 * Math.sqrt((of.failed || of.runs) / most) }}
    />
  );
}

function monthOf(week: readonly (DayOfRuns | null)[], before: readonly (DayOfRuns | null)[] | undefined): string {
  const month = week[0]?.date.slice(0, 7);
  if (month === undefined || before === undefined || before[0]?.date.slice(0, 7) === month) return "";
  return new Date(`${month}-15T00:00:00Z`).toLocaleDateString("en-GB", { month: "short", timeZone: "UTC" });
}

function summary(weeks: readonly (readonly (DayOfRuns | null)[])[]): string {
  const days = weeks.flat().filter((each) => each !== null && each.runs > 0);
  const runs = days.reduce((sum, each) => sum + each!.runs, 0);
  const failed = days.reduce((sum, each) => sum + each!.failed, 0);
  return `${counted(runs, "run")} on ${counted(days.length, "day")}, ${failed} of them failed`;
}
