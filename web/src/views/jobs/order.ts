/** What the form says, as the server takes it. Pure: what is wrong comes back as a sentence. */

import type { JobBody, JobKind } from "~/generated/api";
import { wordsOf } from "../../lib/arguments.ts";
import type { JobWhen } from "~/views/jobs/words";

export interface Draft {
  readonly name: string;
  readonly command: string;
  readonly cwd: string;
  readonly variables: string;
  readonly method: string;
  readonly url: string;
  readonly headers: string;
  readonly body: string;
  readonly task: string;
  readonly parameters: string;
  readonly at: string;
  readonly times: string;
  readonly zone: string;
  readonly retries: string;
  readonly timeout: string;
  readonly queue: string;
  readonly priority: string;
}

export class Unclear extends Error {
  override readonly name = "Unclear";
}

export function orderOf(kind: JobKind, when: JobWhen, draft: Draft): JobBody {
  return {
    ...(draft.name.trim() && { name: draft.name.trim() }),
    ...whatOf(kind, draft),
    ...scheduleOf(when, draft),
    ...(draft.retries !== "" && { retries: Number(draft.retries) }),
    ...(draft.timeout.trim() && { timeout: draft.timeout.trim() }),
    ...(draft.queue.trim() && { queue: draft.queue.trim() }),
    ...(draft.priority !== "" && { priority: Number(draft.priority) }),
  };
}

function whatOf(kind: JobKind, draft: Draft): JobBody {
  switch (kind) {
    case "command": {
      const words = wordsOf(draft.command);
      if (words.length === 0) throw new Unclear("The command is empty.");
      const command = draft.cwd.trim() ? { arguments: words, cwd: draft.cwd.trim() } : words;
      return { command, parameters: pairsIn(draft.variables, "=", "variable") };
    }
    case "http": {
      if (draft.url.trim() === "") throw new Unclear("The address is empty.");
      const headers = pairsIn(draft.headers, ":", "header");
      return {
        http: {
          url: draft.url.trim(),
          method: draft.method,
          headers,
          ...(draft.body !== "" && { body: draft.body }),
        },
      };
    }
    case "task":
      if (draft.task === "") throw new Unclear("No dag is chosen.");
      return { task: draft.task, parameters: objectIn(draft.parameters) };
  }
}

function scheduleOf(when: JobWhen, draft: Draft): JobBody {
  switch (when) {
    case "now":
      return {};
    case "at":
      if (draft.at === "") throw new Unclear("It is not said at which time it runs.");
      return { schedule: new Date(draft.at).toISOString() };
    case "recurring": {
      const times = linesOf(draft.times);
      if (times.length === 0) throw new Unclear("It is not said at which times it runs.");
      return { schedule: { when: times, timezone: draft.zone.trim() || "UTC" } };
    }
  }
}

export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

/** Lines such as `NAME=value`. */
export function pairsIn(text: string, sign: string, what: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of linesOf(text)) {
    const at = line.indexOf(sign);
    if (at < 1) throw new Unclear(`${line} is no ${what}: write a name, ${sign} and a value.`);
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}

/** A JSON object; nothing is an empty one. */
export function objectIn(text: string): Record<string, unknown> {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Unclear(`The parameters are not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Unclear('The parameters are not an object such as {"region": "eu"}.');
  }
  return value as Record<string, unknown>;
}
