/** Things to press. */

import type { ButtonHTMLAttributes, ReactNode } from "react";

type Look = "plain" | "main" | "bare" | "danger";

const LOOKS: Record<Look, string> = {
  plain: "border-line-strong bg-raised text-ink hover:bg-hover",
  main: "border-transparent bg-accent text-on-accent hover:bg-accent-strong",
  bare: "border-transparent text-soft hover:bg-hover hover:text-ink",
  danger: "border-transparent bg-tone-wash text-tone-text hover:border-tone-solid",
};

export function buttonClass(look: Look = "plain"): string {
  return `inline-flex h-8 items-center justify-center gap-1.5 rounded-md border px-3 text-sm font-medium whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:opacity-50 ${LOOKS[look]}`;
}

export function Button({
  look = "plain",
  busy = false,
  className = "",
  children,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { look?: Look; busy?: boolean }) {
  return (
    <button
      type="button"
      data-tone={look === "danger" ? "bad" : undefined}
      aria-busy={busy}
      disabled={busy || rest.disabled}
      className={`${buttonClass(look)} ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}

/** A key as it is printed on the keyboard. */
export function Key({ children }: { children: ReactNode }) {
  return (
    <kbd className="mono rounded-sm border border-line bg-sunken px-1 text-xs text-soft">
      {children}
    </kbd>
  );
}
