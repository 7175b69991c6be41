/** Faces of one thing. Which one is shown is part of the address. */

import { Link } from "@tanstack/react-router";

export interface Tab {
  readonly name: string;
  readonly value: string;
  readonly count?: number | undefined;
}

export function Tabs({ label, tabs, chosen }: { label: string; tabs: readonly Tab[]; chosen: string }) {
  return (
    <nav aria-label={label} className="flex shrink-0 gap-1 overflow-x-auto border-b border-line">
      {tabs.map((tab) => (
        <Link
          key={tab.value}
          to="."
          search={((before: object) => ({ ...before, tab: tab.value })) as never}
          replace
          aria-current={tab.value === chosen ? "page" : undefined}
          className={`-mb-px flex items-center gap-1.5 border-b-2 px-3 py-2 text-sm whitespace-nowrap ${
            tab.value === chosen
              ? "border-accent font-medium text-ink"
              : "border-transparent text-soft hover:text-ink"
          }`}
        >
          {tab.name}
          {tab.count !== undefined && <span className="text-xs text-faint">{tab.count}</span>}
        </Link>
      ))}
    </nav>
  );
}
