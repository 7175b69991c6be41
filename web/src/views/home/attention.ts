/** What needs somebody, from answers in hand. Pure: the clock is given. The worst comes first. */

import type { Dag, Job, Lane, LetterGroup, Schedule, Worker } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { fromNow, length } from "~/lib/time";
import { counted } from "~/lib/words";

export interface Matter {
  readonly kind: string;
  readonly tone: Tone;
  readonly title: string;
  readonly about: string;
  readonly to: string;
  readonly search?: Record<string, string>;
}

const LATE_SECONDS = 60;
const STUCK_SECONDS = 300;

export interface Known {
  readonly dags: readonly Dag[];
  readonly failedJobs: readonly Job[];
  readonly letters: readonly LetterGroup[];
  readonly schedules: readonly Schedule[];
  readonly lanes: readonly Lane[];
  readonly workers: readonly Worker[];
}

export function mattersOf(known: Known, now: Date): Matter[] {
  return [
    ...stuck(known.lanes),
    ...silent(known.workers),
    ...late(known.schedules, now),
    ...failing(known.dags, now),
    ...failingJobs(known.failedJobs, now),
    ...dead(known.letters),
    ...givenUp(known.schedules),
  ];
}

function failing(dags: readonly Dag[], now: Date): Matter[] {
  return dags
    .filter((each) => each.gone_at === null && each.last_run?.state === "failed" && !isBuiltIn(each.name))
    .map((each) => ({
      kind: "Failing",
      tone: "bad",
      title: each.name,
      about: `its last run failed ${each.last_run!.created_at === null ? "" : fromNow(new Date(each.last_run!.created_at), now)}`,
      to: `/runs/${each.last_run!.id}`,
    }));
}

/** Those that jobs run on: how these went is told of the jobs. */
function isBuiltIn(dag: string): boolean {
  return dag.startsWith("mainspring.");
}

const JOBS_TOLD = 3;

/** Each by its name, unless there are many. */
function failingJobs(jobs: readonly Job[], now: Date): Matter[] {
  if (jobs.length > JOBS_TOLD) {
    const names = jobs.slice(0, JOBS_TOLD).map((each) => each.name);
    return [
      {
        kind: "Failing",
        tone: "bad",
        title: `${counted(jobs.length, "job")} failed`,
        about: `${names.join(", ")} and others`,
        to: "/jobs",
        search: { status: "failed" },
      },
    ];
  }
  return jobs.map((each) => ({
    kind: "Failing",
    tone: "bad",
    title: `Job ${each.name}`,
    about: `its last run failed ${each.last_run?.finished_at == null ? "" : fromNow(new Date(each.last_run.finished_at), now)}`,
    to: `/jobs/${encodeURIComponent(each.name)}`,
  }));
}

function dead(letters: readonly LetterGroup[]): Matter[] {
  const count = letters.reduce((sum, each) => sum + each.count, 0);
  if (count === 0) return [];
  return [
    {
      kind: "Dead letters",
      tone: "bad",
      title: `${counted(count, "task")} failed for good`,
      about: `${counted(letters.length, "different error")}, the last one ${letters[0]!.error_type} in ${letters[0]!.dag}`,
      to: "/dead-letters",
    },
  ];
}

function late(schedules: readonly Schedule[], now: Date): Matter[] {
  return schedules
    .filter((each) => each.pause === null && each.next_fire_at !== null)
    .map((each) => ({ each, seconds: (now.getTime() - Date.parse(each.next_fire_at!)) / 1000 }))
    .filter(({ seconds }) => seconds > LATE_SECONDS)
    .map(({ each, seconds }) => ({
      kind: "Late",
      tone: "bad",
      title: each.name,
      about: `should have fired ${length(seconds)} ago; is an engine at work?`,
      to: `/schedules/${encodeURIComponent(each.name)}`,
    }));
}

/** Paused by us, since its runs failed or it cannot be computed; or failing in a row. */
function givenUp(schedules: readonly Schedule[]): Matter[] {
  return schedules
    .filter((each) => each.pause?.by === "mainspring" || (each.pause === null && each.failures > 0))
    .map((each) => ({
      kind: each.pause === null ? "Failing" : "Given up",
      tone: "warn",
      title: each.name,
      about: each.pause?.note ?? `${counted(each.failures, "run")} failed in a row`,
      to: `/schedules/${encodeURIComponent(each.name)}`,
    }));
}

function stuck(lanes: readonly Lane[]): Matter[] {
  return lanes
    .filter((each) => each.pause === null && each.ready > 0)
    .filter((each) => each.workers === 0 || (each.oldest_seconds ?? 0) > STUCK_SECONDS)
    .map((each) => ({
      kind: "Stuck",
      tone: each.workers === 0 ? "bad" : "warn",
      title: `Queue ${each.queue}`,
      about:
        each.workers === 0
          ? `${counted(each.ready, "task")} wait, and no worker serves ${each.kind} tasks of it`
          : `the oldest of ${counted(each.ready, "task")} has waited for ${length(each.oldest_seconds ?? 0)}`,
      to: "/queues",
    }));
}

function silent(workers: readonly Worker[]): Matter[] {
  return workers
    .filter((each) => each.overdue)
    .map((each) => ({
      kind: "Silent",
      tone: "bad",
      title: `Worker ${each.name}`,
      about: "it was not heard of for longer than its lease",
      to: "/queues",
      search: { tab: "workers" },
    }));
}
