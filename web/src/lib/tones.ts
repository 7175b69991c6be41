/** The colours of `tones.css` for what is drawn on a canvas, in the theme of the moment. */

import { useSyncExternalStore } from "react";

import type { Tone } from "~/generated/states";

const NAMES = ["ground", "card", "sunken", "line", "line-strong", "hover", "ink", "soft", "faint"] as const;
const MORE = ["accent", "accent-wash", "brass"] as const;
const TONES: readonly Tone[] = ["quiet", "pending", "active", "good", "warn", "bad"];

type Surface = (typeof NAMES)[number] | (typeof MORE)[number];

export interface Colours {
  readonly surface: Readonly<Record<Surface, string>>;
  readonly solid: Readonly<Record<Tone, string>>;
  readonly wash: Readonly<Record<Tone, string>>;
}

let known: Colours | null = null;

function read(): Colours {
  const probe = document.createElement("span");
  // Where motion is reduced each change is a short transition, which begins with the colour before.
  probe.style.setProperty("transition", "none", "important");
  document.body.append(probe);
  // A custom property is told as it is written; only a colour that uses it is told as it is seen.
  const colour = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const surface = Object.fromEntries([...NAMES, ...MORE].map((name) => [name, colour(name)]));
  const solid = Object.fromEntries(TONES.map((tone) => [tone, colour(`${tone}-solid`)]));
  const wash = Object.fromEntries(TONES.map((tone) => [tone, colour(`${tone}-wash`)]));
  probe.remove();
  return { surface, solid, wash } as unknown as Colours;
}

function subscribe(listener: () => void): () => void {
  // The theme may have changed while nobody listened.
  known = null;
  const change = () => {
    known = null;
    listener();
  };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", change);
  const theme = new MutationObserver(change);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    dark.removeEventListener("change", change);
    theme.disconnect();
  };
}

export function useColours(): Colours {
  return useSyncExternalStore(subscribe, () => (known ??= read()));
}
