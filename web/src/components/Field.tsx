/** Things to fill in or choose from. */

import type { InputHTMLAttributes, ReactNode, TextareaHTMLAttributes } from "react";

const BOX =
  "h-8 rounded-md border border-line-strong bg-raised px-2.5 text-sm text-ink hover:border-faint";

export function Choice({
  label,
  value,
  options,
  choose,
}: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  choose: (value: string) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => choose(event.target.value)}
      className={BOX}
    >
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}

export function Search({
  label,
  value,
  change,
}: {
  label: string;
  value: string;
  change: (value: string) => void;
}) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => change(event.target.value)}
      className={`${BOX} w-56`}
    />
  );
}

/** A labelled line of a form, with what is wrong with it below. */
export function Field({
  label,
  about,
  error,
  children,
}: {
  label: string;
  about?: ReactNode;
  error?: string | null;
  children: ReactNode;
}) {
  return (
    // Only the label's own words are its name; the rest can be read beside it.
    <div className="flex flex-col gap-1">
      <label className="flex flex-col gap-1">
        <span className="text-sm font-medium">{label}</span>
        {children}
      </label>
      {about !== undefined && <span className="text-xs text-faint">{about}</span>}
      {error != null && (
        <span data-tone="bad" className="text-xs text-tone-text">
          {error}
        </span>
      )}
    </div>
  );
}

export function TextBox(given: InputHTMLAttributes<HTMLInputElement>) {
  return <input {...given} className={`${BOX} ${given.className ?? ""}`} />;
}

export function TextArea(given: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <textarea
      rows={4}
      spellCheck={false}
      {...given}
      className={`mono rounded-md border border-line-strong bg-raised px-2.5 py-1.5 text-ink hover:border-faint ${given.className ?? ""}`}
    />
  );
}

/** Yes or no, with its words beside it. */
export function Check({
  label,
  value,
  change,
}: {
  label: string;
  value: boolean;
  change: (value: boolean) => void;
}) {
  return (
    <label className="flex items-center gap-2 text-sm">
      <input
        type="checkbox"
        checked={value}
        onChange={(event) => change(event.target.checked)}
        className="size-4 accent-accent"
      />
      {label}
    </label>
  );
}
