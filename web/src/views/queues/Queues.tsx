/** Where tasks wait, and who runs them. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { useTopics } from "~/api/live";
import { lanes, workers } from "~/api/queries";
import { Card, Page } from "~/components/Page";
import { Tabs } from "~/components/Tabs";
import { InHand } from "~/views/queues/InHand";
import { QueueList } from "~/views/queues/QueueList";
import { Workers } from "~/views/queues/Workers";

const route = getRouteApi("/queues");

export default function Queues() {
  useTopics("queues", "workers");
  const { tab = "queues", worker } = route.useSearch();
  const waiting = useQuery(lanes());
  const living = useQuery(workers());
  const chosen = living.data?.find((each) => each.id === worker) ?? living.data?.[0];
  return (
    <Page title="Queues and workers" about="What waits, for how long, and who runs it">
      <Tabs
        label="Queues and workers"
        chosen={tab}
        tabs={[
          { name: "Queues", value: "queues", count: waiting.data && new Set(waiting.data.map((each) => each.queue)).size },
          { name: "Workers", value: "workers", count: living.data?.length },
        ]}
      />
      <Card fill>
        {tab === "queues" ? (
          <QueueList lanes={waiting.data} error={waiting.error} />
        ) : (
          <Workers workers={living.data} error={living.error} />
        )}
      </Card>
      {tab === "workers" && chosen !== undefined && <InHand worker={chosen} />}
    </Page>
  );
}
