/** What to say when there is nothing to show, or something went wrong. */

import type { ReactNode } from "react";

import { Refused, Unreachable } from "~/api/call";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-14 text-center">
      <p className="text-lg font-medium">{title}</p>
      <div className="max-w-prose text-soft">{children}</div>
    </div>
  );
}

export function Trouble({ error }: { error: unknown }) {
  const { title, hint, fields } = toldOf(error);
  return (
    <div
      role="alert"
      data-tone="bad"
      className="rounded-lg border border-tone-solid/40 bg-tone-wash px-4 py-3 text-tone-text"
    >
      <p className="font-medium">{title}</p>
      {fields.map((each) => (
        <p key={each}>{each}</p>
      ))}
      {hint !== null && <p className="text-sm text-ink">{hint}</p>}
    </div>
  );
}

export function toldOf(error: unknown): { title: string; hint: string | null; fields: string[] } {
  if (error instanceof Refused) {
    const fields = (error.problem.errors ?? []).map((each) => `${each.pointer}: ${each.message}`);
    return { title: error.message, hint: error.hint, fields };
  }
  if (error instanceof Unreachable) return { title: error.message, hint: error.hint, fields: [] };
  return { title: error instanceof Error ? error.message : String(error), hint: null, fields: [] };
}

/** Grey bars in the shape of what is coming; shown only when it takes long enough to notice. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-3 p-4 animate-[appear_.2s_.15s_both]">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className="h-4 rounded-sm bg-sunken" style={{ width: `${90 - ((at * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
