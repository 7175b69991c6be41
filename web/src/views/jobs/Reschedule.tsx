/** Another schedule for a job, or none, with the fires that it would have. */

import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Button } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Field, TextArea } from "~/components/Field";
import { Trouble } from "~/components/Notice";
import { ZoneBox } from "~/components/ZoneBox";
import type { Job, WrittenSpec } from "~/generated/api";
import { HERE } from "~/lib/time";
import { linesOf } from "~/views/jobs/order";
import { Preview } from "~/views/schedules/Preview";
import { whenOf, writtenOf } from "~/views/schedules/written";

export function Reschedule({ job, etag, close }: { job: Job; etag: string | null; close: () => void }) {
  const [times, setTimes] = useState(job.schedule === null ? "" : job.schedule.when.map(writtenOf).join("\n"));
  const [zone, setZone] = useState(job.schedule?.timezone ?? HERE);
  // What is not said here stays as it is.
  const spec: WrittenSpec = { ...job.schedule, when: whenOf(linesOf(times), job.schedule?.when ?? []), timezone: zone.trim() || "UTC" };
  const deed = useDeed<WrittenSpec | null>({
    act: (schedule) =>
      ask("change_job", { parts: { job: job.name }, body: { schedule }, ...(etag !== null && { etag }) }),
    done: (_, schedule) => (schedule === null ? "It has no schedule any more." : "It is rescheduled."),
    changes: [["job", job.name], ["jobs"], ["schedules"]],
  });
  return (
    <Dialog title={`Reschedule ${job.name}`} close={close}>
      <form
        className="flex flex-col gap-4 p-5"
        onSubmit={(event) => {
          event.preventDefault();
          deed.mutate(spec, { onSuccess: close });
        }}
      >
        <Field label="Times" about="A cron line such as 0 3 * * MON-FRI, or every 90m. Several: a line for each.">
          <TextArea rows={2} required value={times} onChange={(event) => setTimes(event.target.value)} />
        </Field>
        <Field label="Time zone">
          <ZoneBox value={zone} change={setZone} />
        </Field>
        <Preview spec={spec} count={5} />
        {deed.error !== null && <Trouble error={deed.error} />}
        <div className="flex justify-end gap-2">
          {job.schedule !== null && (
            <Button look="danger" busy={deed.isPending} onClick={() => deed.mutate(null, { onSuccess: close })}>
              Take the schedule away
            </Button>
          )}
          <Button look="main" type="submit" busy={deed.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
