/** What jobs can be, and how their standing looks. */

import type { Job, JobKind, JobStatus } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { lineOf } from "~/lib/arguments";

export const JOB_KINDS: readonly JobKind[] = ["command", "http", "task"];
export const KIND_WORDS: Readonly<Record<JobKind, string>> = {
  command: "Command",
  http: "HTTP request",
  task: "Task",
};

export type JobWhen = "now" | "at" | "recurring";
export const JOB_WHENS: readonly JobWhen[] = ["now", "at", "recurring"];

export const STATUS_FACTS: Readonly<Record<JobStatus, { label: string; tone: Tone; meaning: string }>> = {
  pending: { label: "Pending", tone: "pending", meaning: "a run of it waits, or its first fire is to come" },
  running: { label: "Running", tone: "active", meaning: "a run of it is at work" },
  succeeded: { label: "Succeeded", tone: "good", meaning: "its last run succeeded" },
  failed: { label: "Failed", tone: "bad", meaning: "its last run failed" },
  paused: { label: "Paused", tone: "warn", meaning: "its schedule fires nothing until it is resumed" },
  cancelled: { label: "Cancelled", tone: "quiet", meaning: "nothing of it starts any more" },
  finished: { label: "Finished", tone: "quiet", meaning: "nothing of it is left to come" },
};
export const JOB_STATUSES = Object.keys(STATUS_FACTS) as JobStatus[];

/** What it does, in one line: the command, the request or the dag. */
export function whatItDoes(job: Job): string {
  const given = (job.parameters ?? {}) as Record<string, unknown>;
  if (job.kind === "command" && Array.isArray(given.arguments)) return lineOf(given.arguments.map(String));
  if (job.kind === "http") return `${String(given.method ?? "GET")} ${String(given.url ?? "")}`;
  return job.dag;
}
