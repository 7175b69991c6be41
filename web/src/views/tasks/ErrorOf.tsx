/** What went wrong, in one line; where, when it is opened. */

import type { TaskError } from "~/generated/api";

export function ErrorOf({ error }: { error: TaskError }) {
  return (
    <details data-tone="bad" className="shrink-0 border-b border-line bg-tone-wash">
      <summary className="truncate px-4 py-2 text-tone-text" title={error.message}>
        <span className="font-medium">{error.type}:</span> {error.message}
      </summary>
      <pre tabIndex={0} className="mono max-h-64 overflow-auto px-4 pb-3 text-xs wrap-anywhere whitespace-pre-wrap">
        {error.trace || "There is no trace."}
      </pre>
    </details>
  );
}
