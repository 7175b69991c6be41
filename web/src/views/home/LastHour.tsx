/** The last hour, minute by minute: how many runs ended and how, and how long work waited to start. */

import { useQuery } from "@tanstack/react-query";

import { lastHour } from "~/api/queries";
import { Loading, Trouble } from "~/components/Notice";
import type { Point } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { useZone } from "~/lib/preferences";
import { clock, length, type Zone } from "~/lib/time";
import { counted, number } from "~/lib/words";

/** Sixty whole ones, and the one that has begun. */
const MINUTES = 61;
const HEIGHT = 56;
const STEP = 10;

interface Part {
  readonly tone: Tone;
  readonly value: number;
}

export function LastHour() {
  const { data, error } = useQuery(lastHour());
  const [zone] = useZone();
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return <Loading rows={2} />;
  const { total } = data;
  const waited = total.lag.p95;
  return (
    <div className="grid grid-cols-2 gap-x-6 gap-y-3 px-4 py-3 max-md:grid-cols-1">
      <Bars
        title={counted(total.runs, "run")}
        about={total.failed > 0 ? `ended, ${number(total.failed)} failed` : "ended"}
        since={data.since}
        zone={zone}
        points={data.points}
        parts={(point) => [
          { tone: "good", value: point.succeeded },
          { tone: "quiet", value: point.cancelled },
          { tone: "bad", value: point.failed },
        ]}
        tell={(point) => `${counted(point.runs, "run")}, ${number(point.failed)} failed`}
      />
      <Bars
        title={waited === null ? "–" : length(waited)}
        about="until 95 of 100 had started once they were due"
        since={data.since}
        zone={zone}
        points={data.points}
        parts={(point) => [{ tone: "active", value: point.lag.p95 ?? 0 }]}
        tell={(point) => (point.lag.p95 === null ? "nothing started" : length(point.lag.p95))}
      />
    </div>
  );
}

function Bars({
  title,
  about,
  since,
  zone,
  points,
  parts,
  tell,
}: {
  title: string;
  about: string;
  since: string;
  zone: Zone;
  points: readonly Point[];
  parts: (point: Point) => readonly Part[];
  tell: (point: Point) => string;
}) {
  const heights = points.map((point) => parts(point).reduce((sum, part) => sum + part.value, 0));
  const most = Math.max(...heights, Number.MIN_VALUE);
  return (
    <figure className="min-w-0">
      <figcaption className="mb-1 text-sm text-soft">
        <span className="text-lg font-semibold text-ink">{title}</span> {about}
      </figcaption>
      <svg
        role="img"
        aria-label={`${title} ${about}, minute by minute in the last hour`}
        viewBox={`0 0 ${MINUTES * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-14 w-full border-b border-line"
      >
        {points.map((point) => {
          const x = Math.floor((Date.parse(point.at) - Date.parse(since)) / 60_000) * STEP;
          let y = HEIGHT;
          return (
            <g key={point.at}>
              <title>{`${clock(new Date(point.at), zone, false)}: ${tell(point)}`}</title>
              {parts(point).map((part) => {
                const height = (part.value / most) * HEIGHT;
                y -= height;
                return (
                  <rect
                    key={part.tone}
                    data-tone={part.tone}
                    x={x + 1}
                    y={y}
                    width={STEP - 2}
                    height={height}
                    className="fill-tone-solid"
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
