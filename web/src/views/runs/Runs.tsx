/** All runs, the newest first. */

import { useInfiniteQuery, keepPreviousData } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

import { useTopics } from "~/api/live";
import { runs } from "~/api/queries";
import { Choice } from "~/components/Field";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows } from "~/components/Rows";
import { RUN_FACTS, RUN_STATES } from "~/generated/states";
import { RUN_COLUMNS } from "~/views/runs/columns";

const route = getRouteApi("/runs");

export default function Runs() {
  useTopics("runs");
  const filter = route.useSearch();
  const navigate = useNavigate();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    ...runs(filter),
    placeholderData: keepPreviousData,
  });
  const items = data?.pages.flatMap((page) => page.items);
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  return (
    <Page
      title="Runs"
      actions={
        <Choice
          label="State"
          value={filter.state ?? ""}
          options={[
            ["", "All states"],
            ...RUN_STATES.map((state) => [state, RUN_FACTS[state].label] as const),
          ]}
          choose={(state) =>
            void navigate({
              to: "/runs",
              search: { ...filter, state: RUN_STATES.find((each) => each === state) },
            })
          }
        />
      }
    >
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {items === undefined ? (
          error === null && <Loading />
        ) : items.length === 0 ? (
          <Empty title="There are no such runs.">Trigger a dag, and its run appears here.</Empty>
        ) : (
          <Rows
            label="Runs"
            items={items}
            columns={RUN_COLUMNS}
            keyOf={(each) => each.id}
            open={(each) => void navigate({ to: "/runs/$run", params: { run: each.id } })}
            more={hasNextPage ? more : undefined}
          />
        )}
      </Card>
    </Page>
  );
}
