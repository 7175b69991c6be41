/** Short words about what was just done, and what the server refused. */

import { useSyncExternalStore } from "react";

import { toldOf } from "~/components/Notice";
import type { Tone } from "~/generated/states";

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly text: string;
  readonly hint: string | null;
}

const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];
let count = 0;

export function say(text: string, tone: Tone = "good", hint: string | null = null): void {
  const toast = { id: ++count, tone, text, hint };
  change([...toasts.slice(-3), toast]);
  // What went wrong stays until it is read.
  if (tone !== "bad") window.setTimeout(() => dismiss(toast.id), 5000);
}

export function sayTrouble(error: unknown): void {
  const told = toldOf(error);
  say([told.title, ...told.fields].join(" · "), "bad", told.hint);
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id));
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div aria-live="polite" className="fixed right-4 bottom-4 z-50 flex w-88 max-w-[calc(100vw-2rem)] flex-col gap-2">
      {shown.map((each) => (
        <div
          key={each.id}
          data-tone={each.tone}
          role={each.tone === "bad" ? "alert" : "status"}
          className="flex animate-[appear_.15s] items-start gap-3 rounded-lg border border-line bg-raised px-4 py-3 shadow-lg"
        >
          <span aria-hidden className="mt-1.5 size-2 shrink-0 rounded-full bg-tone-solid" />
          <div className="min-w-0 flex-1 break-words">
            <p className="font-medium">{each.text}</p>
            {each.hint !== null && <p className="text-sm text-soft">{each.hint}</p>}
          </div>
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(each.id)} className="text-faint hover:text-ink">
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
