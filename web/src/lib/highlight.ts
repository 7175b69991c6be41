/** Where sought words are in a line of many parts. */

import type { Part } from "./ansi.ts";

export interface Hit extends Part {
  readonly hit: boolean;
}

/** The same parts, cut where the sought words begin and end. */
export function highlight(parts: readonly Part[], words: string): Hit[] {
  const spans = spansOf(parts.map((part) => part.text).join(""), words);
  const told: Hit[] = [];
  let start = 0;
  for (const part of parts) {
    const end = start + part.text.length;
    let at = start;
    while (at < end) {
      const here = at;
      const span = spans.find(([, to]) => to > here);
      const hit = span !== undefined && span[0] <= here;
      const edge = span === undefined ? end : hit ? span[1] : span[0];
      const until = Math.min(edge, end);
      told.push({ text: part.text.slice(at - start, until - start), style: part.style, hit });
      at = until;
    }
    start = end;
  }
  return told;
}

function spansOf(text: string, words: string): [from: number, to: number][] {
  if (words === "") return [];
  const low = text.toLowerCase();
  const sought = words.toLowerCase();
  const spans: [number, number][] = [];
  for (let at = low.indexOf(sought); at !== -1; at = low.indexOf(sought, at + sought.length)) {
    spans.push([at, at + sought.length]);
  }
  return spans;
}
