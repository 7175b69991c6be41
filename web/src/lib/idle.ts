/** What can wait: a second first, in which a view is shown, and then until the browser is idle. */

const SHOWN_MS = 1000;

/** The answer takes it back. */
export function whenIdle(act: () => void): () => void {
  let call: number | undefined;
  const timer = window.setTimeout(() => {
    // Safari knows no idle callbacks.
    if ("requestIdleCallback" in window) call = requestIdleCallback(act);
    else act();
  }, SHOWN_MS);
  return () => {
    window.clearTimeout(timer);
    if (call !== undefined) cancelIdleCallback(call);
  };
}
