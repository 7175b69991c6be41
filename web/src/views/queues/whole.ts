/** Queues as wholes: what the kinds of slots of each come to together. */

import type { Lane } from "~/generated/api";

export interface Queue {
  readonly name: string;
  /** Kinds of which something waits, stands aside or runs. */
  readonly busy: readonly string[];
  /** Kinds of which something waits, though no worker takes it. */
  readonly unserved: readonly string[];
  readonly ready: number;
  readonly aside: number;
  readonly oldestSeconds: number | null;
  readonly running: number;
  readonly perSecond: number;
  readonly workers: number;
  readonly pause: Lane["pause"];
}

/** One for each queue, in the order in which they come. */
export function queuesOf(lanes: readonly Lane[]): Queue[] {
  const found = new Map<string, Lane[]>();
  for (const lane of lanes) found.set(lane.queue, [...(found.get(lane.queue) ?? []), lane]);
  return [...found].map(([name, kinds]) => {
    const sum = (of: (lane: Lane) => number) => kinds.reduce((all, each) => all + of(each), 0);
    const waited = kinds.flatMap((each) => (each.oldest_seconds === null ? [] : [each.oldest_seconds]));
    return {
      name,
      busy: kinds.filter((each) => each.ready + each.aside + each.running > 0).map((each) => each.kind),
      unserved: kinds.filter((each) => each.ready > 0 && each.workers === 0).map((each) => each.kind),
      ready: sum((each) => each.ready),
      aside: sum((each) => each.aside),
      oldestSeconds: waited.length === 0 ? null : Math.max(...waited),
      running: sum((each) => each.running),
      perSecond: sum((each) => each.per_second),
      // Most workers serve several kinds.
      workers: Math.max(...kinds.map((each) => each.workers)),
      pause: kinds[0]!.pause,
    };
  });
}
