/** What the reader chose, kept in this browser and shared by its tabs. */

import { useSyncExternalStore } from "react";

import { HERE, type Zone } from "~/lib/time";

export type Theme = "system" | "light" | "dark";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

function keep(name: string, value: string): void {
  localStorage.setItem(name, value);
  for (const listener of listeners) listener();
}

function useKept(name: string, otherwise: string): string {
  return useSyncExternalStore(subscribe, () => localStorage.getItem(name) ?? otherwise);
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useKept("theme", "system") as Theme;
  return [
    theme,
    (chosen) => {
      document.documentElement.dataset.theme = chosen;
      keep("theme", chosen);
    },
  ];
}

/** The zone in which times are told; the reader's own unless another was chosen. */
export function useZone(): [Zone, (zone: Zone) => void] {
  const zone = useKept("zone", HERE);
  return [zone, (chosen) => keep("zone", chosen)];
}
