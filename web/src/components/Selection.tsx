/** Choosing several rows of a list. What is no longer listed is no longer chosen. */

import { useMemo, useState } from "react";

import type { Column } from "~/components/Rows";

export interface Selection<T> {
  readonly chosen: readonly T[];
  readonly column: Column<T>;
  readonly clear: () => void;
}

export function useSelection<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  nameOf: (item: T) => string,
): Selection<T> {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  return useMemo(() => {
    const chosen = items.filter((each) => keys.has(keyOf(each)));
    const all = items.length > 0 && chosen.length === items.length;
    const turn = (item: T, on: boolean) => {
      const next = new Set(keys);
      if (on) next.add(keyOf(item));
      else next.delete(keyOf(item));
      setKeys(next);
    };
    return {
      chosen,
      clear: () => setKeys(new Set()),
      column: {
        name: "Chosen",
        width: "1.25rem",
        head: (
          <Box
            label="Choose all"
            checked={all}
            some={chosen.length > 0 && !all}
            change={(on) => setKeys(new Set(on ? items.map(keyOf) : []))}
          />
        ),
        cell: (item) => (
          <Box
            label={`Choose ${nameOf(item)}`}
            checked={keys.has(keyOf(item))}
            change={(on) => turn(item, on)}
          />
        ),
      },
    };
    // eslint-disable-next-line -- how a key and a name are read does not change.
  }, [items, keys]);
}

function Box({
  label,
  checked,
  some = false,
  change,
}: {
  label: string;
  checked: boolean;
  some?: boolean;
  change: (on: boolean) => void;
}) {
  return (
    // Wider than the box, so that a finger hits it.
    <label className="-m-2 grid place-items-center p-2">
      <input
        type="checkbox"
        aria-label={label}
        checked={checked}
        ref={(box) => {
          if (box !== null) box.indeterminate = some;
        }}
        onChange={(event) => change(event.target.checked)}
        className="size-4 accent-accent"
      />
    </label>
  );
}
