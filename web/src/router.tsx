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
  validateSearch: (given: Record<string, unknown>): { text?: string; tag?: string } => ({
    ...text(given, "text"),
    ...text(given, "tag"),
  }),
  component: lazyRouteComponent(() => import("~/views/dags/Dags")),
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

export const router = createRouter({
  routeTree: root.addChildren([dags, runs, run]),
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
