/** A bar for each step: how many runs ended in it, and how. Click one to see them. */

import type { Point, Statistics } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { useZone } from "~/lib/preferences";
import { STEP_MS, stepsOf } from "~/lib/steps";
import { stepWords } from "~/views/dags/history/words";
import { counted, number } from "~/lib/words";

const HEIGHT = 80;
const PARTS: readonly (readonly [Tone, (point: Point) => number])[] = [
  ["good", (point) => point.succeeded],
  ["quiet", (point) => point.cancelled],
  ["bad", (point) => point.failed],
];

export function EndsChart({ stats, look }: { stats: Statistics; look: (since: Date, until: Date) => void }) {
  const [zone] = useZone();
  const steps = stepsOf(stats);
  const most = Math.max(1, ...stats.points.map((point) => point.runs));
  const { total } = stats;
  return (
    <figure className="px-4 pt-3">
      <figcaption className="mb-1 flex justify-between text-xs text-soft">
        <span>
          {counted(total.runs, "run")} ended, {number(total.failed)} failed
        </span>
        <span className="text-faint">at most {number(most)} in one {stats.step}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={`${counted(total.runs, "run")} ended, ${number(total.failed)} failed, ${stats.step} by ${stats.step}`}
        viewBox={`0 0 ${steps.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-20 w-full border-b border-line"
      >
        {steps.map(({ at, point }, place) => {
          if (point === null) return null;
          let y = HEIGHT;
          return (
            <g
              key={at}
              className="cursor-pointer"
              onClick={() => look(new Date(at * 1000), new Date(at * 1000 + STEP_MS[stats.step]))}
            >
              <title>{`${stepWords(at, stats.step, zone)}: ${counted(point.runs, "run")}, ${number(point.failed)} failed`}</title>
              <rect x={place} y={0} width={1} height={HEIGHT} className="fill-transparent hover:fill-ink/5" />
              {PARTS.map(([tone, count]) => {
                const height = (count(point) / most) * HEIGHT;
                y -= height;
                return (
                  <rect key={tone} data-tone={tone} x={place + 0.1} y={y} width={0.8} height={height} className="pointer-events-none fill-tone-solid" />
                );
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
