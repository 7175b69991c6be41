/** One clock for the whole page: whatever shows the age of something moves together. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = new Date();
let timer: number | undefined;

function tick(): void {
  now = new Date();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      window.clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, to the second. */
export function useNow(): Date {
  return useSyncExternalStore(subscribe, () => now);
}
