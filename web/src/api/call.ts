/** Asks the server. Types come from its own OpenAPI document. */

import { sessionEnded } from "~/api/session";
import { OPERATIONS, type Operations, type Problem } from "~/generated/api";

export type Operation = keyof Operations;
export type Answer<O extends Operation> = Operations[O]["answer"];

type Given<T> = T extends undefined
  ? object
  : undefined extends T
    ? { body?: T }
    : { body: T };
type Some<T, Name extends string> = object extends T ? { [N in Name]?: T } : { [N in Name]: T };

export type Asked<O extends Operation> = Some<Operations[O]["parts"], "parts"> &
  Some<Operations[O]["query"], "query"> &
  Given<Operations[O]["body"]> & { etag?: string; signal?: AbortSignal };

/** The server said no, and why. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.name = "Refused";
    this.problem = problem;
  }

  get hint(): string | null {
    return this.problem.hint ?? null;
  }
}

/** The server could not be asked. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  readonly hint = "Is it running? The page goes on by itself when it is back.";
}

/**
 * One operation. Every change carries an Idempotency-Key, so that asking again after a cut
 * connection cannot do it twice.
 */
export async function ask<O extends Operation>(
  operation: O,
  ...[asked]: object extends Asked<O> ? [asked?: Asked<O>] : [asked: Asked<O>]
): Promise<Answer<O>> {
  const told = await send(operation, asked as Loose | undefined);
  if (told.status === 204) return undefined as never;
  const json = told.headers.get("content-type")?.startsWith("application/json");
  return (json ? await told.json() : await told.text()) as Answer<O>;
}

/** The same, with the version that the server gave it, for `If-Match`. */
export async function askWithTag<O extends Operation>(
  operation: O,
  asked: Asked<O>,
): Promise<{ answer: Answer<O>; etag: string | null }> {
  const told = await send(operation, asked as Loose);
  return { answer: (await told.json()) as Answer<O>, etag: told.headers.get("etag") };
}

/** Questions too long for an address: nothing comes of asking them twice, so nobody need remember. */
const QUESTIONS: readonly Operation[] = ["preview_spec", "diff_schedule", "estimate_backfill"];

/** The answer itself, for what is neither JSON nor short; `range` is one of bytes. */
export async function askRaw<O extends Operation>(
  operation: O,
  asked: Asked<O> & { range?: string },
): Promise<Response> {
  return send(operation, asked as Loose);
}

interface Loose {
  range?: string;
  parts?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
  etag?: string;
  signal?: AbortSignal;
}

async function send(operation: Operation, asked: Loose = {}): Promise<Response> {
  const [method] = OPERATIONS[operation];
  const headers = new Headers({ accept: "application/json" });
  if (asked.body !== undefined) headers.set("content-type", "application/json");
  if (method === "POST" && !QUESTIONS.includes(operation)) headers.set("idempotency-key", crypto.randomUUID());
  if (asked.etag !== undefined) headers.set("if-match", asked.etag);
  if (asked.range !== undefined) headers.set("range", asked.range);
  let told: Response;
  try {
    told = await fetch(addressOf(operation, asked.parts, asked.query), {
      method,
      headers,
      body: asked.body === undefined ? null : JSON.stringify(asked.body),
      signal: asked.signal ?? null,
    });
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new Unreachable("The server cannot be reached.");
  }
  if (told.ok) return told;
  if (told.status === 401) sessionEnded();
  throw new Refused(await problemIn(told));
}

export function addressOf(
  operation: Operation,
  parts: Record<string, string | number> = {},
  query: Record<string, unknown> = {},
): string {
  const path = OPERATIONS[operation][1].replace(/{(\w+)}/g, (_, name: string) =>
    encodeURIComponent(String(parts[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

async function problemIn(told: Response): Promise<Problem> {
  try {
    return (await told.json()) as Problem;
  } catch {
    return {
      type: "about:blank",
      title: told.statusText || "The server answered in a way that nobody expected",
      status: told.status,
      code: "unexpected",
      detail: `The server answered ${told.status}.`,
    } as Problem;
  }
}
