/** Looking through a log that is not in hand: piece by piece, and what was found so far at once. */

import { useEffect, useState } from "react";

import { finder } from "~/lib/log";
import type { LogStore } from "~/views/tasks/LogStore";

const FOUND_MAX = 10_000;
const TYPED_MS = 200;

export interface Findings {
  /** Where lines begin that hold the words. */
  readonly lines: readonly number[];
  /** How much has been looked through, of 1. */
  readonly share: number;
  /** There are more than are told. */
  readonly cut: boolean;
}

const NOTHING: Findings = { lines: [], share: 1, cut: false };

export function useSearch(store: LogStore, words: string): Findings {
  const [findings, setFindings] = useState(NOTHING);
  useEffect(() => {
    if (words === "") {
      setFindings(NOTHING);
      return;
    }
    const stop = new AbortController();
    const look = async () => {
      setFindings({ ...NOTHING, share: 0 });
      const lines: number[] = [];
      for await (const { found, upTo } of store.search(finder(words), stop.signal)) {
        lines.push(...found);
        const cut = lines.length > FOUND_MAX;
        if (stop.signal.aborted) return;
        setFindings({ lines: lines.slice(0, FOUND_MAX), share: cut ? 1 : upTo / store.size, cut });
        if (cut) return;
      }
      setFindings({ lines, share: 1, cut: false });
    };
    const timer = window.setTimeout(() => {
      look().catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
    }, TYPED_MS);
    return () => {
      window.clearTimeout(timer);
      stop.abort();
    };
  }, [store, words]);
  return findings;
}
