/** Whether all is well, the engines that look after everything, and who may ask. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { engines, tokens } from "~/api/queries";
import { Page } from "~/components/Page";
import { Tabs } from "~/components/Tabs";
import { Engines } from "~/views/admin/Engines";
import { Health } from "~/views/admin/Health";
import { Tokens } from "~/views/admin/Tokens";

const route = getRouteApi("/admin");

export default function Admin() {
  const { tab = "health" } = route.useSearch();
  const held = useQuery(tokens());
  const working = useQuery(engines());
  return (
    <Page title="Admin" about="Whether all is well, and who may ask">
      <Tabs
        label="Administration"
        chosen={tab}
        tabs={[
          { name: "Health", value: "health" },
          { name: "Engines", value: "engines", count: working.data?.length },
          { name: "Tokens", value: "tokens", count: held.data?.filter((each) => each.revoked_at === null).length },
        ]}
      />
      {tab === "health" && <Health />}
      {tab === "engines" && <Engines engines={working.data} error={working.error} />}
      {tab === "tokens" && <Tokens tokens={held.data} error={held.error} />}
    </Page>
  );
}
