/** Names and values, side by side. */

import type { ReactNode } from "react";

export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-1.5 px-4 py-3 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-faint">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Any value as JSON, as long as it is. */
export function Json({ value }: { value: unknown }) {
  return (
    <pre className="mono max-h-96 overflow-auto px-4 py-3 whitespace-pre-wrap">
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}
