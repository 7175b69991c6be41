/** A step of statistics in words. Days are those of UTC, whatever the viewer's zone. */

import type { Width } from "~/generated/api";
import { clock, day, dayInWords, type Zone } from "~/lib/time";

export function stepWords(at: number, step: Width, zone: Zone): string {
  const when = new Date(at * 1000);
  return step === "day" ? `${dayInWords(when, "UTC")} ${when.getUTCFullYear()}` : `${day(when, zone)} ${clock(when, zone, false)}`;
}
