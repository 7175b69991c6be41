/** How many fires each hour of the next days has: a spike is a dark square. */

import { useState } from "react";

import type { ComingFires } from "~/generated/api";
import { useZone } from "~/lib/preferences";
import { clock, dayInWords } from "~/lib/time";
import { counted, number } from "~/lib/words";
import { busiest, daysOf, HOUR_MS, totalsOf, type Hour } from "~/views/schedules/hours";

export function HeatMap({ coming }: { coming: readonly ComingFires[] }) {
  const [zone] = useZone();
  const totals = totalsOf(coming);
  const [chosen, setChosen] = useState<number | null>(null);
  const since = new Date(coming[0]?.since ?? Date.now());
  const days = daysOf(since, totals, zone);
  const most = Math.max(...totals, 1);
  const shown = chosen ?? busiest(totals, 1)[0] ?? 0;
  const moment = new Date(since.getTime() + shown * HOUR_MS);
  const ofHour = coming
    .map((each) => ({ name: each.schedule, dag: each.dag, count: each.by_hour[shown] ?? 0 }))
    .filter((each) => each.count > 0)
    .sort((a, b) => b.count - a.count);
  return (
    <div className="grid min-h-0 flex-1 grid-cols-[1fr_18rem] gap-6 overflow-auto p-4 max-lg:grid-cols-1">
      <div className="min-w-0 overflow-x-auto">
        <table className="w-full min-w-160 border-separate border-spacing-0.5 text-xs">
          <caption className="sr-only">Fires of each hour; choose an hour to see whose they are.</caption>
          <thead>
            <tr>
              <td />
              {Array.from({ length: 24 }, (_, hour) => (
                <th key={hour} scope="col" className="font-normal text-faint">
                  {String(hour).padStart(2, "0")}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {days.map((each) => (
              <tr key={each.day}>
                <th scope="row" className="pr-2 text-right font-normal whitespace-nowrap text-faint">
                  {each.words}
                </th>
                {Array.from({ length: 24 }, (_, hour) => (
                  <td key={hour} className="h-9 p-0">
                    {each.hours
                      .filter((found) => Number(found.clock.slice(0, 2)) === hour)
                      .map((found) => (
                        <Square
                          key={found.at}
                          hour={found}
                          words={each.words}
                          share={found.count / most}
                          chosen={found.at === shown}
                          choose={() => setChosen(found.at)}
                        />
                      ))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <section aria-label="The chosen hour" className="min-w-0">
        <h3 className="text-sm">
          {dayInWords(moment, zone)}, {clock(moment, zone, false)}
        </h3>
        <p className="mb-2 text-sm text-soft">{counted(totals[shown] ?? 0, "fire")} in this hour</p>
        <ul className="flex flex-col text-sm">
          {ofHour.map((each) => (
            <li key={each.name} className="flex justify-between gap-3 border-b border-line/60 py-1">
              <span className="truncate" title={each.dag}>
                {each.name}
              </span>
              <span className="text-soft">{number(each.count)}</span>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

function Square({
  hour,
  words,
  share,
  chosen,
  choose,
}: {
  hour: Hour;
  words: string;
  share: number;
  chosen: boolean;
  choose: () => void;
}) {
  return (
    <button
      type="button"
      onClick={choose}
      aria-pressed={chosen}
      aria-label={`${words} ${hour.clock}: ${counted(hour.count, "fire")}`}
      title={`${words} ${hour.clock}: ${counted(hour.count, "fire")}`}
      className={`h-full w-full rounded-sm ${chosen ? "outline-2 outline-ink" : ""}`}
      style={{
        background:
          hour.count === 0
            ? "var(--sunken)"
            : `color-mix(in oklab, var(--accent) ${Math.round(15 + 85 * share)}%, var(--sunken))`,
      }}
    />
  );
}
