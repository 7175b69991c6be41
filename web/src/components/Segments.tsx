/** One of a few, all in sight. */

import { useId } from "react";

export function Segments<Value extends string>({
  label,
  value,
  options,
  choose,
}: {
  label: string;
  value: Value;
  options: readonly (readonly [value: Value, text: string])[];
  choose: (value: Value) => void;
}) {
  const name = useId();
  return (
    <div
      role="radiogroup"
      aria-label={label}
      className="inline-flex w-fit max-w-full flex-wrap gap-0.5 rounded-md border border-line bg-sunken p-0.5"
    >
      {options.map(([each, text]) => (
        <label
          key={each}
          className={`cursor-pointer rounded-sm px-2.5 py-1 text-sm whitespace-nowrap has-focus-visible:outline-2 has-focus-visible:outline-accent ${
            each === value ? "bg-raised font-medium text-ink shadow-sm" : "text-soft hover:text-ink"
          }`}
        >
          <input
            type="radio"
            name={name}
            value={each}
            checked={each === value}
            onChange={() => choose(each)}
            className="sr-only"
          />
          {text}
        </label>
      ))}
    </div>
  );
}
