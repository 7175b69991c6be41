/** Marks along an axis of time. */

const STEPS_SECONDS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
  3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
];

/** Round moments from 0 to the end, so many at most. */
export function ticks(seconds: number, most: number): number[] {
  if (!(seconds > 0) || most < 1) return [0];
  const step = STEPS_SECONDS.find((each) => seconds / each <= most) ?? Math.ceil(seconds / most);
  const found: number[] = [];
  for (let at = 0; at <= Math.floor(seconds / step); at += 1) found.push(at * step);
  return found;
}

/** Heights of bars from 0 to 1; the root keeps short ones in sight beside long ones. */
export function heights(values: readonly (number | null)[]): number[] {
  const most = Math.max(0, ...values.map((each) => each ?? 0));
  return values.map((each) => (each === null || most === 0 ? 0 : Math.sqrt(Math.max(0, each) / most)));
}
