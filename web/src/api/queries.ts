/** What views ask for, by name: the key, the question, and the topics that make the answer old. */

import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";

import { ask, Refused, type Operation, type Answer } from "~/api/call";
import type { IconName } from "~/components/Icon";
import type { DagWhole, Grid, Run, RunState } from "~/generated/api";
import { refreshed } from "~/lib/cells";

export type DagHead = Omit<DagWhole, "tasks" | "snapshot" | "notify" | "timeout_seconds" | "version_created_at" | "changed_at">;

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

const HEAD_FIELDS = [
  ...["name", "version", "file", "description", "doc", "owner", "tags", "gone_at", "rolled_back_at"],
  ...["pause", "schedules", "parameters", "task_count"],
].join();

/** A dag without its tasks, of which there may be ten thousand. */
export function dagHead(name: string) {
  return queryOptions({
    queryKey: ["dag", name, "head"],
    queryFn: async ({ signal }) =>
      (await ask("show_dag", { parts: { dag: name }, query: { fields: HEAD_FIELDS }, signal })) as DagHead,
    meta: { topics: ["dags"] },
  });
}

/** The last runs of every dag, by its name. */
export function strips() {
  return queryOptions({
    queryKey: ["strips"],
    queryFn: async ({ signal }) =>
      new Map((await whole("show_strips", { runs: 14 }, signal)).map((each) => [each.dag, each.runs])),
    meta: { topics: ["runs"] },
  });
}

/** Tasks and edges of a version, which never change; without one, as a trigger uses them now. */
export function graph(name: string, version?: number) {
  return queryOptions({
    queryKey: ["graph", name, version ?? "now"],
    queryFn: ({ signal }) => ask("show_graph", { parts: { dag: name }, query: { version }, signal }),
    ...(version === undefined ? { meta: { topics: ["dags"] } } : { staleTime: Infinity }),
  });
}

export function grid(name: string) {
  const queryKey = ["grid", name] as const;
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<Grid> =>
      refreshed(
        queryClient.getQueryData<Grid>(queryKey),
        await ask("show_grid", { parts: { dag: name }, query: { runs: 50 }, signal }),
      ),
    meta: { topics: [`runs:dag=${name}`] },
  });
}

export function versionsOf(name: string) {
  return queryOptions({
    queryKey: ["versions", name],
    queryFn: async ({ signal }) => (await ask("list_dag_versions", { parts: { dag: name }, signal })).items,
    meta: { topics: ["dags"] },
  });
}

export function backfillsOf(name: string) {
  return queryOptions({
    queryKey: ["backfills", { dag: name }],
    queryFn: ({ signal }) => whole("list_backfills", { dag: name }, signal),
    meta: { topics: [`runs:dag=${name}`] },
  });
}

/** A schedule, and its next fires. */
export function scheduleAhead(name: string) {
  const parts = { schedule: name };
  return queryOptions({
    queryKey: ["schedule", name, "ahead"],
    queryFn: async ({ signal }) => {
      const [schedule, ahead] = await Promise.all([
        ask("show_schedule", { parts, query: { fires: 1 }, signal }),
        ask("preview_schedule", { parts, query: { count: 20 }, signal }),
      ]);
      return { schedule, ahead: ahead.items };
    },
    meta: { topics: ["dags", "runs"] },
  });
}

export type BriefRun = Pick<Run, "id" | "state" | "created_at" | "duration_seconds">;

/** The newest five hundred runs of a dag, the newest first. */
export function recentRuns(name: string) {
  return queryOptions({
    queryKey: ["recent-runs", name],
    queryFn: async ({ signal }) => {
      const query = { limit: 500, fields: "id,state,created_at,duration_seconds" };
      const page = await ask("list_dag_runs", { parts: { dag: name }, query, signal });
      return page.items as readonly BriefRun[];
    },
    meta: { topics: [`runs:dag=${name}`] },
  });
}

export function timeline(id: number) {
  return queryOptions({
    queryKey: ["timeline", id],
    queryFn: ({ signal }) => ask("show_timeline", { parts: { run: id }, signal }),
    meta: { topics: [`run:${id}`] },
  });
}

export interface RunFilter {
  readonly dag?: string | undefined;
  readonly state?: RunState | undefined;
  readonly trigger?: Trigger | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}
export const TRIGGERS = ["schedule", "manual", "backfill", "rerun", "event", "upstream"] as const;
export type Trigger = (typeof TRIGGERS)[number];

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

export function why(run: number, task?: string) {
  return queryOptions({
    queryKey: ["why", run, task],
    queryFn: ({ signal }) => ask("why", { parts: { run }, query: task === undefined ? {} : { task }, signal }),
    meta: { topics: [`run:${run}`, "queues", "workers", "dags"] },
    // What it tells of, "for 12 s", goes on by itself.
    refetchInterval: 3_000,
  });
}

export function comparison(run: number, other: number) {
  return queryOptions({
    queryKey: ["comparison", run, other],
    queryFn: ({ signal }) => ask("compare", { parts: { run, other }, signal }),
    meta: { topics: [`run:${run}`] },
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
