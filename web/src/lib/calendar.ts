/** Days as `2026-11-16`, months of them, and the instant at which a day begins in a zone. Pure. */

import { day, type Zone } from "./time.ts";

export type Day = string;

const DAY_MS = 86_400_000;

export function isDay(text: string | undefined): text is Day {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && dayAfter(dayAfter(text, -1)) === text;
}

export function dayAfter(of: Day, days = 1): Day {
  const at = new Date(Date.parse(`${of}T12:00:00Z`) + days * DAY_MS);
  return Number.isNaN(at.getTime()) ? of : at.toISOString().slice(0, 10);
}

/** `2026-11` some months later. */
export function monthAfter(month: string, months: number): string {
  const [year = 1970, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 15)).toISOString().slice(0, 7);
}

export function monthInWords(month: string): string {
  return new Date(`${month}-15T12:00:00Z`).toLocaleDateString("en-GB", {
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });
}

/** `16 November 2026`. */
export function dayInFull(of: Day): string {
  return `${Number(of.slice(8))} ${monthInWords(of.slice(0, 7))}`;
}

/** Weeks from Monday on; null where the month is not there. */
export function weeksOf(month: string): (Day | null)[][] {
  const first = `${month}-01`;
  const before = (new Date(`${first}T12:00:00Z`).getUTCDay() + 6) % 7;
  const days: (Day | null)[] = Array.from({ length: before }, () => null);
  for (let at = first; at.startsWith(month); at = dayAfter(at)) days.push(at);
  while (days.length % 7 !== 0) days.push(null);
  return Array.from({ length: days.length / 7 }, (_, week) => days.slice(week * 7, week * 7 + 7));
}

/** The first instant of a day. Where clocks leave midnight out, the day begins when they go on. */
export function startOf(of: Day, zone: Zone): Date {
  const midnight = Date.parse(`${of}T00:00:00Z`);
  // Zones are at most 14 hours away; the begin is the first minute whose day it is.
  let low = midnight - 15 * 3_600_000;
  let high = midnight + 15 * 3_600_000;
  while (high - low > 60_000) {
    const middle = Math.floor((low + high) / 2 / 60_000) * 60_000;
    if (day(new Date(middle), zone) < of) low = middle;
    else high = middle;
  }
  return new Date(high);
}
