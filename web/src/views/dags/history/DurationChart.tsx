/** How long runs took, step by step: on average, and the longest. Click a step to see its runs. */

import { useEffect, useMemo, useRef } from "react";
import "~/lib/language";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { Statistics } from "~/generated/api";
import { useZone } from "~/lib/preferences";
import { STEP_MS, stepsOf } from "~/lib/steps";
import { clock, dayInWords, length } from "~/lib/time";
import { useColours } from "~/lib/tones";
import { counted } from "~/lib/words";
import { stepWords } from "~/views/dags/history/words";

const HEIGHT = 220;

export function DurationChart({ stats, look }: { stats: Statistics; look: (since: Date, until: Date) => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const about = useRef<HTMLParagraphElement>(null);
  const colours = useColours();
  const [zone] = useZone();
  const steps = useMemo(() => stepsOf(stats), [stats]);
  const step = stats.step;

  useEffect(() => {
    const element = frame.current!;
    const axis = { stroke: colours.surface.faint, grid: { stroke: colours.surface.line, width: 1 }, ticks: { show: false } };
    // A step between two without runs has no line to be part of.
    const line = (stroke: string, width: number) => ({ stroke, width, spanGaps: false, points: { show: true, size: 5, fill: stroke, stroke } });
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        // Room for half of the last day's name.
        padding: [null, 36, null, null],
        legend: { show: false },
        cursor: { y: false, points: { show: false } },
        scales: { x: { time: true }, y: { range: (_, __, most) => [0, (most || 1) * 1.1] } },
        axes: [
          {
            ...axis,
            space: 90,
            values: (_, marks, __, ___, width) =>
              marks.map((at) => {
                const when = new Date(at * 1000);
                return width >= 86_400 ? dayInWords(when, step === "day" ? "UTC" : zone) : clock(when, zone, false);
              }),
          },
          { ...axis, size: 70, values: (_, marks) => marks.map((at) => (at === 0 ? "0" : length(at))) },
        ],
        series: [{}, line(colours.solid.pending, 1), line(colours.surface.accent, 2)],
        hooks: {
          setCursor: [
            (plot) => {
              const found = steps[plot.cursor.idx ?? -1];
              const took = found?.point?.duration;
              about.current!.textContent =
                took?.mean == null
                  ? " "
                  : `${stepWords(found!.at, step, zone)}: ${counted(took.count, "run")}, ${length(took.mean)} on average, the longest ${length(took.max ?? 0)}`;
            },
          ],
        },
      },
      [
        steps.map((each) => each.at),
        steps.map((each) => each.point?.duration.max ?? null),
        steps.map((each) => each.point?.duration.mean ?? null),
      ],
      element,
    );
    const press = () => {
      const found = steps[chart.cursor.idx ?? -1];
      if (found?.point) look(new Date(found.at * 1000), new Date(found.at * 1000 + STEP_MS[step]));
    };
    chart.over.addEventListener("click", press);
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
    // eslint-disable-next-line -- `look` is a new function each time, with the same meaning.
  }, [steps, step, colours, zone]);

  return (
    <div className="p-3">
      <div className="flex gap-4 px-2 pb-1 text-xs text-soft">
        <span className="flex items-center gap-1.5">
          <span aria-hidden className="h-0.5 w-4 bg-accent" />
          on average
        </span>
        <span data-tone="pending" className="flex items-center gap-1.5">
          <span aria-hidden className="h-0.5 w-4 bg-tone-solid" />
          the longest
        </span>
      </div>
      <div
        ref={frame}
        role="img"
        aria-label={`How long runs took, ${step} by ${step}`}
        className="w-full cursor-pointer overflow-hidden"
      />
      <p ref={about} aria-hidden className="px-2 text-xs text-soft">
        {" "}
      </p>
    </div>
  );
}
