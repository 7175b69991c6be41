/** Each run as a point: when it was made, how long it took, in the tone of its end. Click one to open it. */

import { useEffect, useMemo, useRef } from "react";
import "~/lib/language";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { BriefRun } from "~/api/queries";
import { RUN_FACTS } from "~/generated/states";
import { clock, dateAndTime, dayInWords, length } from "~/lib/time";
import { useZone } from "~/lib/preferences";
import { useColours } from "~/lib/tones";
import { counted } from "~/lib/words";

const HEIGHT = 240;

export function DurationChart({ runs, open }: { runs: readonly BriefRun[]; open: (run: number) => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const about = useRef<HTMLParagraphElement>(null);
  const colours = useColours();
  const [zone] = useZone();
  const shown = useMemo(() => runs.filter((run) => run.duration_seconds !== null).toReversed(), [runs]);

  useEffect(() => {
    const element = frame.current!;
    const text = colours.surface.faint;
    const axis = { stroke: text, grid: { stroke: colours.surface.line, width: 1 }, ticks: { show: false } };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, points: { show: false } },
        scales: { x: { time: true }, y: { range: (_, __, most) => [0, (most || 1) * 1.1] } },
        axes: [
          {
            ...axis,
            space: 90,
            values: (_, marks, __, ___, step) =>
              marks.map((at) => {
                const when = new Date(at * 1000);
                return step >= 86_400 ? dayInWords(when, zone) : clock(when, zone, step < 60);
              }),
          },
          { ...axis, size: 70, values: (_, marks) => marks.map((at) => (at === 0 ? "0" : length(at))) },
        ],
        series: [
          {},
          {
            paths: () => null,
            points: { show: false },
          },
        ],
        hooks: {
          draw: [
            (plot) => {
              const ratio = devicePixelRatio;
              shown.forEach((run) => {
                const x = plot.valToPos(Date.parse(run.created_at) / 1000, "x", true);
                const y = plot.valToPos(run.duration_seconds!, "y", true);
                plot.ctx.beginPath();
                plot.ctx.fillStyle = colours.solid[RUN_FACTS[run.state].tone];
                plot.ctx.arc(x, y, (run.state === "failed" ? 4 : 3) * ratio, 0, 2 * Math.PI);
                plot.ctx.fill();
              });
            },
          ],
          setCursor: [
            (plot) => {
              const run = shown[plot.cursor.idx ?? -1];
              about.current!.textContent =
                run === undefined
                  ? " "
                  : `Run ${run.id}, ${RUN_FACTS[run.state].label.toLowerCase()}, took ${length(run.duration_seconds!)}, ${dateAndTime(new Date(run.created_at), zone)}`;
            },
          ],
        },
      },
      [shown.map((run) => Date.parse(run.created_at) / 1000), shown.map((run) => run.duration_seconds!)],
      element,
    );
    const press = () => {
      const run = shown[chart.cursor.idx ?? -1];
      if (run !== undefined) open(run.id);
    };
    chart.over.addEventListener("click", press);
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
    // eslint-disable-next-line -- `open` is a new function each time, with the same meaning.
  }, [shown, colours, zone]);

  return (
    <div className="p-3">
      <div
        ref={frame}
        role="img"
        aria-label={`How long ${counted(shown.length, "run")} took, by the time they were made`}
        className="w-full cursor-pointer overflow-hidden"
      />
      <p ref={about} aria-hidden className="px-2 text-xs text-soft">
        {" "}
      </p>
    </div>
  );
}
