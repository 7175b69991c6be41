/** Every view has an address; each is loaded when it is first gone to. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
} from "@tanstack/react-router";

import { Empty, Trouble } from "~/components/Notice";
import { Page } from "~/components/Page";
import { Shell } from "~/components/Shell";
import { RUN_STATES, type RunState } from "~/generated/states";

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
  }),
  component: lazyRouteComponent(() => import("~/views/dags/Dag")),
});

const runs = createRoute({
  getParentRoute: () => root,
  path: "/runs",
  validateSearch: (given: Record<string, unknown>): { dag?: string; state?: RunState } => ({
    ...text(given, "dag"),
    ...(RUN_STATES.includes(given.state as RunState) ? { state: given.state as RunState } : {}),
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
  component: lazyRouteComponent(() => import("~/views/runs/Run")),
});

function text<Name extends string>(given: Record<string, unknown>, name: Name) {
  const value = given[name];
  return typeof value === "string" && value !== "" ? ({ [name]: value } as { [N in Name]: string }) : {};
}

function count<Name extends string>(given: Record<string, unknown>, name: Name) {
  const value = Number(given[name]);
  return Number.isSafeInteger(value) && value > 0 ? ({ [name]: value } as { [N in Name]: number }) : {};
}

export const router = createRouter({
  routeTree: root.addChildren([dags, dag, runs, run]),
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
