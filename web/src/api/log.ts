/** One attempt's log, by byte range and as it grows. */

import { addressOf, askRaw } from "~/api/call";

export type Ending = "open" | "complete" | "lost";

export interface LogName {
  readonly run: number;
  readonly task: string;
  readonly attempt: number;
  readonly term: number;
}

export interface Grown {
  readonly bytes: Uint8Array;
  readonly next: number;
  readonly ending: Ending;
}

const WAIT_SECONDS = 20;

/** How long it is by now, and whether more may come. */
export async function measure(log: LogName, signal: AbortSignal): Promise<{ size: number; ending: Ending }> {
  const told = await askRaw("read_log", { ...named(log), range: "bytes=-1", signal });
  const range = /\/(\d+)$/.exec(told.headers.get("content-range") ?? "");
  const size = range === null ? (await told.arrayBuffer()).byteLength : Number(range[1]);
  return { size, ending: endingOf(told) };
}

/** Bytes from one to another, the second left out; the server gives 1 MiB at a time. */
export async function readBytes(log: LogName, from: number, to: number, signal: AbortSignal): Promise<Uint8Array> {
  if (from >= to) return new Uint8Array();
  const told = await askRaw("read_log", { ...named(log), range: `bytes=${from}-${to - 1}`, signal });
  return new Uint8Array(await told.arrayBuffer());
}

/** What comes after a byte, as soon as it comes. */
export async function awaitMore(log: LogName, offset: number, signal: AbortSignal): Promise<Grown> {
  const { parts, query } = named(log);
  const told = await askRaw("read_log", { parts, query: { ...query, offset, wait: WAIT_SECONDS }, signal });
  const bytes = new Uint8Array(await told.arrayBuffer());
  return { bytes, next: offset + bytes.length, ending: endingOf(told) };
}

export function downloadAddress(log: LogName): string {
  const { parts, query } = named(log);
  return addressOf("read_log", parts, query);
}

function named({ run, task, attempt, term }: LogName) {
  return { parts: { run, task, number: attempt }, query: { term } };
}

function endingOf(told: Response): Ending {
  return (told.headers.get("mainspring-log") ?? "open") as Ending;
}
