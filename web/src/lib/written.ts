/** When a schedule fires, as lines that a person can change, and back. */

import type { WholeSpec, WrittenSpec } from "~/generated/api";

type When = WholeSpec["when"][number];

/** A cron line as it is; anything else as JSON. */
export function lineOf(when: When): string {
  return when.type === "cron" ? when.expression : JSON.stringify(when);
}

/** The same schedule at other times. Throws if a line that looks like JSON is none. */
export function rewritten(spec: WholeSpec, lines: string, timezone: string): WrittenSpec {
  const when = lines
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => (line.startsWith("{") ? (JSON.parse(line) as When) : line));
  return { ...spec, when, timezone };
}
