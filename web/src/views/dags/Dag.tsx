/** One dag: its runs task by task, its graph, when it runs, how it has done, what it was before. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { useTopics } from "~/api/live";
import { dagHead, type DagHead } from "~/api/queries";
import { Button } from "~/components/Button";
import { Icon } from "~/components/Icon";
import { Trouble } from "~/components/Notice";
import { Page } from "~/components/Page";
import { Badge } from "~/components/State";
import { Tabs } from "~/components/Tabs";
import { whenIdle } from "~/lib/idle";
import { counted } from "~/lib/words";
import { FACES, loadFace } from "~/views/dags/faces";
import { PauseButton } from "~/views/dags/PauseButton";
import { Trigger } from "~/views/dags/Trigger";

const route = getRouteApi("/dags/$dag");


export default function Dag() {
  const { dag: name } = route.useParams();
  const search = route.useSearch();
  useTopics("dags");
  const [asking, setAsking] = useState(false);
  const { data: dag, error } = useQuery(dagHead(name));
  const tab = search.tab ?? "grid";
  useEffect(() => whenIdle(() => Object.keys(FACES).forEach((each) => void loadFace(each))), []);
  return (
    <Page
      title={name}
      crumbs={[{ name: "Dags", to: "/dags" }]}
      about={dag && <About dag={dag} />}
      actions={
        dag && (
          <>
            <PauseButton dag={name} pause={dag.pause} />
            <Button look="main" disabled={dag.gone_at !== null} onClick={() => setAsking(true)}>
              <Icon name="play" />
              Trigger
            </Button>
          </>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      <Tabs
        label={`Faces of ${name}`}
        chosen={tab}
        tabs={[
          { name: "Grid", value: "grid" },
          { name: "Graph", value: "graph" },
          { name: "Schedule", value: "schedule", count: dag?.schedules.length || undefined },
          { name: "History", value: "history" },
          { name: "Versions", value: "versions" },
          { name: "Backfills", value: "backfills" },
        ]}
      />
      {tab === "grid" && <FACES.grid dag={name} search={search} trigger={() => setAsking(true)} />}
      {tab === "graph" && <FACES.graph dag={name} search={search} />}
      {tab === "schedule" && dag && <FACES.schedule dag={dag} chosen={search.schedule} />}
      {tab === "history" && <FACES.history dag={name} days={search.days} />}
      {tab === "versions" && <FACES.versions dag={name} search={search} />}
      {tab === "backfills" && dag && <FACES.backfills dag={name} schedule={dag.schedules[0]?.name} />}
      {asking && <Trigger dag={name} close={() => setAsking(false)} />}
    </Page>
  );
}

function whenOf(dag: DagHead): string {
  const [first] = dag.schedules;
  if (dag.schedules.length > 1) return counted(dag.schedules.length, "schedule");
  return first!.paused ? `${first!.words} (paused)` : first!.words;
}

function About({ dag }: { dag: DagHead }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {dag.pause !== null && <Badge tone="warn">Paused</Badge>}
      {dag.gone_at !== null && <Badge tone="bad">No file defines it any more</Badge>}
      {dag.rolled_back_at !== null && <Badge tone="warn">Rolled back</Badge>}
      {dag.description !== "" && <span>{dag.description}</span>}
      <span className="text-faint">
        {[dag.owner && `owned by ${dag.owner}`, dag.file && `in ${dag.file}`, `version ${dag.version}`]
          .filter(Boolean)
          .join(" · ")}
      </span>
      {dag.schedules.length > 0 && <span className="text-faint">{whenOf(dag)}</span>}
    </div>
  );
}
