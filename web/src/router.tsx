/** Every view has an address; each is loaded when it is first gone to. */

import type { FetchQueryOptions, QueryKey } from "@tanstack/react-query";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
} from "@tanstack/react-router";

import * as query from "~/api/queries";
import { Empty, Trouble } from "~/components/Notice";
import { Page } from "~/components/Page";
import { Shell } from "~/components/Shell";
import type { JobKind, JobStatus } from "~/generated/api";
import { RUN_STATES, TASK_STATES, type RunState, type TaskState } from "~/generated/states";
import { loadFace } from "~/views/dags/faces";
import { JOB_KINDS, JOB_STATUSES, JOB_WHENS, type JobWhen } from "~/views/jobs/words";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Page title="Nothing here">
      <Empty title="There is no view at this address.">
        <Link to="/" className="text-accent underline">
          Go home
        </Link>
      </Empty>
    </Page>
  ),
  errorComponent: ({ error }) => (
    <Page title="Something went wrong">
      <Trouble error={error} />
    </Page>
  ),
});

const dags = createRoute({
  getParentRoute: () => root,
  path: "/dags",
  validateSearch: (given: Record<string, unknown>): { text?: string; tag?: string; owner?: string } => ({
    ...text(given, "text"),
    ...text(given, "tag"),
    ...text(given, "owner"),
  }),
  component: lazyRouteComponent(() => import("~/views/dags/Dags")),
});

interface DagSearch {
  readonly tab?: string;
  readonly run?: number;
  readonly open?: string;
  readonly task?: string;
  readonly schedule?: string;
  readonly before?: number;
  readonly after?: number;
  readonly file?: string;
  readonly code?: "text" | "difference";
  readonly days?: number;
}

const dag = createRoute({
  getParentRoute: () => root,
  path: "/dags/$dag",
  validateSearch: (given: Record<string, unknown>): DagSearch => ({
    ...text(given, "tab"),
    ...count(given, "run"),
    ...text(given, "open"),
    ...text(given, "task"),
    ...text(given, "schedule"),
    ...count(given, "before"),
    ...count(given, "after"),
    ...text(given, "file"),
    ...oneOf(given, "code", ["text", "difference"] as const),
    ...count(given, "days"),
  }),
  loaderDeps: ({ search: { tab = "grid" } }) => ({ tab }),
  loader: ({ params: { dag }, deps: { tab } }) => {
    soon(query.dagHead(dag));
    if (tab === "grid" || tab === "graph") {
      soon(query.grid(dag));
      soon(query.graph(dag));
    }
    if (tab === "versions") soon(query.versionsOf(dag));
    if (tab === "backfills") soon(query.backfillsOf(dag));
    return loadFace(tab);
  },
  component: lazyRouteComponent(() => import("~/views/dags/Dag")),
});

const runs = createRoute({
  getParentRoute: () => root,
  path: "/runs",
  validateSearch: (
    given: Record<string, unknown>,
  ): {
    dag?: string;
    state?: RunState;
    trigger?: string;
    text?: string;
    tag?: string;
    since?: string;
    until?: string;
  } => ({
    ...text(given, "dag"),
    ...text(given, "text"),
    ...text(given, "tag"),
    ...oneOf(given, "state", RUN_STATES),
    ...text(given, "trigger"),
    ...text(given, "since"),
    ...text(given, "until"),
  }),
  component: lazyRouteComponent(() => import("~/views/runs/Runs")),
});

const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$run",
  params: {
    parse: ({ run }) => ({ run: Number(run) }),
    stringify: ({ run }) => ({ run: String(run) }),
  },
  validateSearch: (
    given: Record<string, unknown>,
  ): { tab?: string; text?: string; state?: TaskState; why?: boolean; with?: number; open?: string } => ({
    ...text(given, "open"),
    ...text(given, "tab"),
    ...text(given, "text"),
    ...oneOf(given, "state", TASK_STATES),
    ...flag(given, "why"),
    ...count(given, "with"),
  }),
  loaderDeps: ({ search: { tab } }) => ({ tab }),
  loader: ({ params: { run }, deps: { tab } }) => {
    soon(query.run(run));
    return tab === "graph" ? loadFace("graph") : undefined;
  },
  component: lazyRouteComponent(() => import("~/views/runs/Run")),
});

