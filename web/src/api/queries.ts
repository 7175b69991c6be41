/** What views ask for, by name: the key, the question, and the topics that make the answer old. */

import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";

import { ask, Refused, type Operation, type Answer } from "~/api/call";
import type { IconName } from "~/components/Icon";
import type { RunState } from "~/generated/api";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 60_000,
      refetchOnWindowFocus: true,
      // A refusal stays one; a server that is away comes back.
      retry: (count, error) => !(error instanceof Refused) && count < 3,
    },
  },
});

export function dags() {
  return queryOptions({
    queryKey: ["dags"],
    queryFn: ({ signal }) => whole("list_dags", {}, signal),
    meta: { topics: ["dags", "runs"] },
  });
}

export function dag(name: string) {
  return queryOptions({
    queryKey: ["dag", name],
    queryFn: ({ signal }) => ask("show_dag", { parts: { dag: name }, signal }),
    meta: { topics: ["dags"] },
  });
}

export interface RunFilter {
  readonly dag?: string | undefined;
  readonly state?: RunState | undefined;
  readonly trigger?: Exclude<Trigger, undefined> | undefined;
}
type Trigger = "schedule" | "event" | "manual" | "backfill" | "upstream" | "rerun";

export function runs(filter: RunFilter) {
  return infiniteQueryOptions({
    queryKey: ["runs", filter],
    queryFn: ({ pageParam, signal }) =>
      ask("list_runs", { query: { ...filter, limit: 100, cursor: pageParam ?? undefined }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? null,
    meta: { topics: ["runs"] },
  });
}

export function run(id: number) {
  return queryOptions({
    queryKey: ["run", id],
    queryFn: ({ signal }) => ask("show_run", { parts: { run: id }, signal }),
    meta: { topics: [`run:${id}`] },
  });
}

/** Names to go to, for the palette. */
export function everything() {
  return queryOptions({
    queryKey: ["everything"],
    queryFn: async ({ signal }) => {
      const [allDags, allSchedules] = await Promise.all([
        whole("list_dags", {}, signal),
        whole("list_schedules", {}, signal),
      ]);
      return [
        ...allDags.map((each) => goal(each.name, "dag", "dags", `/dags/${encodeURIComponent(each.name)}`)),
        ...allSchedules.map((each) =>
          goal(each.name, "schedule", "schedules", `/schedules/${encodeURIComponent(each.name)}`),
        ),
      ];
    },
    staleTime: 30_000,
  });
}

function goal(name: string, kind: string, icon: IconName, to: string) {
  return { name, kind, icon, to };
}

type Listing = {
  [O in Operation]: Answer<O> extends { items: readonly unknown[] } ? O : never;
}[Operation];
type Item<O extends Listing> = Answer<O> extends { items: readonly (infer T)[] } ? T : never;

const PAGES_MAX = 20;

/** All pages of a list that is short by nature. */
export async function whole<O extends Listing>(
  operation: O,
  query: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Item<O>[]> {
  const found: Item<O>[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const told = (await ask(operation, {
      query: { ...query, limit: 500, cursor: cursor ?? undefined },
      signal,
    } as never)) as { items: readonly Item<O>[]; next?: string | null };
    found.push(...told.items);
    cursor = told.next;
    if (cursor === null || cursor === undefined) break;
  }
  return found;
}
