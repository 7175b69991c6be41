/** Making a schedule for a dag; its fires are shown as it is written. */

import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Button } from "~/components/Button";
import { Field, TextBox } from "~/components/Field";
import { Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import type { ScheduleOrder } from "~/generated/api";
import { HERE } from "~/lib/time";
import { read } from "~/views/schedules/Edit";
import { orderOf, type Draft } from "~/views/schedules/order";
import { Preview } from "~/views/schedules/Preview";
import { SpecForm } from "~/views/schedules/SpecForm";

const route = getRouteApi("/schedules/new");

export default function NewSchedule() {
  const { dag = "" } = route.useSearch();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<Draft>({
    dag,
    times: "0 3 * * *",
    zone: HERE,
    overlap: "allow_all",
    misfire: "last",
    pauseAfter: "",
    parameters: "",
    note: "",
  });
  const make = useDeed({
    act: (body: ScheduleOrder) => ask("put_schedule", { parts: { schedule: name.trim() }, body }),
    done: (made) => `Schedule ${made.name} is made: ${made.words}.`,
    changes: [["schedules"], ["dags"]],
  });
  const { order, wrong } = read(() => orderOf(draft, null));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (order === null) return;
    make.mutate(order, {
      onSuccess: (made) => void navigate({ to: "/schedules/$schedule", params: { schedule: made.name } }),
    });
  };
  return (
    <Page title="New schedule" crumbs={[{ name: "Schedules", to: "/schedules" }]}>
      <form onSubmit={submit} className="grid grid-cols-2 items-start gap-4 max-lg:grid-cols-1">
        <Card title="Schedule">
          <div className="flex flex-col gap-4 p-4">
            <Field label="Name">
              <TextBox required autoFocus value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
            </Field>
            <SpecForm draft={draft} change={(part) => setDraft({ ...draft, ...part })} />
          </div>
        </Card>
        <div className="flex flex-col gap-4">
          <Card title="Next fires">
            <div className="p-4">
              {order === null ? <Trouble error={wrong} /> : <Preview spec={order.spec} count={12} />}
            </div>
          </Card>
          {make.error !== null && <Trouble error={make.error} />}
          <div className="flex justify-end gap-2">
            <Button onClick={() => void navigate({ to: "/schedules" })}>Cancel</Button>
            <Button look="main" type="submit" busy={make.isPending} disabled={order === null || draft.dag === ""}>
              Make it
            </Button>
          </div>
        </div>
      </form>
    </Page>
  );
}
