/** Days of the past on a calendar, what a backfill of them would run and how long, and starting it. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { dags, schedules } from "~/api/queries";
import { Button } from "~/components/Button";
import { Check, Choice, Field, TextArea, TextBox } from "~/components/Field";
import { Empty, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { RangeCalendar } from "~/components/RangeCalendar";
import type { NewBackfill as Order, Reprocess } from "~/generated/api";
import { isDay } from "~/lib/calendar";
import { day, HERE } from "~/lib/time";
import { Estimate } from "~/views/backfills/Estimate";
import { Of, OwnTimes } from "~/views/backfills/Of";
import { EMPTY, isZone, orderOf, type Draft, type Subject } from "~/views/backfills/order";
import { read } from "~/views/schedules/Edit";

const route = getRouteApi("/backfills/new");
const CRUMBS = [{ name: "Backfills", to: "/backfills" }];
const REPROCESS: readonly (readonly [Reprocess, string])[] = [
  ["none", "Leave them as they are"],
  ["failed", "Run those again that failed"],
  ["all", "Run all of them again"],
];

export default function NewBackfill() {
  const given = route.useSearch();
  const navigate = useNavigate();
  const { data: known = [] } = useQuery({ ...schedules(), placeholderData: keepPreviousData });
  const { data: all = [] } = useQuery(dags());
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const make = useDeed({
    act: (body: Order) => ask("create_backfill", { body }),
    done: (made) => `Backfill ${made.id} is under way.`,
    changes: [["backfills"], ["runs"]],
  });

  const search = { ...given, zone: given.zone ?? HERE };
  const subject = subjectOf(search, known.find((each) => each.name === search.schedule)?.spec.timezone ?? "UTC");
  const zone = subject !== null && isZone(subject.zone) ? subject.zone : "UTC";
  const from = isDay(search.from) ? search.from : undefined;
  const to = isDay(search.to) ? search.to : undefined;
  const now = new Date();
  const { order, wrong } = read(() => orderOf(subject, { from, to }, draft, now));
  const look = (change: object) =>
    void navigate({ to: "/backfills/new", search: { ...given, ...change }, replace: true });
  return (
    <Page title="New backfill" crumbs={CRUMBS}>
      <div className="grid grid-cols-2 items-start gap-4 max-lg:grid-cols-1">
        <div className="flex min-w-0 flex-col gap-4">
          <Card title="Which days">
            <div className="flex flex-col gap-4 p-4">
              <Of search={search} schedules={known} dags={all.map((each) => each.name)} look={look} />
              <RangeCalendar
                range={{ from, to }}
                last={day(now, zone)}
                choose={(range) => look({ from: range.from, to: range.to })}
              />
              <p role="status" className="text-sm text-soft">
                {from === undefined
                  ? "Press the first day, then the last."
                  : to === undefined
                    ? `${from}; press the last day, or the same one again.`
                    : `${from} to ${to}, both included, by the clock of ${zone}.`}
              </p>
            </div>
          </Card>
          <How draft={draft} change={(part) => setDraft({ ...draft, ...part })} own={search.of === "dag"} />
        </div>
        <Card title="What it would run">
          {wrong !== null ? (
            <div className="p-4">
              <Trouble error={wrong} />
            </div>
          ) : order === null ? (
            <Empty title={`Choose ${search.of === "dag" ? "a dag, its times" : "a schedule"} and days.`}>
              What would run, and for how long, is shown here before anything starts.
            </Empty>
          ) : (
            <Estimate order={order} />
          )}
          <div className="flex justify-end gap-2 border-t border-line p-4">
            <Button onClick={() => void navigate({ to: "/backfills" })}>Cancel</Button>
            <Button
              look="main"
              disabled={order === null}
              busy={make.isPending}
              onClick={() =>
                make.mutate(order!, {
                  onSuccess: (made) => void navigate({ to: "/backfills/$backfill", params: { backfill: made.id } }),
                })
              }
            >
              Start the backfill
            </Button>
          </div>
        </Card>
      </div>
    </Page>
  );
}

function subjectOf(search: ReturnType<typeof route.useSearch>, zone: string): Subject | null {
  const { of, schedule, dag, times } = search;
  if (of !== "dag") return schedule === undefined ? null : { schedule, zone };
  return dag === undefined || times === undefined ? null : { dag, times, zone: search.zone ?? "UTC" };
}

function How({ draft, change, own }: { draft: Draft; change: (part: Partial<Draft>) => void; own: boolean }) {
  return (
    <Card title="How">
      <div className="flex flex-col gap-4 p-4">
        {own && <OwnTimes draft={draft} change={change} />}
        <Field label="Times that have a run already">
          <Choice
            label="Times that have a run already"
            value={draft.reprocess}
            options={REPROCESS}
            choose={(value) => change({ reprocess: value as Reprocess })}
          />
        </Field>
        <Field label="Runs at a time">
          <TextBox
            type="number"
            min={1}
            max={1000}
            value={draft.concurrency}
            onChange={(event) => change({ concurrency: event.target.value })}
          />
        </Field>
        <Field label="Priority" about="At most this for its tasks; live work has 5 unless its dag says otherwise.">
          <TextBox type="number" min={0} max={9} value={draft.priority} onChange={(event) => change({ priority: event.target.value })} />
        </Field>
        <Check label="The newest first" value={draft.newestFirst} change={(newestFirst) => change({ newestFirst })} />
        <Field
          label="Parameters"
          about={`Of its runs, as JSON; what is left out is as ${own ? "the dag's defaults are" : "the schedule had it"}.`}
        >
          <TextArea rows={2} value={draft.parameters} onChange={(event) => change({ parameters: event.target.value })} />
        </Field>
        <Field label="Note" about="Why, for those who will wonder.">
          <TextBox value={draft.note} maxLength={1000} onChange={(event) => change({ note: event.target.value })} />
        </Field>
      </div>
    </Card>
  );
}
