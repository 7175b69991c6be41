/** Days of runs, week by week, as a calendar shows them. */

import { day, type Zone } from "~/lib/time";

export interface DayOfRuns {
  /** `2026-11-16`. */
  readonly date: string;
  readonly runs: number;
  readonly failed: number;
}

/** Weeks from the oldest to the newest, each Monday to Sunday; days outside of the span are null. */
export function weeksOf(
  runs: readonly { created_at: string; state: string }[],
  today: string,
  weeks: number,
  zone: Zone,
): (DayOfRuns | null)[][] {
  const counts = new Map<string, { runs: number; failed: number }>();
  for (const run of runs) {
    const date = day(new Date(run.created_at), zone);
    const count = counts.get(date) ?? { runs: 0, failed: 0 };
    count.runs += 1;
    if (run.state === "failed") count.failed += 1;
    counts.set(date, count);
  }
  // Dates are counted in UTC, where each day has 24 hours.
  const last = new Date(`${today}T00:00:00Z`);
  const weekday = (last.getUTCDay() + 6) % 7;
  const first = last.getTime() - (weekday + 7 * (weeks - 1)) * DAY_MS;
  return Array.from({ length: weeks }, (_, week) =>
    Array.from({ length: 7 }, (_, at) => {
      const when = first + (7 * week + at) * DAY_MS;
      if (when > last.getTime()) return null;
      const date = new Date(when).toISOString().slice(0, 10);
      return { date, ...(counts.get(date) ?? { runs: 0, failed: 0 }) };
    }),
  );
}

const DAY_MS = 86_400_000;
