/** How far something is, in parts of different tones. */

import type { Tone } from "~/generated/states";

export function Bar({
  label,
  parts,
  of,
}: {
  label: string;
  parts: readonly { tone: Tone; count: number; name: string }[];
  of: number;
}) {
  const told = parts.map((each) => `${each.count} ${each.name}`).join(", ");
  return (
    <div
      role="img"
      aria-label={`${label}: ${told} of ${of}`}
      title={told}
      className="flex h-2 w-full overflow-hidden rounded-full bg-sunken"
    >
      {parts.map((each) => (
        <div
          key={each.name}
          data-tone={each.tone}
          className="bg-tone-solid transition-[width]"
          style={{ width: `${of === 0 ? 0 : (100 * each.count) / of}%` }}
        />
      ))}
    </div>
  );
}
