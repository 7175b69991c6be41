/** What stands above the timeline of a chosen run: which run it is, and the hours. */

import { Link } from "@tanstack/react-router";

import { Icon } from "~/components/Icon";
import { State } from "~/components/State";
import type { Timeline } from "~/generated/api";
import { ticks } from "~/lib/scale";
import { length } from "~/lib/time";
import { HEAD } from "~/views/dags/grid/paint";

export function TimeAxis({
  left,
  width,
  seconds,
  time,
  close,
}: {
  left: number;
  width: number;
  seconds: number;
  time: Timeline;
  close: () => void;
}) {
  const wide = width - 16;
  return (
    <div
      role="presentation"
      className="absolute top-0 border-b border-l border-line bg-card"
      style={{ left, width, height: HEAD }}
    >
      <div className="flex items-center gap-2 px-3 pt-2">
        <Link
          to="/runs/$run"
          params={{ run: time.run }}
          className="truncate text-sm font-medium text-accent hover:underline"
        >
          Run {time.run}
        </Link>
        <State of="run" state={time.state} />
        <button
          type="button"
          aria-label="Close the timeline"
          onClick={close}
          className="ml-auto grid size-6 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink"
        >
          <Icon name="close" size={12} />
        </button>
      </div>
      <div aria-hidden className="absolute bottom-0 h-5 text-xs text-faint" style={{ left: 8, width: wide }}>
        {ticks(seconds, Math.max(1, Math.floor(wide / 90))).map((at) => (
          <span
            key={at}
            className="absolute border-l border-line pl-1 whitespace-nowrap"
            style={{ left: `${(100 * at) / seconds}%` }}
          >
            {at === 0 ? "0" : length(at)}
          </span>
        ))}
      </div>
    </div>
  );
}
