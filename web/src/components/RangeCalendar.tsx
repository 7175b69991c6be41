/** A range of days: press its first day, then its last. Arrow keys move between days. */

import { useState, type KeyboardEvent } from "react";

import { Button } from "~/components/Button";
import { dayAfter, dayInFull, monthAfter, monthInWords, weeksOf, type Day } from "~/lib/calendar";

export interface DayRange {
  readonly from: Day | undefined;
  readonly to: Day | undefined;
}

const WEEKDAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"];
const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

export function RangeCalendar({
  range,
  last,
  choose,
}: {
  range: DayRange;
  /** No day after this one can be chosen. */
  last: Day;
  choose: (range: DayRange) => void;
}) {
  const [month, setMonth] = useState(monthAfter((range.to ?? range.from ?? last).slice(0, 7), -1));
  const press = (day: Day) => {
    if (range.from === undefined || range.to !== undefined || day < range.from) choose({ from: day, to: undefined });
    else choose({ from: range.from, to: day });
  };
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = STEPS[event.key];
    const at = (event.target as HTMLElement).dataset.day;
    if (step === undefined || at === undefined) return;
    event.preventDefault();
    const next = dayAfter(at, step);
    event.currentTarget.querySelector<HTMLElement>(`[data-day="${next}"]`)?.focus();
  };
  return (
    <div>
      <div className="mb-2 flex items-center justify-between">
        <Button look="bare" aria-label="Earlier months" onClick={() => setMonth(monthAfter(month, -1))}>
          ‹
        </Button>
        <Button
          look="bare"
          aria-label="Later months"
          disabled={monthAfter(month, 1) >= last.slice(0, 7)}
          onClick={() => setMonth(monthAfter(month, 1))}
        >
          ›
        </Button>
      </div>
      <div className="grid grid-cols-2 items-start gap-8 max-sm:grid-cols-1" onKeyDown={move}>
        {[month, monthAfter(month, 1)].map((each) => (
          <Month key={each} month={each} range={range} last={last} press={press} />
        ))}
      </div>
    </div>
  );
}

function Month({
  month,
  range,
  last,
  press,
}: {
  month: string;
  range: DayRange;
  last: Day;
  press: (day: Day) => void;
}) {
  return (
    <table className="w-full border-separate border-spacing-0.5 text-center text-sm">
      <caption className="pb-1 font-medium">{monthInWords(month)}</caption>
      <thead>
        <tr>
          {WEEKDAYS.map((each) => (
            <th key={each} scope="col" className="text-xs font-normal text-faint">
              {each}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weeksOf(month).map((week, at) => (
          <tr key={at}>
            {week.map((day, weekday) => (
              <td key={weekday} className="p-0">
                {day !== null && (
                  <button
                    type="button"
                    data-day={day}
                    aria-label={dayInFull(day)}
                    aria-pressed={isIn(day, range)}
                    disabled={day > last}
                    onClick={() => press(day)}
                    className={`h-8 w-full rounded-sm disabled:text-faint disabled:opacity-50 ${
                      day === range.from || day === range.to
                        ? "bg-accent font-medium text-on-accent"
                        : isIn(day, range)
                          ? "bg-accent-wash"
                          : "enabled:hover:bg-hover"
                    }`}
                  >
                    {Number(day.slice(8))}
                  </button>
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function isIn(day: Day, { from, to }: DayRange): boolean {
  return from !== undefined && day >= from && day <= (to ?? from);
}
