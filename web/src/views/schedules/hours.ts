/** Hours to come, as squares of a map and as places on a line. Pure: the zone and the clock are given. */

import type { ComingFires } from "~/generated/api";
import { clock, day, dayInWords, type Zone } from "~/lib/time";

export const HOUR_MS = 3_600_000;

/** How many fires each hour has, of all schedules. */
export function totalsOf(coming: readonly ComingFires[]): number[] {
  const totals: number[] = [];
  for (const each of coming) {
    each.by_hour.forEach((count, at) => {
      totals[at] = (totals[at] ?? 0) + count;
    });
  }
  return totals;
}

export interface Hour {
  /** Counted from the first. */
  readonly at: number;
  readonly clock: string;
  readonly count: number;
}

export interface DayOfHours {
  readonly day: string;
  readonly words: string;
  readonly hours: readonly Hour[];
}

/** Hours by the day of the zone; a day of a change of clocks has 23 or 25. */
export function daysOf(since: Date, totals: readonly number[], zone: Zone): DayOfHours[] {
  const days: { day: string; words: string; hours: Hour[] }[] = [];
  totals.forEach((count, at) => {
    const moment = new Date(since.getTime() + at * HOUR_MS);
    const name = day(moment, zone);
    if (days.at(-1)?.day !== name) days.push({ day: name, words: dayInWords(moment, zone), hours: [] });
    days.at(-1)!.hours.push({ at, clock: clock(moment, zone, false), count });
  });
  return days;
}

/** The hours with the most fires, the fullest first. */
export function busiest(totals: readonly number[], count: number): number[] {
  return totals
    .map((_, at) => at)
    .filter((at) => totals[at]! > 0)
    .sort((a, b) => totals[b]! - totals[a]! || a - b)
    .slice(0, count);
}

/** Where an instant is between two others: 0 to 1. */
export function placeOf(at: number, from: number, to: number): number {
  return to <= from ? 0 : Math.min(1, Math.max(0, (at - from) / (to - from)));
}

/** Marks on a line of so many hours: few enough to be read. */
export function ticksOf(since: Date, hours: number, zone: Zone): { place: number; text: string }[] {
  const step = [1, 3, 6, 12, 24].find((each) => hours / each <= 8) ?? 24;
  const ticks: { place: number; text: string }[] = [];
  for (let at = 0; at < hours; at += 1) {
    const moment = new Date(since.getTime() + at * HOUR_MS);
    const time = clock(moment, zone, false);
    if (Number(time.slice(0, 2)) % step !== 0) continue;
    ticks.push({ place: at / hours, text: time === "00:00" ? dayInWords(moment, zone) : time });
  }
  return ticks;
}
