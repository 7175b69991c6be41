/** Times as an author writes them, from times as the server tells them, and the spec that is meant. */

import type { ScheduleSpec } from "~/generated/api";

export type When = ScheduleSpec["when"][number];

/** A line that means the same: `0 3 * * *`, `every 90m phase 15m`, an instant, an RRULE. */
export function writtenOf(when: When): string {
  switch (when.type) {
    case "cron":
      return when.expression;
    case "every":
      return `every ${lengthOf(when.seconds)}${when.phase_seconds ? ` phase ${lengthOf(when.phase_seconds)}` : ""}`;
    case "once":
      return when.at;
    case "dates":
      return when.at.join("\n");
    case "rrule":
      return when.rule.replaceAll("\n", " ");
    case "plugin":
      return `${when.name}:${when.address ?? ""}`;
  }
}

/** Lines as times; one that still says what a time said before is that time, to the letter. */
export function whenOf(lines: readonly string[], before: readonly When[]): (string | When)[] {
  const known = new Map(before.map((each) => [writtenOf(each), each]));
  const whole = lines.join("\n");
  const all = before.map(writtenOf).join("\n");
  if (whole === all) return [...before];
  return lines.map((line) => known.get(line) ?? line);
}

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
];

/** `90m`, `1h`, `45s`: exact, in the largest unit that fits. */
export function lengthOf(seconds: number): string {
  const found = UNITS.find(([size]) => seconds >= size && seconds % size === 0);
  return found === undefined ? `${seconds}s` : `${seconds / found[0]}${found[1]}`;
}
