/** What the form says of a schedule, as the server takes it; and the form that says what there is. */

import type { Misfire, Overlap, Schedule, ScheduleOrder } from "~/generated/api";
import { linesOf, objectIn } from "~/views/jobs/order";
import { whenOf, writtenOf } from "~/views/schedules/written";

export interface Draft {
  readonly dag: string;
  readonly times: string;
  readonly zone: string;
  readonly overlap: Overlap;
  readonly misfire: Misfire;
  readonly pauseAfter: string;
  readonly parameters: string;
  readonly note: string;
}

export const OVERLAPS: readonly (readonly [Overlap, string])[] = [
  ["allow_all", "Start beside it"],
  ["skip", "Skip the fire"],
  ["buffer_one", "Wait, one at most"],
  ["buffer_all", "Wait, in order"],
  ["cancel_other", "Cancel the open run, then start"],
  ["terminate_other", "Kill the open run, then start"],
];

export const MISFIRES: readonly (readonly [Misfire, string])[] = [
  ["all", "Run all of them"],
  ["last", "Run the last one"],
  ["none", "Run none of them"],
  ["from_now", "Start anew from now on"],
];

export function draftOf(schedule: Schedule): Draft {
  const { spec } = schedule;
  return {
    dag: schedule.dag,
    times: spec.when.map(writtenOf).join("\n"),
    zone: spec.timezone ?? "UTC",
    overlap: spec.overlap ?? "allow_all",
    misfire: spec.misfire ?? "last",
    pauseAfter: spec.pause_after_failures == null ? "" : String(spec.pause_after_failures),
    parameters: schedule.parameters == null ? "" : JSON.stringify(schedule.parameters, null, 2),
    note: schedule.note,
  };
}

/** What the form does not show stays as it is. */
export function orderOf(draft: Draft, before: Schedule | null): ScheduleOrder {
  return {
    dag: draft.dag,
    spec: {
      ...before?.spec,
      when: whenOf(linesOf(draft.times), before?.spec.when ?? []),
      timezone: draft.zone.trim() || "UTC",
      overlap: draft.overlap,
      misfire: draft.misfire,
      pause_after_failures: draft.pauseAfter === "" ? null : Number(draft.pauseAfter),
    },
    parameters: objectIn(draft.parameters),
    note: draft.note,
  };
}