const task = createRoute({
  getParentRoute: () => root,
  path: "/runs/$run/tasks/$task",
  params: {
    parse: ({ run, task }) => ({ run: Number(run), task }),
    stringify: ({ run, task }) => ({ run: String(run), task }),
  },
  validateSearch: (
    given: Record<string, unknown>,
  ): { tab?: string; why?: boolean; term?: number; find?: string; wrap?: boolean; at?: number } => ({
    ...text(given, "tab"),
    ...flag(given, "why"),
    ...count(given, "term"),
    ...text(given, "find"),
    ...flag(given, "wrap"),
    ...count(given, "at"),
  }),
  loader: ({ params: { run, task } }) => {
    if (query.queryClient.getQueryData(query.run(run).queryKey) === undefined) soon(query.task(run, task));
    soon(query.run(run));
  },
  component: lazyRouteComponent(() => import("~/views/tasks/Task")),
});

const letters = createRoute({
  getParentRoute: () => root,
  path: "/dead-letters",
  validateSearch: (given: Record<string, unknown>): { error?: string; dag?: string } => ({
    ...text(given, "error"),
    ...text(given, "dag"),
  }),
  component: lazyRouteComponent(() => import("~/views/letters/Letters")),
});

const letterGroup = createRoute({
  getParentRoute: () => root,
  path: "/dead-letters/$group",
  validateSearch: (given: Record<string, unknown>): { run?: number } => ({
    ...(Number.isInteger(given.run) ? { run: given.run as number } : {}),
  }),
  component: lazyRouteComponent(() => import("~/views/letters/LetterGroup")),
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: (given: Record<string, unknown>): { status?: JobStatus; kind?: JobKind; name?: string } => ({
    ...oneOf(given, "status", JOB_STATUSES),
    ...oneOf(given, "kind", JOB_KINDS),
    ...text(given, "name"),
  }),
  component: lazyRouteComponent(() => import("~/views/jobs/Jobs")),
});

const newJob = createRoute({
  getParentRoute: () => root,
  path: "/jobs/new",
  validateSearch: (given: Record<string, unknown>): { kind?: JobKind; when?: JobWhen } => ({
    ...oneOf(given, "kind", JOB_KINDS),
    ...oneOf(given, "when", JOB_WHENS),
  }),
  component: lazyRouteComponent(() => import("~/views/jobs/NewJob")),
});

const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$job",
  component: lazyRouteComponent(() => import("~/views/jobs/Job")),
});

const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  validateSearch: (given: Record<string, unknown>): { tab?: QueueTab; worker?: number } => ({
    ...oneOf(given, "tab", QUEUE_TABS),
    ...(Number.isInteger(given.worker) ? { worker: given.worker as number } : {}),
  }),
  component: lazyRouteComponent(() => import("~/views/queues/Queues")),
});

const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  validateSearch: (given: Record<string, unknown>): { tab?: ScheduleTab; text?: string } => ({
    ...oneOf(given, "tab", SCHEDULE_TABS),
    ...text(given, "text"),
  }),
  component: lazyRouteComponent(() => import("~/views/schedules/Schedules")),
});

const newSchedule = createRoute({
  getParentRoute: () => root,
  path: "/schedules/new",
  validateSearch: (given: Record<string, unknown>): { dag?: string } => text(given, "dag"),
  component: lazyRouteComponent(() => import("~/views/schedules/NewSchedule")),
});

