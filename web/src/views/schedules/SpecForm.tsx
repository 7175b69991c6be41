/** The fields of a schedule. */

import { useQuery } from "@tanstack/react-query";

import { dags } from "~/api/queries";
import { Choice, Field, TextArea, TextBox } from "~/components/Field";
import { ZoneBox } from "~/components/ZoneBox";
import type { Misfire, Overlap } from "~/generated/api";
import { MISFIRES, OVERLAPS, type Draft } from "~/views/schedules/order";

export function SpecForm({ draft, change }: { draft: Draft; change: (part: Partial<Draft>) => void }) {
  const { data: known = [] } = useQuery(dags());
  return (
    <div className="flex flex-col gap-4">
      <Field label="Dag">
        <Choice
          label="Dag"
          value={draft.dag}
          options={[["", "Choose a dag"], ...known.map((each) => [each.name, each.name] as const)]}
          choose={(dag) => change({ dag })}
        />
      </Field>
      <Field label="Times" about="A cron line such as 0 3 * * MON-FRI, every 90m, an instant, or an RRULE. Several: a line for each.">
        <TextArea rows={2} required value={draft.times} onChange={(event) => change({ times: event.target.value })} />
      </Field>
      <Field label="Time zone">
        <ZoneBox value={draft.zone} change={(zone) => change({ zone })} />
      </Field>
      <Field label="While a run is open" about="What a fire does if the run of an earlier one is not over.">
        <Choice
          label="While a run is open"
          value={draft.overlap}
          options={OVERLAPS}
          choose={(overlap) => change({ overlap: overlap as Overlap })}
        />
      </Field>
      <Field label="After an outage" about="What becomes of fires whose time went by while nothing ran.">
        <Choice
          label="After an outage"
          value={draft.misfire}
          options={MISFIRES}
          choose={(misfire) => change({ misfire: misfire as Misfire })}
        />
      </Field>
      <Field label="Pause after failures" about="So many failed runs in a row pause it. Empty: never.">
        <TextBox
          type="number"
          min={1}
          value={draft.pauseAfter}
          onChange={(event) => change({ pauseAfter: event.target.value })}
        />
      </Field>
      <Field label="Parameters" about="Of its runs, as JSON; what is left out has the dag's default.">
        <TextArea rows={2} value={draft.parameters} onChange={(event) => change({ parameters: event.target.value })} />
      </Field>
      <Field label="Note" about="What it is for.">
        <TextBox value={draft.note} maxLength={1000} onChange={(event) => change({ note: event.target.value })} />
      </Field>
    </div>
  );
}
