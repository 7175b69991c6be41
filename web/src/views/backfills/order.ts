/** What the wizard says of a backfill, as the server takes it. Pure: the clock is given. */

import type { DstFold, DstGap, NewBackfill, Reprocess } from "~/generated/api";
import { dayAfter, startOf, type Day } from "../../lib/calendar.ts";
import { linesOf, objectIn, Unclear } from "../jobs/order.ts";

/** A schedule has its own dag and its own clock; else both are said. */
export type Subject =
  | { readonly schedule: string; readonly zone: string }
  | { readonly dag: string; readonly times: string; readonly zone: string };

export interface Draft {
  readonly gap: DstGap;
  readonly fold: DstFold;
  /** Names of calendars, with commas. */
  readonly exclude: string;
  readonly parameters: string;
  readonly reprocess: Reprocess;
  readonly concurrency: string;
  readonly priority: string;
  readonly newestFirst: boolean;
  readonly note: string;
}

export const EMPTY: Draft = {
  gap: "run_after_gap",
  fold: "first",
  exclude: "",
  parameters: "",
  reprocess: "none",
  concurrency: "1",
  priority: "0",
  newestFirst: false,
  note: "",
};

/** Null where it is not yet said of what, or for which days. Days are those of the subject's clock. */
export function orderOf(
  subject: Subject | null,
  days: { readonly from: Day | undefined; readonly to: Day | undefined },
  draft: Draft,
  now: Date,
): NewBackfill | null {
  if (subject === null || days.from === undefined) return null;
  if (!isZone(subject.zone)) throw new Unclear(`There is no time zone ${subject.zone}.`);
  const parameters = objectIn(draft.parameters);
  return {
    ...subjectOf(subject, draft),
    from: startOf(days.from, subject.zone).toISOString(),
    to: earlier(startOf(dayAfter(days.to ?? days.from), subject.zone), now).toISOString(),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    reprocess: draft.reprocess,
    concurrency: Math.max(1, Number(draft.concurrency) || 1),
    newest_first: draft.newestFirst,
    priority: Number(draft.priority) || 0,
    ...(draft.note && { note: draft.note }),
  };
}

function subjectOf(subject: Subject, draft: Draft): Pick<NewBackfill, "schedule" | "dag" | "spec"> {
  if ("schedule" in subject) return { schedule: subject.schedule };
  const when = linesOf(subject.times);
  if (when.length === 0) throw new Unclear("It is not said at which times it would have run.");
  const exclude = draft.exclude.split(",").map((each) => each.trim()).filter((each) => each !== "");
  return {
    dag: subject.dag,
    spec: { when, timezone: subject.zone, dst_gap: draft.gap, dst_fold: draft.fold, ...(exclude.length > 0 && { exclude }) },
  };
}

export function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return name !== "";
  } catch {
    return false;
  }
}

function earlier(a: Date, b: Date): Date {
  // To the minute, so that the order stays the same while somebody looks at it.
  const minute = new Date(Math.floor(b.getTime() / 60_000) * 60_000);
  return a < minute ? a : minute;
}
