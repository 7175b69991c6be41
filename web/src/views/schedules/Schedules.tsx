/** What fires when: a list, a time line of the next days, a map of the hours, and what was left out. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { useTopics } from "~/api/live";
import { comingFires, schedules } from "~/api/queries";
import { buttonClass } from "~/components/Button";
import { Search } from "~/components/Field";
import { Icon } from "~/components/Icon";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import { Tabs } from "~/components/Tabs";
import type { Schedule } from "~/generated/api";
import { FireLine } from "~/views/schedules/FireLine";
import { Missed } from "~/views/schedules/Missed";
import { HeatMap } from "~/views/schedules/HeatMap";

const route = getRouteApi("/schedules");
const LINE_HOURS = 48;
const MAP_HOURS = 168;

const COLUMNS: readonly Column<Schedule>[] = [
  {
    name: "Schedule",
    width: "minmax(8rem, 2fr)",
    cell: (each) => (
      <span className="flex items-center gap-2">
        <Link
          to="/schedules/$schedule"
          params={{ schedule: each.name }}
          className="truncate font-medium hover:underline"
        >
          {each.name}
        </Link>
        <Standing schedule={each} />
      </span>
    ),
  },
  { name: "Dag", width: "minmax(6rem, 1fr)", wide: true, cell: (each) => <span className="text-soft">{each.dag}</span> },
  { name: "When", width: "minmax(8rem, 2fr)", wide: true, cell: (each) => <span title={each.words}>{each.words}</span> },
  { name: "Last fire", width: "6rem", wide: true, cell: (each) => <Moment at={each.last_fire_at} /> },
  { name: "Next fire", width: "6rem", cell: (each) => <Moment at={each.next_fire_at} /> },
];

export function Standing({ schedule }: { schedule: Schedule }) {
  if (schedule.pause !== null)
    return (
      <Badge tone="warn" title={schedule.pause.note ?? "It fires nothing until it is resumed."}>
        Paused
      </Badge>
    );
  if (schedule.dag_paused) return <Badge tone="warn" title="Its runs wait until the dag is resumed.">Dag paused</Badge>;
  if (schedule.state === "finished") return <Badge tone="quiet">Finished</Badge>;
  if (schedule.failures > 0) return <Badge tone="bad">{`${schedule.failures} failed in a row`}</Badge>;
  return null;
}

export default function Schedules() {
  useTopics("dags");
  const { tab = "list", text = "" } = route.useSearch();
  const navigate = useNavigate();
  const { data, error } = useQuery(schedules());
  const shown = data?.filter((each) => `${each.name} ${each.dag} ${each.words}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <Page
      title="Schedules"
      about="What fires when"
      actions={
        <>
          <Search
            label="Search schedules"
            value={text}
            change={(next) =>
              void navigate({ to: "/schedules", search: { tab, ...(next && { text: next }) }, replace: true })
            }
          />
          <Link to="/schedules/new" className={buttonClass("main")}>
            <Icon name="plus" />
            New schedule
          </Link>
        </>
      }
    >
      <Tabs
        label="Ways to look at schedules"
        chosen={tab}
        tabs={[
          { name: "List", value: "list", count: data?.length },
          { name: "Time line", value: "line" },
          { name: "Busy hours", value: "heat" },
          { name: "Missed", value: "missed" },
        ]}
      />
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {tab === "missed" ? (
          <Missed text={text} />
        ) : shown === undefined ? (
          error === null && <Loading />
        ) : shown.length === 0 ? (
          <Empty title={data?.length ? "No schedule is called like that." : "There are no schedules yet."}>
            Write <code className="mono">@dag(schedule="0 2 * * *")</code> in a file, or{" "}
            <Link to="/schedules/new" className="text-accent underline">
              make one here
            </Link>
            .
          </Empty>
        ) : tab === "list" ? (
          <Rows
            label="Schedules"
            items={shown}
            columns={COLUMNS}
            keyOf={(each) => each.name}
            open={(each) => void navigate({ to: "/schedules/$schedule", params: { schedule: each.name } })}
            rowHeight={44}
          />
        ) : (
          <Coming tab={tab} names={new Set(shown.map((each) => each.name))} />
        )}
      </Card>
    </Page>
  );
}

function Coming({ tab, names }: { tab: "line" | "heat"; names: ReadonlySet<string> }) {
  const { data, error } = useQuery(comingFires(tab === "line" ? LINE_HOURS : MAP_HOURS));
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return <Loading />;
  const coming = data.filter((each) => names.has(each.schedule));
  if (coming.length === 0)
    return <Empty title="Nothing fires.">All of these schedules are paused or over; resume one to see its fires.</Empty>;
  return tab === "line" ? <FireLine coming={coming} hours={LINE_HOURS} /> : <HeatMap coming={coming} />;
}
