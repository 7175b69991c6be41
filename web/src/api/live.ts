/**
 * One stream of changes for the whole page. Views say what they look at; the union of that is asked
 * of the server, and what it tells makes the answers in hand old, so that they are asked again.
 */

import { useEffect, useSyncExternalStore } from "react";

import { queryClient } from "~/api/queries";

export type Link = "joining" | "live" | "cut";

const REOPEN_MS = 30;
const AGAIN_MS = 2000;

const wanted = new Map<string, number>();
const listeners = new Set<() => void>();
let link: Link = "joining";
let source: EventSource | null = null;
let timer: number | undefined;

/** While the caller is shown, changes of these topics are followed. */
export function useTopics(...topics: string[]): void {
  const key = topics.join(",");
  useEffect(() => {
    const mine = key.split(",");
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

export function useLink(): Link {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => link,
  );
}

let asked = "";

function reopenSoon(ms: number): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(reopen, ms);
}

function reopen(): void {
  const topics = [...wanted.keys()].sort().join(",");
  if (topics === asked && source !== null && source.readyState !== EventSource.CLOSED) return;
  source?.close();
  asked = topics;
  if (topics === "") return;
  source = new EventSource(`/api/v1/stream?topics=${encodeURIComponent(topics)}`);
  source.onopen = () => {
    // What happened before the stream was open is nobody's news.
    if (link === "cut") void queryClient.invalidateQueries();
    tell("live");
  };
  source.onerror = () => {
    tell("cut");
    if (source?.readyState === EventSource.CLOSED) reopenSoon(AGAIN_MS);
  };
  source.addEventListener("change", (event) => refresh(event as MessageEvent<string>));
  source.addEventListener("resync", () => void queryClient.invalidateQueries());
}

function refresh(event: MessageEvent<string>): void {
  const { topic } = JSON.parse(event.data) as { topic: string };
  void queryClient.invalidateQueries({
    predicate: (query) => (query.meta?.topics as string[] | undefined)?.includes(topic) ?? false,
  });
}

function tell(now: Link): void {
  if (now === link) return;
  link = now;
  for (const listener of listeners) listener();
}
