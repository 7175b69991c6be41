/** Statistics step by step: which steps there are between two instants, also those in which nothing ended. Pure. */

import type { Point, Width } from "~/generated/api";

export const STEP_MS: Readonly<Record<Width, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export interface Step {
  /** Where it begins, in seconds. */
  readonly at: number;
  readonly point: Point | null;
}

/** One for each step, in order; the points know only of those in which something ended. */
export function stepsOf(told: { since: string; until: string; step: Width; points: readonly Point[] }): Step[] {
  const length = STEP_MS[told.step];
  const points = new Map(told.points.map((point) => [Date.parse(point.at), point]));
  const steps: Step[] = [];
  for (let at = Date.parse(told.since); at < Date.parse(told.until); at += length) {
    steps.push({ at: at / 1000, point: points.get(at) ?? null });
  }
  return steps;
}
