/** One schedule: when it fires next, what became of its fires, what it was before, and changing it. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { useTopics } from "~/api/live";
import { schedule as scheduleQuery, scheduleFires } from "~/api/queries";
import { Button, buttonClass } from "~/components/Button";
import { Confirm } from "~/components/Dialog";
import { Menu } from "~/components/Menu";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import { Tabs } from "~/components/Tabs";
import type { LedgerEntry, ScheduleDocument, VersionOfSchedule } from "~/generated/api";
import { number } from "~/lib/words";
import { Edit } from "~/views/schedules/Edit";
import { Fires } from "~/views/schedules/Preview";
import { Standing } from "~/views/schedules/Schedules";

const route = getRouteApi("/schedules/$schedule");
const CRUMBS = [{ name: "Schedules", to: "/schedules" }];

export default function Schedule() {
  useTopics("dags", "runs");
  const { schedule: name } = route.useParams();
  const { tab = "fires" } = route.useSearch();
  const navigate = useNavigate();
  const { data, error } = useQuery(scheduleQuery(name));
  const [removing, setRemoving] = useState(false);
  const changes = [["schedule", name], ["schedules"], ["dags"]];
  const turn = useDeed({
    act: (paused: boolean) =>
      paused
        ? ask("pause_schedule", { parts: { schedule: name }, body: {} })
        : ask("resume_schedule", { parts: { schedule: name } }),
    done: (_, paused) => (paused ? "It fires no more until it is resumed." : "It fires again."),
    changes,
  });
  const remove = useDeed({
    act: () => ask("delete_schedule", { parts: { schedule: name } }),
    done: () => `Schedule ${name} is removed.`,
    changes: [["schedules"], ["dags"]],
  });
  const go = (next: "fires" | "edit") =>
    void navigate({ to: "/schedules/$schedule", params: { schedule: name }, search: { tab: next }, replace: true });
  const found = data?.answer;
  return (
    <Page
      title={name}
      crumbs={CRUMBS}
      about={
        found && (
          <span className="flex flex-wrap items-center gap-2">
            {found.words}, for dag{" "}
            <Link to="/runs" search={{ dag: found.dag }} className="text-accent hover:underline">
              {found.dag}
            </Link>
            <Standing schedule={found} />
            {found.in_code && (
              <Badge tone="quiet" title="It is written in the dag's file; change it there.">
                In code
              </Badge>
            )}
          </span>
        )
      }
      actions={
        found && (
          <>
            <Link to="/backfills/new" search={{ schedule: name }} className={buttonClass()}>
              Backfill
            </Link>
            <Button busy={turn.isPending} onClick={() => turn.mutate(found.pause === null)}>
              {found.pause === null ? "Pause" : "Resume"}
            </Button>
            {!found.in_code && (
              <Menu
                label="More"
                acts={[
                  { name: "Edit", act: () => go("edit") },
                  { name: "Remove", act: () => setRemoving(true), danger: true },
                ]}
              />
            )}
          </>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      {found === undefined ? (
        error === null && <Loading />
      ) : (
        <>
          {found.problems.map((each) => (
            <Trouble key={each} error={new Error(`${each}.`)} />
          ))}
          <Tabs
            label="Faces of the schedule"
            chosen={tab}
            tabs={[
              { name: "Next fires", value: "fires" },
              { name: "What became of fires", value: "ledger" },
              { name: "Versions", value: "versions", count: found.versions.length },
              ...(found.in_code ? [] : [{ name: "Edit", value: "edit" }]),
            ]}
          />
          {tab === "fires" && <Next schedule={found} />}
          {tab === "ledger" && <Ledger entries={found.fires} />}
          {tab === "versions" && <Versions versions={found.versions} />}
          {tab === "edit" && !found.in_code && (
            <Edit schedule={found} etag={data?.etag ?? `"${found.version}"`} done={() => go("fires")} />
          )}
        </>
      )}
      {removing && (
        <Confirm
          title={`Remove ${name}?`}
          about="It fires no more. Runs that it has started go on, and history keeps what it fired."
          verb="Remove it"
          act={async () => {
            await remove.mutateAsync();
            await navigate({ to: "/schedules" });
          }}
          close={() => setRemoving(false)}
        />
      )}
    </Page>
  );
}

function Next({ schedule }: { schedule: ScheduleDocument }) {
  const { data, error } = useQuery(scheduleFires(schedule.name));
  return (
    <Card title={schedule.pause === null ? "Next fires" : "It is paused; these would be its next fires"}>
      <div className="max-w-2xl p-4">
        {error !== null && <Trouble error={error} />}
        {data === undefined ? error === null && <Loading /> : <Fires label="Next fires" fires={data.items} />}
      </div>
    </Card>
  );
}

const LEDGER: readonly Column<LedgerEntry>[] = [
  {
    name: "Fire",
    width: "minmax(9.25rem, 1.4fr)",
    cell: (each) => (
      <span>
        <Moment at={each.fire_at} exact />
        {each.count > 1 && <span className="text-soft"> and {number(each.count - 1)} more</span>}
      </span>
    ),
  },
  {
    name: "Outcome",
    width: "5.5rem",
    cell: (each) => <Badge tone={each.run_id === null ? "warn" : "good"}>{each.outcome.replaceAll("_", " ")}</Badge>,
  },
  {
    name: "Why",
    width: "minmax(6rem, 2fr)",
    wide: true,
    cell: (each) => <span className="text-soft" title={each.reason ?? ""}>{each.reason?.replaceAll("_", " ")}</span>,
  },
  {
    name: "Run",
    width: "4rem",
    cell: (each) =>
      each.run_id === null ? (
        <span className="text-faint">–</span>
      ) : (
        <Link to="/runs/$run" params={{ run: each.run_id }} className="mono text-accent hover:underline">
          {each.run_id}
        </Link>
      ),
  },
];

function Ledger({ entries }: { entries: readonly LedgerEntry[] }) {
  return (
    <Card fill>
      {entries.length === 0 ? (
        <Empty title="It has not fired yet.">What becomes of each fire is written here: its run, or why there is none.</Empty>
      ) : (
        <Rows label="What became of fires" items={entries} columns={LEDGER} keyOf={(each) => `${each.fire_at} ${each.decided_at} ${each.outcome}`} />
      )}
    </Card>
  );
}

const VERSIONS: readonly Column<VersionOfSchedule>[] = [
  { name: "Version", width: "3.25rem", cell: (each) => each.version },
  { name: "When", width: "minmax(5rem, 3fr)", cell: (each) => <span title={each.words}>{each.words}</span> },
  { name: "By", width: "minmax(4rem, 8rem)", wide: true, cell: (each) => each.changed_by },
  { name: "From", width: "10rem", cell: (each) => <Moment at={each.in_force_from} exact /> },
  { name: "Until", width: "10rem", wide: true, cell: (each) => <Moment at={each.in_force_until} exact /> },
];

function Versions({ versions }: { versions: readonly VersionOfSchedule[] }) {
  return (
    <Card fill>
      <Rows label="Versions" items={versions} columns={VERSIONS} keyOf={(each) => each.version} />
    </Card>
  );
}
