/** What views ask for, by name: the key, the question, and the topics that make the answer old. */

import { infiniteQueryOptions, QueryClient, queryOptions, replaceEqualDeep } from "@tanstack/react-query";

import { ask, askWithTag, Refused, type Operation, type Answer } from "~/api/call";
import type { IconName } from "~/components/Icon";
import type { DagWhole, Grid, JobKind, JobStatus, RunState, RunWhole, Width, WrittenSpec } from "~/generated/api";
import { refreshed } from "~/lib/cells";
import { TASKS_FIRST } from "~/views/runs/whole";

export type DagHead = Omit<DagWhole, "tasks" | "snapshot" | "notify" | "timeout_seconds" | "version_created_at" | "changed_at">;

export const queryClient = new QueryClient({
  defaultOptions: {
    // Whether the browser believes to be online says nothing about our server: we try, and then know.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
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

/** What changed in a dag from one version to another. */
export function versionsDiffer(name: string, before: number, after: number) {
  return queryOptions({
    queryKey: ["versions-differ", name, before, after],
    queryFn: async ({ signal }) =>
      (await ask("diff_versions", { parts: { dag: name }, query: { before, after }, signal })).difference,
    staleTime: Infinity,
  });
}

/** The files of a version, and the text of one; its snapshot may be a newer one tomorrow. */
export function codeOf(dag: string, { version, snapshot }: { version: number; snapshot: string }, file?: string) {
  return queryOptions({
    queryKey: ["code", dag, version, snapshot, file ?? null],
    queryFn: ({ signal }) => ask("show_code", { parts: { dag, version }, query: { file }, signal }),
    staleTime: Infinity,
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

/** What ended of a dag in so many days, as it was counted. */
export function statsOf(dag: string, days: number, step: Width) {
  return queryOptions({
    queryKey: ["stats", dag, days, step],
    queryFn: ({ signal }) =>
      ask("show_stats_of_dag", {
        parts: { dag },
        query: { step, since: new Date(Date.now() - days * 86_400_000).toISOString() },
        signal,
      }),
    // A run is counted when it leaves the hot tables, some seconds after its end.
    refetchInterval: 10_000,
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
  /** Part of the name of its dag. */
  readonly text?: string | undefined;
  /** Of its dag. */
  readonly tag?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}
export const TRIGGERS = ["schedule", "manual", "backfill", "rerun", "event", "upstream"] as const;
export type Trigger = (typeof TRIGGERS)[number];

export function runs(filter: RunFilter) {
  const { tag, ...rest } = filter;
  const query = { ...rest, ...(tag !== undefined && { tag: [tag] }), limit: 100 };
  return infiniteQueryOptions({
    queryKey: ["runs", filter],
    queryFn: ({ pageParam, signal }) =>
      ask("list_runs", { query: { ...query, cursor: pageParam ?? undefined }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? null,
    meta: { topics: ["runs"] },
  });
}

/** A run; the first answer holds no more tasks than fill a screen, and `useRun` asks for the rest. */
export function run(id: number) {
  const queryKey = ["run", id] as const;
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) =>
      ask("show_run", {
        parts: { run: id },
        query: queryClient.getQueryData(queryKey) === undefined ? { tasks_max: TASKS_FIRST } : {},
        signal,
      }),
    meta: { topics: [`run:${id}`] },
    // Thousands of tasks are taken as they come: to compare each with what it was takes longer than to draw.
    structuralSharing: (before, now) =>
      (now as RunWhole).tasks.length > 1000 ? now : replaceEqualDeep(before, now),
  });
}

/** One task, for those who come before all tasks of its run have. */
export function task(run: number, name: string) {
  return queryOptions({
    queryKey: ["task", run, name],
    queryFn: ({ signal }) => ask("show_task", { parts: { run, task: name }, signal }),
    meta: { topics: [`run:${run}`] },
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

export interface LetterFilter {
  readonly dag?: string | undefined;
  readonly error?: string | undefined;
}

export function letterGroups(filter: LetterFilter = {}) {
  return queryOptions({
    queryKey: ["letters", "groups", filter],
    queryFn: ({ signal }) => whole("list_dead_letters", { ...filter }, signal),
    meta: { topics: ["runs"] },
  });
}

export function lettersOf(group: string) {
  return infiniteQueryOptions({
    queryKey: ["letters", "of", group],
    queryFn: ({ pageParam, signal }) =>
      ask("list_group", { parts: { group }, query: { limit: 100, cursor: pageParam ?? undefined }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? null,
    meta: { topics: ["runs"] },
  });
}

export interface JobFilter {
  readonly status?: JobStatus | undefined;
  readonly kind?: JobKind | undefined;
  readonly name?: string | undefined;
}

export function jobs(filter: JobFilter) {
  return infiniteQueryOptions({
    queryKey: ["jobs", filter],
    queryFn: ({ pageParam, signal }) =>
      ask("list_jobs", { query: { ...filter, limit: 100, cursor: pageParam ?? undefined }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? null,
    meta: { topics: ["runs"] },
  });
}

export function job(name: string) {
  return queryOptions({
    queryKey: ["job", name],
    queryFn: ({ signal }) => askWithTag("show_job", { parts: { job: name }, signal }),
    meta: { topics: ["runs"] },
  });
}

export function jobRuns(name: string) {
  return infiniteQueryOptions({
    queryKey: ["job", name, "runs"],
    queryFn: ({ pageParam, signal }) =>
      ask("list_runs_of_job", { parts: { job: name }, query: { limit: 100, cursor: pageParam ?? undefined }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? null,
    meta: { topics: ["runs"] },
  });
}

/** When a spec would fire, before anybody has it. */
export function preview(spec: WrittenSpec, count = 8) {
  return queryOptions({
    queryKey: ["preview", spec, count],
    queryFn: ({ signal }) => ask("preview_spec", { body: { spec, count }, signal }),
    staleTime: 60_000,
  });
}

export function lanes() {
  return queryOptions({
    queryKey: ["lanes"],
    queryFn: async ({ signal }) => (await ask("list_queues", { signal })).items,
    meta: { topics: ["queues"] },
    refetchInterval: 5_000,
  });
}

export function skippedFires() {
  return infiniteQueryOptions({
    queryKey: ["skipped fires"],
    queryFn: ({ pageParam, signal }) =>
      ask("list_skipped", { query: { limit: 100, cursor: pageParam ?? undefined }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? null,
    // What schedules do is no topic; a minute is how often most of them fire at most.
    refetchInterval: 60_000,
  });
}

export function workers() {
  return queryOptions({
    queryKey: ["workers"],
    queryFn: async ({ signal }) => (await ask("list_workers", { signal })).items,
    meta: { topics: ["workers"] },
    refetchInterval: 5_000,
  });
}

export function inHand(worker: number) {
  return queryOptions({
    queryKey: ["workers", worker, "tasks"],
    queryFn: async ({ signal }) => (await ask("list_in_hand", { query: { worker, limit: 200 }, signal })).items,
    meta: { topics: ["workers", "runs"] },
    refetchInterval: 2_000,
  });
}

export function queue(name: string) {
  return queryOptions({
    queryKey: ["queue", name],
    queryFn: ({ signal }) => ask("show_queue", { parts: { queue: name }, signal }),
    meta: { topics: ["queues"] },
    refetchInterval: 5_000,
  });
}

export function schedules(dag?: string) {
  return queryOptions({
    queryKey: ["schedules", dag ?? null],
    queryFn: ({ signal }) => whole("list_schedules", { dag }, signal),
    meta: { topics: ["dags"] },
    refetchInterval: 15_000,
  });
}

export function schedule(name: string) {
  return queryOptions({
    queryKey: ["schedule", name],
    queryFn: ({ signal }) => askWithTag("show_schedule", { parts: { schedule: name }, query: { fires: 200 }, signal }),
    meta: { topics: ["dags"] },
    refetchInterval: 15_000,
  });
}

export function scheduleFires(name: string) {
  return queryOptions({
    queryKey: ["schedule", name, "fires"],
    queryFn: ({ signal }) => ask("preview_schedule", { parts: { schedule: name }, query: { count: 30 }, signal }),
  });
}

/** What all schedules do in the hours to come. */
export function comingFires(hours: number) {
  return queryOptions({
    queryKey: ["schedules", "fires", hours],
    queryFn: ({ signal }) => whole("list_fires", { hours }, signal),
    meta: { topics: ["dags"] },
    refetchInterval: 60_000,
  });
}

export function backfills() {
  return infiniteQueryOptions({
    queryKey: ["backfills"],
    queryFn: ({ pageParam, signal }) => ask("list_backfills", { query: { limit: 100, cursor: pageParam ?? undefined }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? null,
    meta: { topics: ["runs"] },
  });
}

export function backfill(id: number, failed: boolean) {
  return queryOptions({
    queryKey: ["backfill", id, failed],
    queryFn: ({ signal }) => ask("show_backfill", { parts: { backfill: id }, query: { limit: 1000, failed }, signal }),
    meta: { topics: ["runs"] },
    refetchInterval: 5_000,
  });
}

export function tokens() {
  return queryOptions({
    queryKey: ["tokens"],
    queryFn: async ({ signal }) => (await ask("list_tokens", { signal })).items,
  });
}

export function health() {
  return queryOptions({
    queryKey: ["health"],
    queryFn: ({ signal }) => ask("doctor", { signal }),
    refetchInterval: 15_000,
  });
}

export function engines() {
  return queryOptions({
    queryKey: ["engines"],
    queryFn: async ({ signal }) => (await ask("list_engines", { signal })).items,
    refetchInterval: 5_000,
  });
}

/** What ended in the last hour, by the minute. */
export function lastHour() {
  return queryOptions({
    queryKey: ["stats", "hour"],
    queryFn: ({ signal }) =>
      ask("show_stats", {
        query: { step: "minute", since: new Date(Date.now() - 3_600_000).toISOString() },
        signal,
      }),
    // A run is counted when it leaves the hot tables, some seconds after its end.
    refetchInterval: 10_000,
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
