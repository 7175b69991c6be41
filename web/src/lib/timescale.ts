/** Where to put marks on a line of time. Pure; everything is in seconds from its beginning. */

const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
  7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
];

/** Round places from 0 to `span`, about so many. */
export function marks(span: number, about: number): number[] {
  if (!(span > 0) || about < 1) return [0];
  const step = STEPS.find((each) => span / each <= about) ?? Math.ceil(span / about / 604_800) * 604_800;
  const count = Math.floor(span / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, at) => at * step);
}

/** A stretch of time as shares of the whole, within 0 and 1. */
export function shares(from: number, to: number, begin: number, end: number): { left: number; width: number } {
  const span = Math.max(end - begin, 1e-9);
  const left = Math.min(Math.max((from - begin) / span, 0), 1);
  const right = Math.min(Math.max((to - begin) / span, 0), 1);
  return { left, width: Math.max(0, right - left) };
}
