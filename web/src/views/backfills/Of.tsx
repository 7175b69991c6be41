/** What a backfill is of: a schedule, as it was in force then, or a dag at times of its own. */

import { Link } from "@tanstack/react-router";

import { Choice, Field, TextArea, TextBox } from "~/components/Field";
import { Segments } from "~/components/Segments";
import { ZoneBox } from "~/components/ZoneBox";
import type { DstFold, DstGap, Schedule } from "~/generated/api";
import type { Draft } from "~/views/backfills/order";

export interface OfSearch {
  readonly of?: "schedule" | "dag" | undefined;
  readonly schedule?: string | undefined;
  readonly dag?: string | undefined;
  readonly times?: string | undefined;
  readonly zone?: string | undefined;
}

export function Of({
  search,
  schedules,
  dags,
  look,
}: {
  search: OfSearch;
  schedules: readonly Schedule[];
  dags: readonly string[];
  look: (change: OfSearch) => void;
}) {
  const own = search.of === "dag";
  return (
    <>
      <Segments
        label="Of"
        value={own ? "dag" : "schedule"}
        options={[
          ["schedule", "Of a schedule"],
          ["dag", "Of a dag, at times of its own"],
        ]}
        choose={(of) => look({ of })}
      />
      {!own && schedules.length > 0 && (
        <Field label="Schedule" about="Its times and parameters are those that were in force then.">
          <Choice
            label="Schedule"
            value={search.schedule ?? ""}
            options={[["", "Choose a schedule"], ...schedules.map((each) => [each.name, `${each.name}: ${each.words}`] as const)]}
            choose={(schedule) => look({ schedule: schedule || undefined })}
          />
        </Field>
      )}
      {!own && schedules.length === 0 && (
        <p className="text-sm text-soft">
          There is no schedule yet. Say the times yourself, for a dag, or{" "}
          <Link to="/schedules/new" search={search.dag === undefined ? {} : { dag: search.dag }} className="text-accent underline">
            give it a schedule
          </Link>
          , which then fires by itself, too.
        </p>
      )}
      {own && (
        <>
          <Field label="Dag">
            <Choice
              label="Dag"
              value={search.dag ?? ""}
              options={[["", "Choose a dag"], ...dags.map((each) => [each, each] as const)]}
              choose={(dag) => look({ dag: dag || undefined })}
            />
          </Field>
          <Field
            label="Times"
            about="When it would have run: a cron line such as 0 3 * * MON-FRI, every 90m, an instant, or an RRULE. Several: a line for each."
          >
            <TextArea rows={2} value={search.times ?? ""} onChange={(event) => look({ times: event.target.value || undefined })} />
          </Field>
          <Field label="Time zone">
            <ZoneBox value={search.zone ?? ""} change={(zone) => look({ zone: zone || undefined })} />
          </Field>
        </>
      )}
    </>
  );
}

const GAPS: readonly (readonly [DstGap, string])[] = [
  ["run_after_gap", "Run after the gap"],
  ["skip", "Skip it"],
];
const FOLDS: readonly (readonly [DstFold, string])[] = [
  ["first", "Run the first time"],
  ["last", "Run the last time"],
  ["both", "Run both times"],
];

/** What else can be said of times of one's own. */
export function OwnTimes({ draft, change }: { draft: Draft; change: (part: Partial<Draft>) => void }) {
  return (
    <>
      <Field label="Times that the clock leaves out">
        <Choice label="Times that the clock leaves out" value={draft.gap} options={GAPS} choose={(gap) => change({ gap: gap as DstGap })} />
      </Field>
      <Field label="Times that the clock shows twice">
        <Choice label="Times that the clock shows twice" value={draft.fold} options={FOLDS} choose={(fold) => change({ fold: fold as DstFold })} />
      </Field>
      <Field label="Calendars to leave out" about="Names of calendars, with commas; nothing runs on their days.">
        <TextBox value={draft.exclude} onChange={(event) => change({ exclude: event.target.value })} />
      </Field>
    </>
  );
}
