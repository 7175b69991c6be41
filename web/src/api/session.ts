/** Whether the server knows this browser. Nobody has a session until a login link was opened. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let session: "given" | "none" = "given";

export function sessionEnded(): void {
  session = "none";
  for (const listener of listeners) listener();
}

export function useSession(): "given" | "none" {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => session,
  );
}