const schedule = createRoute({
  getParentRoute: () => root,
  path: "/schedules/$schedule",
  validateSearch: (given: Record<string, unknown>): { tab?: "fires" | "ledger" | "versions" | "edit" } =>
    oneOf(given, "tab", ["fires", "ledger", "versions", "edit"] as const),
  component: lazyRouteComponent(() => import("~/views/schedules/Schedule")),
});

const backfills = createRoute({
  getParentRoute: () => root,
  path: "/backfills",
  component: lazyRouteComponent(() => import("~/views/backfills/Backfills")),
});

const newBackfill = createRoute({
  getParentRoute: () => root,
  path: "/backfills/new",
  validateSearch: (
    given: Record<string, unknown>,
  ): {
    of?: "schedule" | "dag";
    schedule?: string;
    dag?: string;
    times?: string;
    zone?: string;
    from?: string;
    to?: string;
  } => ({
    ...oneOf(given, "of", ["schedule", "dag"] as const),
    ...text(given, "schedule"),
    ...text(given, "dag"),
    ...text(given, "times"),
    ...text(given, "zone"),
    ...text(given, "from"),
    ...text(given, "to"),
  }),
  component: lazyRouteComponent(() => import("~/views/backfills/NewBackfill")),
});

const backfill = createRoute({
  getParentRoute: () => root,
  path: "/backfills/$backfill",
  params: {
    parse: ({ backfill }) => ({ backfill: Number(backfill) }),
    stringify: ({ backfill }) => ({ backfill: String(backfill) }),
  },
  validateSearch: (given: Record<string, unknown>): { failed?: boolean } =>
    given.failed === true ? { failed: true } : {},
  component: lazyRouteComponent(() => import("~/views/backfills/Backfill")),
});

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("~/views/home/Home")),
});

const admin = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  validateSearch: (given: Record<string, unknown>): { tab?: "health" | "engines" | "tokens" } =>
    oneOf(given, "tab", ["health", "engines", "tokens"] as const),
  component: lazyRouteComponent(() => import("~/views/admin/Admin")),
});

/** Asked while the code of a view comes, or when somebody points at a link to it, if it is not known. */
function soon<T, E, D, K extends QueryKey>(options: FetchQueryOptions<T, E, D, K>): void {
  if (query.queryClient.getQueryData(options.queryKey) === undefined) void query.queryClient.prefetchQuery(options);
}

type QueueTab = "queues" | "workers";
const QUEUE_TABS: readonly QueueTab[] = ["queues", "workers"];
type ScheduleTab = "list" | "line" | "heat" | "missed";
const SCHEDULE_TABS: readonly ScheduleTab[] = ["list", "line", "heat", "missed"];

function text<Name extends string>(given: Record<string, unknown>, name: Name) {
  const value = given[name];
  // What looks like a number in the address was read as one.
  const told = typeof value === "number" ? String(value) : value;
  return typeof told === "string" && told !== "" ? ({ [name]: told } as { [N in Name]: string }) : {};
}

function flag<Name extends string>(given: Record<string, unknown>, name: Name) {
  const value = given[name];
  return typeof value === "boolean" ? ({ [name]: value } as { [N in Name]: boolean }) : {};
}

function count<Name extends string>(given: Record<string, unknown>, name: Name) {
  const value = Number(given[name] ?? Number.NaN);
  return Number.isSafeInteger(value) && value >= 0 ? ({ [name]: value } as { [N in Name]: number }) : {};
}

function oneOf<Name extends string, Value>(given: Record<string, unknown>, name: Name, values: readonly Value[]) {
  const found = values.find((each) => each === given[name]);
  return found === undefined ? {} : ({ [name]: found } as { [N in Name]: Value });
}

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    dags,
    dag,
    runs,
    run,
    task,
    letters,
    letterGroup,
    jobs,
    newJob,
    job,
    queues,
    admin,
    schedules,
    newSchedule,
    schedule,
    backfills,
    newBackfill,
    backfill,
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
