/** Instants and lengths in words. Pure: the clock and the zone are given. */

export type Zone = string;

export const HERE: Zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = formats.get(key);
  if (found === undefined) {
    found = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone, hourCycle: "h23" });
    formats.set(key, found);
  }
  return found;
}

function parts(at: Date, zone: Zone, options: Intl.DateTimeFormatOptions): Record<string, string> {
  return Object.fromEntries(format(zone, options).formatToParts(at).map((p) => [p.type, p.value]));
}

/** `2026-11-16 01:04:09`, which sorts as it reads. */
export function dateAndTime(at: Date, zone: Zone): string {
  return `${day(at, zone)} ${clock(at, zone)}`;
}

export function day(at: Date, zone: Zone): string {
  const p = parts(at, zone, { year: "numeric", month: "2-digit", day: "2-digit" });
  return `${p.year}-${p.month}-${p.day}`;
}

export function clock(at: Date, zone: Zone, seconds = true): string {
  const p = parts(at, zone, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return seconds ? `${p.hour}:${p.minute}:${p.second}` : `${p.hour}:${p.minute}`;
}

/** `Mon 16 Nov`. */
export function dayInWords(at: Date, zone: Zone): string {
  const p = parts(at, zone, { weekday: "short", day: "numeric", month: "short" });
  return `${p.weekday} ${p.day} ${p.month}`;
}

/** `+01:00`, as it is then and there. */
export function offset(at: Date, zone: Zone): string {
  const p = parts(at, zone, { timeZoneName: "longOffset" });
  return (p.timeZoneName ?? "").replace("GMT", "") || "+00:00";
}

const STEPS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** `2 h 4 min`, `38 s`, `0.42 s`, `8 ms`: two units at most. */
export function length(seconds: number): string {
  if (seconds < 0) return `−${length(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
  let rest = Math.round(seconds);
  const told: string[] = [];
  for (const [size, unit] of STEPS) {
    const count = Math.floor(rest / size);
    if (count > 0 || (told.length > 0 && unit !== "s")) {
      if (count > 0) told.push(`${count} ${unit}`);
      rest -= count * size;
      if (told.length === 2) break;
    }
  }
  return told.slice(0, 2).join(" ");
}

/** `3 min ago`, `in 12 s`, `just now`: one unit. */
export function fromNow(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const size = Math.abs(seconds);
  if (size < 1) return "just now";
  const [unit, name] = STEPS.find(([step]) => size >= step) ?? [1, "s"];
  const count = Math.floor(size / unit);
  return seconds > 0 ? `in ${count} ${name}` : `${count} ${name} ago`;
}
