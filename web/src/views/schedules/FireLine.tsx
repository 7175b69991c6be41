/** The next fires of each schedule on one line of hours. Hours with many fires are a band. */

import { useNavigate } from "@tanstack/react-router";

import { Rows, useNarrow, type Column } from "~/components/Rows";
import type { ComingFires } from "~/generated/api";
import { useZone } from "~/lib/preferences";
import { dateAndTime, type Zone } from "~/lib/time";
import { counted } from "~/lib/words";
import { HOUR_MS, placeOf, ticksOf } from "~/views/schedules/hours";

/** From so many an hour on, single marks would touch each other. */
const BAND_FROM = 4;

export function FireLine({ coming, hours }: { coming: readonly ComingFires[]; hours: number }) {
  const navigate = useNavigate();
  const [zone] = useZone();
  const narrow = useNarrow();
  const since = new Date(coming[0]?.since ?? Date.now());
  const columns: readonly Column<ComingFires>[] = [
    {
      name: "Schedule",
      width: narrow ? "6rem" : "12rem",
      cell: (each) => <span title={`${each.schedule} of ${each.dag}`}>{each.schedule}</span>,
    },
    {
      name: "Fires",
      width: "minmax(0, 1fr)",
      head: <Ticks since={since} hours={hours} zone={zone} every={narrow ? 3 : 1} />,
      cell: (each) => <Marks coming={each} since={since} hours={hours} zone={zone} />,
    },
  ];
  return (
    <Rows
      label="Fires to come"
      items={[...coming].sort(byFirst)}
      columns={columns}
      keyOf={(each) => each.schedule}
      open={(each) => void navigate({ to: "/schedules/$schedule", params: { schedule: each.schedule } })}
      rowHeight={36}
    />
  );
}

function byFirst(a: ComingFires, b: ComingFires): number {
  return (a.fires[0] ?? "~").localeCompare(b.fires[0] ?? "~") || a.schedule.localeCompare(b.schedule);
}

function Ticks({ since, hours, zone, every }: { since: Date; hours: number; zone: Zone; every: number }) {
  return (
    <div className="relative h-5 overflow-hidden">
      {ticksOf(since, hours, zone)
        .filter((_, at) => at % every === 0)
        .map((tick) => (
          <span
            key={tick.place}
            className="absolute top-0 border-l border-line-strong pl-1 whitespace-nowrap"
            style={{ left: `${tick.place * 100}%` }}
          >
            {tick.text}
          </span>
        ))}
    </div>
  );
}

function Marks({
  coming,
  since,
  hours,
  zone,
}: {
  coming: ComingFires;
  since: Date;
  hours: number;
  zone: Zone;
}) {
  const from = since.getTime();
  const to = from + hours * HOUR_MS;
  const total = coming.by_hour.slice(0, hours).reduce((sum, each) => sum + each, 0);
  const bandAt = (at: number) => (coming.by_hour[at] ?? 0) >= BAND_FROM;
  return (
    <div role="img" aria-label={counted(total, "fire")} className="relative h-6">
      <div className="absolute inset-x-0 top-1/2 h-px bg-line" />
      {coming.by_hour.slice(0, hours).map(
        (count, at) =>
          count >= BAND_FROM && (
            <div
              key={at}
              title={counted(count, "fire")}
              className="absolute top-1/2 h-2 -translate-y-1/2 bg-accent/45"
              style={{ left: `${(at / hours) * 100}%`, width: `${100 / hours}%` }}
            />
          ),
      )}
      {coming.fires
        .map((each) => new Date(each))
        .filter((each) => each.getTime() < to && !bandAt(Math.floor((each.getTime() - from) / HOUR_MS)))
        .map((each) => (
          <span
            key={each.getTime()}
            title={dateAndTime(each, zone)}
            className="absolute top-1/2 size-2 -translate-1/2 rounded-full bg-accent"
            style={{ left: `${placeOf(each.getTime(), from, to) * 100}%` }}
          />
        ))}
    </div>
  );
}
