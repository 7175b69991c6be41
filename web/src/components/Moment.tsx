/** An instant: how long ago, and exactly when, in the reader's zone, on hover. */

import { useNow } from "~/lib/now";
import { useZone } from "~/lib/preferences";
import { dateAndTime, fromNow, length, offset } from "~/lib/time";

export function Moment({ at, exact = false }: { at: string | null; exact?: boolean }) {
  const [zone] = useZone();
  const now = useNow();
  if (at === null) return <span className="text-faint">–</span>;
  const when = new Date(at);
  const whole = `${dateAndTime(when, zone)} ${offset(when, zone)}`;
  return (
    <time dateTime={at} title={`${whole} (${zone})`} className="whitespace-nowrap">
      {exact ? dateAndTime(when, zone) : fromNow(when, now)}
    </time>
  );
}

/** How long something took, or has been taking until now. */
export function Lasted({ from, to }: { from: string | null; to: string | null }) {
  if (from === null) return <span className="text-faint">–</span>;
  return to === null ? <Lasting from={from} /> : <>{length(between(from, to))}</>;
}

/** The same, of what says it itself, more exactly than its instants do. */
export function Took({
  of,
}: {
  of: { started_at: string | null; finished_at: string | null; duration_seconds: number | null };
}) {
  if (of.finished_at !== null && of.duration_seconds !== null) return <>{length(of.duration_seconds)}</>;
  return <Lasted from={of.started_at} to={of.finished_at} />;
}

function Lasting({ from }: { from: string }) {
  const now = useNow();
  return <>{length(Math.max(0, Math.round((now.getTime() - Date.parse(from)) / 1000)))}</>;
}

function between(from: string, to: string): number {
  return Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
}
