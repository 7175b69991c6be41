/** Days of runs, week by week, as a calendar shows them. Days are those of UTC, in which ends are counted. */

export interface DayOfRuns {
  /** `2026-11-16`. */
  readonly date: string;
  readonly runs: number;
  readonly failed: number;
}

/** Weeks from the oldest to the newest, each Monday to Sunday; days to come are null. */
export function weeksOf(
  points: readonly { at: string; runs: number; failed: number }[],
  today: string,
  weeks: number,
): (DayOfRuns | null)[][] {
  const known = new Map(points.map((each) => [each.at.slice(0, 10), each]));
  const last = new Date(`${today}T00:00:00Z`);
  const weekday = (last.getUTCDay() + 6) % 7;
  const first = last.getTime() - (weekday + 7 * (weeks - 1)) * DAY_MS;
  return Array.from({ length: weeks }, (_, week) =>
    Array.from({ length: 7 }, (_, at) => {
      const when = first + (7 * week + at) * DAY_MS;
      if (when > last.getTime()) return null;
      const date = new Date(when).toISOString().slice(0, 10);
      const { runs, failed } = known.get(date) ?? { runs: 0, failed: 0 };
      return { date, runs, failed };
    }),
  );
}

const DAY_MS = 86_400_000;
