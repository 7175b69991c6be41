/** Days of the past on a calendar, what a backfill of them would run and how long, and starting it. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { schedules } from "~/api/queries";
import { Button } from "~/components/Button";
import { Check, Choice, Field, TextBox } from "~/components/Field";
import { Empty } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { RangeCalendar } from "~/components/RangeCalendar";
import type { NewBackfill as Order, Reprocess } from "~/generated/api";
import { dayAfter, isDay, startOf } from "~/lib/calendar";
import { day } from "~/lib/time";
import { Estimate } from "~/views/backfills/Estimate";

const route = getRouteApi("/backfills/new");
const CRUMBS = [{ name: "Backfills", to: "/backfills" }];
const REPROCESS: readonly (readonly [Reprocess, string])[] = [
  ["none", "Leave them as they are"],
  ["failed", "Run those again that failed"],
  ["all", "Run all of them again"],
];

export default function NewBackfill() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const { data: known } = useQuery({ ...schedules(), placeholderData: keepPreviousData });
  const [reprocess, setReprocess] = useState<Reprocess>("none");
  const [concurrency, setConcurrency] = useState("1");
  const [newestFirst, setNewestFirst] = useState(false);
  const [note, setNote] = useState("");
  const make = useDeed({
    act: (body: Order) => ask("create_backfill", { body }),
    done: (made) => `Backfill ${made.id} is under way.`,
    changes: [["backfills"], ["runs"]],
  });

  const chosen = known?.find((each) => each.name === search.schedule);
  // A day is one of the schedule's own clock.
  const zone = chosen?.spec.timezone ?? "UTC";
  const from = isDay(search.from) ? search.from : undefined;
  const to = isDay(search.to) ? search.to : undefined;
  const now = new Date();
  const order: Order | null =
    chosen === undefined || from === undefined
      ? null
      : {
          schedule: chosen.name,
          from: startOf(from, zone).toISOString(),
          to: earlier(startOf(dayAfter(to ?? from), zone), now).toISOString(),
          reprocess,
          concurrency: Math.max(1, Number(concurrency) || 1),
          newest_first: newestFirst,
          ...(note && { note }),
        };
  const look = (change: object) =>
    void navigate({ to: "/backfills/new", search: { ...search, ...change }, replace: true });
  return (
    <Page title="New backfill" crumbs={CRUMBS}>
      {known !== undefined && known.length === 0 ? (
        <Empty title="There is no schedule to backfill.">
          Give a dag a schedule first: a backfill makes the runs that it would have made.
        </Empty>
      ) : (
        <div className="grid grid-cols-2 items-start gap-4 max-lg:grid-cols-1">
          <div className="flex flex-col gap-4">
            <Card title="Which days">
              <div className="flex flex-col gap-4 p-4">
                <Field label="Schedule">
                  <Choice
                    label="Schedule"
                    value={search.schedule ?? ""}
                    options={[
                      ["", "Choose a schedule"],
                      ...(known ?? []).map((each) => [each.name, `${each.name}: ${each.words}`] as const),
                    ]}
                    choose={(schedule) => look({ schedule: schedule || undefined })}
                  />
                </Field>
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
            <Card title="How">
              <div className="flex flex-col gap-4 p-4">
                <Field label="Days that have a run already">
                  <Choice
                    label="Days that have a run already"
                    value={reprocess}
                    options={REPROCESS}
                    choose={(value) => setReprocess(value as Reprocess)}
                  />
                </Field>
                <Field label="Runs at a time">
                  <TextBox
                    type="number"
                    min={1}
                    max={1000}
                    value={concurrency}
                    onChange={(event) => setConcurrency(event.target.value)}
                  />
                </Field>
                <Check label="The newest first" value={newestFirst} change={setNewestFirst} />
                <Field label="Note" about="Why, for those who will wonder.">
                  <TextBox value={note} maxLength={1000} onChange={(event) => setNote(event.target.value)} />
                </Field>
              </div>
            </Card>
          </div>
          <Card title="What it would run">
            {order === null ? (
              <Empty title="Choose a schedule and days.">What would run, and for how long, is shown here before anything starts.</Empty>
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
                    onSuccess: (made) =>
                      void navigate({ to: "/backfills/$backfill", params: { backfill: made.id } }),
                  })
                }
              >
                Start the backfill
              </Button>
            </div>
          </Card>
        </div>
      )}
    </Page>
  );
}

function earlier(a: Date, b: Date): Date {
  // To the minute, so that the order stays the same while somebody looks at it.
  const minute = new Date(Math.floor(b.getTime() / 60_000) * 60_000);
  return a < minute ? a : minute;
}
