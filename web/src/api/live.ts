/**
 * One stream of changes for the whole page. Views say what they look at; the union of that is asked
 * of the server. Events are states: they are put over the answers in hand, or make these old.
 */

import type { Query } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";

import { patchRun, patchRuns } from "~/api/patches";
import { queryClient } from "~/api/queries";
import type { Run, Task } from "~/generated/api";
import { Pace } from "~/lib/pace";

export type Link = "joining" | "live" | "cut";

/** Views come and go together when the address changes. */
const REOPEN_MS = 30;
const AGAIN_MS = 2000;
/** A view that opens is shown before anything that it shows is asked for a second time. */
const SETTLED_MS = 500;
/** The server beats every 15 s; who hears nothing for so long is cut off, though nothing has failed. */
const SILENT_MS = 40_000;

const wanted = new Map<string, number>();
const followers = new Map<string, Set<(event: LogWritten | null) => void>>();
const listeners = new Set<() => void>();
let link: Link = "joining";
let source: EventSource | null = null;
let asked = "";
let timer: number | undefined;

export interface LogWritten {
  readonly topic: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly ending: string;
}

/** While the caller is shown, changes of these topics are followed. */
export function useTopics(...topics: string[]): void {
  const key = topics.join("\n");
  useEffect(() => {
    const mine = key.split("\n").filter(Boolean);
    for (const each of mine) wanted.set(each, (wanted.get(each) ?? 0) + 1);
    reopenSoon(REOPEN_MS);
    return () => {
      for (const each of mine) {
        const count = wanted.get(each)! - 1;
        if (count === 0) wanted.delete(each);
        else wanted.set(each, count);
      }
      reopenSoon(REOPEN_MS);
    };
  }, [key]);
}

/** Each piece that is written to a log; null when pieces were left out and it is to be read again. */
export function useLog(topic: string | null, hear: (event: LogWritten | null) => void): void {
  useTopics(topic ?? "");
  useEffect(() => {
    if (topic === null) return;
    const mine = followers.get(topic) ?? new Set();
    followers.set(topic, mine.add(hear));
    return () => void mine.delete(hear);
  }, [topic, hear]);
}

export function useLink(): Link {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => link,
  );
}

function reopenSoon(ms: number): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(reopen, ms);
}

function reopen(): void {
  const topics = [...wanted.keys()].sort().join(",");
  if (topics === asked && source !== null && source.readyState !== EventSource.CLOSED) return;
  source?.close();
  source = null;
  asked = topics;
  if (topics === "") return;
  const mine = new EventSource(`/api/v1/stream?topics=${encodeURIComponent(topics)}`);
  source = mine;
  const on = (name: string, act: (told: never) => unknown) =>
    mine.addEventListener(name, (event) => {
      if (source !== mine) return;
      heard();
      act(JSON.parse((event as MessageEvent<string>).data) as never);
    });
  mine.onerror = () => {
    if (source !== mine) return;
    tell("cut");
    if (mine.readyState === EventSource.CLOSED) reopenSoon(AGAIN_MS);
  };
  on("beat", () => undefined);
  let settled = false;
  on("listening", () => {
    const wait = link === "cut" ? 0 : SETTLED_MS;
    tell("live");
    // What changed before the stream was open is nobody's news: read anew what is in sight.
    window.setTimeout(() => {
      settled = true;
      if (source !== mine) return;
      void queryClient.invalidateQueries({ predicate: (query) => query.meta?.topics !== undefined });
    }, wait);
  });
  on("end", () => {
    mine.close();
    reopenSoon(AGAIN_MS);
  });
  on("resync", ({ topic }: { topic: string }) => {
    makeOld(topic);
    for (const hear of followers.get(topic) ?? []) hear(null);
  });
  on("runs", ({ topic, runs }: { topic: string; runs: Run[] }) => {
    patchRuns(runs);
    makeOld(topic, ["runs", "run"]);
  });
  on("run", ({ run, tasks, whole }: { run: Run; tasks: Task[]; whole: boolean }) => {
    patchRun(run, tasks, whole);
    makeOld(`run:${run.id}`, ["run"]);
  });
  on("log", (event: LogWritten) => {
    for (const hear of followers.get(event.topic) ?? []) hear(event);
  });
  for (const name of ["queues", "workers", "dags"]) {
    // A stream begins by telling these whole; all of them are about to be read anyway.
    on(name, ({ topic }: { topic: string }) => settled && makeOld(topic));
  }
}

let silence: number | undefined;

function heard(): void {
  window.clearTimeout(silence);
  silence = window.setTimeout(() => {
    tell("cut");
    tryAnew();
  }, SILENT_MS);
}

/** A connection that is dead is not seen to be: another one tells. */
function tryAnew(): void {
  asked = "";
  reopenSoon(0);
}

for (const event of ["offline", "online"]) window.addEventListener(event, tryAnew);

const waiting = new Set<string>();
/** Among all runs something happens all the time, and lists of other things that it touches are long. */
const lists = new Pace(1000);

/**
 * What is in hand about this topic is asked again, but for what an event has already mended. What is
 * being asked is asked once more when the answer is there: to begin anew at each event would never
 * come to an end where answers take longer than events.
 */
function makeOld(topic: string, mended: readonly string[] = []): void {
  const found = queryClient.getQueryCache().findAll({
    predicate: (query) =>
      (query.meta?.topics as string[] | undefined)?.includes(topic) === true &&
      !mended.includes(String(query.queryKey[0])),
  });
  for (const query of found) {
    if (topic === "runs") askPaced(query);
    else askAgain(query, ask);
  }
}

function ask(query: Query): void {
  void queryClient.invalidateQueries({ queryKey: query.queryKey, exact: true });
}

function askPaced(query: Query): void {
  lists.do(query.queryHash, () => askAgain(query, askPaced));
}

/** At once, or when the answer that is on its way is there, in the way that is given. */
function askAgain(query: Query, later: (query: Query) => void): void {
  if (query.state.fetchStatus !== "fetching" || query.promise === undefined) ask(query);
  else if (!waiting.has(query.queryHash)) {
    waiting.add(query.queryHash);
    const done = () => {
      waiting.delete(query.queryHash);
      later(query);
    };
    query.promise.then(done, done);
  }
}

function tell(now: Link): void {
  if (now === link) return;
  link = now;
  for (const listener of listeners) listener();
}
