/** More things to do, behind one button. */

import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";

import { buttonClass } from "~/components/Button";
import { Icon } from "~/components/Icon";

export interface Act {
  readonly name: string;
  readonly act: () => void;
  readonly danger?: boolean;
  readonly disabled?: boolean;
}

export function Menu({ label, acts, children }: { label: string; acts: readonly Act[]; children?: ReactNode }) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger aria-label={label} className={buttonClass(children ? "plain" : "bare")}>
        {children ?? <Icon name="more" />}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-40 min-w-40 animate-[appear_.1s] rounded-md border border-line bg-raised p-1 shadow-lg"
        >
          {acts.map((each) => (
            <DropdownMenu.Item
              key={each.name}
              disabled={each.disabled ?? false}
              onSelect={each.act}
              data-tone={each.danger ? "bad" : undefined}
              className={`cursor-pointer rounded-sm px-2.5 py-1.5 text-sm outline-none data-disabled:opacity-40 data-highlighted:bg-hover ${
                each.danger ? "text-tone-text" : ""
              }`}
            >
              {each.name}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
