/** Opens and closes the answer; whether it is open is part of the address. */

import { Link } from "@tanstack/react-router";

export function WhyToggle({ open }: { open: boolean }) {
  return (
    <Link
      to="."
      search={((before: object) => ({ ...before, why: !open })) as never}
      replace
      resetScroll={false}
      role="button"
      aria-pressed={open}
      className={`inline-flex h-8 items-center rounded-md border px-3 text-sm font-medium ${
        open ? "border-accent bg-accent-wash" : "border-line-strong bg-raised hover:bg-hover"
      }`}
    >
      Why?
    </Link>
  );
}
