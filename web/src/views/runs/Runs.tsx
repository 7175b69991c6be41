/** All runs, the newest first; which of them is part of the address. */

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

import { useTopics } from "~/api/live";
import { dags, runs, TRIGGERS, type RunFilter } from "~/api/queries";
import { Choice, Search, TextBox } from "~/components/Field";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows } from "~/components/Rows";
import { RUN_FACTS, RUN_STATES } from "~/generated/states";
import { useSettled } from "~/lib/settled";
import { RUN_COLUMNS } from "~/views/runs/columns";

const route = getRouteApi("/runs");

export default function Runs() {
  useTopics("runs");
  const filter = asked(route.useSearch());
  // What is being typed is asked about once; what is chosen, at once.
  const text = useSettled(filter.text ?? "");
  const navigate = useNavigate();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    ...runs({ ...filter, text: text || undefined }),
    placeholderData: keepPreviousData,
  });
  const items = data?.pages.flatMap((page) => page.items);
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  return (
    <Page title="Runs" actions={<Filters filter={filter} />}>
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {items === undefined ? (
          error === null && <Loading />
        ) : items.length === 0 && hasNextPage ? (
          <Further more={more} busy={isFetchingNextPage} />
        ) : items.length === 0 ? (
          <Empty title="There are no such runs.">
            Choose less, or{" "}
            <Link to="/dags" className="text-accent underline">
              trigger a dag
            </Link>
            , and its run appears here.
          </Empty>
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

function asked(search: ReturnType<typeof route.useSearch>): RunFilter {
  return { ...search, trigger: TRIGGERS.find((each) => each === search.trigger) };
}

const AGES = [
  ["", "Any time"],
  ["1", "Last hour"],
  ["24", "Last day"],
  ["168", "Last week"],
] as const;

function Filters({ filter }: { filter: RunFilter }) {
  const navigate = useNavigate();
  const { data: known } = useQuery(dags());
  const set = (change: RunFilter) =>
    void navigate({ to: "/runs", search: { ...filter, ...change }, replace: true });
  const names = new Set([...(filter.dag ? [filter.dag] : []), ...(known ?? []).map((each) => each.name)]);
  const tags = new Set([...(filter.tag ? [filter.tag] : []), ...(known ?? []).flatMap((each) => each.tags)]);
  return (
    <>
      <Search
        label="Names of dags"
        value={filter.text ?? ""}
        change={(text) => set({ text: text.slice(0, 200) || undefined })}
      />
      {tags.size > 0 && (
        <Choice
          label="Tag"
          value={filter.tag ?? ""}
          options={[["", "All tags"], ...[...tags].sort().map((tag) => [tag, tag] as const)]}
          choose={(tag) => set({ tag: tag || undefined })}
        />
      )}
      <Choice
        label="Dag"
        value={filter.dag ?? ""}
        options={[["", "All dags"], ...[...names].sort().map((name) => [name, name] as const)]}
        choose={(dag) => set({ dag: dag || undefined })}
      />
      <Choice
        label="State"
        value={filter.state ?? ""}
        options={[["", "All states"], ...RUN_STATES.map((state) => [state, RUN_FACTS[state].label] as const)]}
        choose={(state) => set({ state: RUN_STATES.find((each) => each === state) })}
      />
      <Choice
        label="Trigger"
        value={filter.trigger ?? ""}
        options={[["", "All triggers"], ...TRIGGERS.map((each) => [each, each] as const)]}
        choose={(trigger) => set({ trigger: TRIGGERS.find((each) => each === trigger) })}
      />
      <Choice
        label="Made"
        value={filter.since === undefined ? "" : "since"}
        options={[...AGES, ...(filter.since === undefined ? [] : [["since", spanWords(filter)] as const])]}
        choose={(hours) => set({ since: hours === "" ? undefined : hoursAgo(Number(hours)), until: undefined })}
      />
      <GoTo />
    </>
  );
}

function spanWords({ since = "", until }: RunFilter): string {
  const told = (at: string) => `${at.slice(0, 16).replace("T", " ")} UTC`;
  return until === undefined ? `Since ${told(since)}` : `${told(since)} to ${told(until)}`;
}

function hoursAgo(hours: number): string {
  return new Date(Date.now() - hours * 3_600_000).toISOString();
}

/** A run by its number. */
function GoTo() {
  const navigate = useNavigate();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const run = Number(new FormData(event.currentTarget).get("run"));
        if (Number.isSafeInteger(run) && run > 0) void navigate({ to: "/runs/$run", params: { run } });
      }}
    >
      <TextBox name="run" inputMode="numeric" aria-label="Go to a run by its number" placeholder="Run number" className="w-28" />
    </form>
  );
}

/** A filter looks at some thousand runs at a time; none of the newest fits. */
function Further({ more, busy }: { more: () => void; busy: boolean }) {
  return (
    <Empty title="None of the newest runs fits.">
      <button type="button" disabled={busy} onClick={more} className="text-accent underline">
        Look further back
      </button>
    </Empty>
  );
}
