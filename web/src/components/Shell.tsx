/** What stands around every view: where one can go, whether the page is live, light or dark. */

import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";

import { Icon, type IconName } from "~/components/Icon";
import { Key } from "~/components/Button";
import { CutStrip, LiveSign } from "~/components/LiveSign";
import { SignIn } from "~/components/SignIn";
import { Toasts } from "~/components/Toasts";
import { useSession } from "~/api/session";
import { useKeys } from "~/lib/keys";
import { useTheme, type Theme } from "~/lib/preferences";

const Palette = lazy(() => import("~/components/Palette"));

export const PLACES: readonly { name: string; to: string; icon: IconName; key: string }[] = [
  { name: "Home", to: "/", icon: "home", key: "h" },
  { name: "Dags", to: "/dags", icon: "dags", key: "d" },
  { name: "Runs", to: "/runs", icon: "runs", key: "r" },
  { name: "Jobs", to: "/jobs", icon: "jobs", key: "o" },
  { name: "Schedules", to: "/schedules", icon: "schedules", key: "s" },
  { name: "Backfills", to: "/backfills", icon: "backfills", key: "b" },
  { name: "Queues", to: "/queues", icon: "queues", key: "q" },
  { name: "Dead letters", to: "/dead-letters", icon: "letters", key: "l" },
  { name: "Admin", to: "/admin", icon: "admin", key: "a" },
];

export function Shell() {
  const [palette, setPalette] = useState<"go" | "help" | null>(null);
  const [going, setGoing] = useState(false);
  const navigate = useNavigate();
  useKeys(
    useMemo(() => {
      const places = Object.fromEntries(
        PLACES.map((each) => [
          each.key,
          () => {
            setGoing(false);
            void navigate({ to: each.to });
          },
        ]),
      );
      return {
        "mod+k": () => setPalette("go"),
        "/": () => setPalette("go"),
        "?": () => setPalette("help"),
        g: () => setGoing(true),
        ...(going ? places : {}),
      };
    }, [going, navigate]),
  );
  if (useSession() === "none") return <SignIn />;
  return (
    <div className="grid h-full grid-cols-[13rem_1fr] max-md:grid-cols-1 max-md:grid-rows-[1fr_auto]">
      <a
        href="#main"
        className="absolute -top-12 left-2 z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:top-2"
      >
        Skip to the content
      </a>
      <nav
        aria-label="Main"
        className="flex min-h-0 flex-col gap-4 border-r border-line bg-card p-3 max-md:order-2 max-md:flex-row max-md:gap-0 max-md:overflow-x-auto max-md:border-t max-md:border-r-0 max-md:p-1"
      >
        <Link to="/" className="flex items-center gap-2 px-2 pt-1 text-lg font-semibold max-md:hidden">
          <img src="/mark.svg" alt="" width={24} height={24} />
          Mainspring
        </Link>
        <button
          type="button"
          onClick={() => setPalette("go")}
          className="flex h-8 items-center gap-2 rounded-md border border-line bg-sunken px-2 text-sm text-faint hover:border-line-strong max-md:hidden"
        >
          <Icon name="search" />
          <span className="flex-1 text-left">Go to…</span>
          <Key>⌘K</Key>
        </button>
        <ul className="flex flex-col gap-0.5 max-md:flex-row">
          {PLACES.map((each) => (
            <li key={each.to}>
              <Link
                to={each.to}
                activeOptions={{ exact: each.to === "/" }}
                className="flex h-8 items-center gap-2.5 rounded-md px-2 text-soft hover:bg-hover hover:text-ink max-md:h-11 max-md:flex-col max-md:justify-center max-md:gap-0.5 max-md:text-xs"
                activeProps={{ className: "bg-accent-wash !text-ink font-medium" }}
              >
                <Icon name={each.icon} />
                <span className="whitespace-nowrap">{each.name}</span>
              </Link>
            </li>
          ))}
        </ul>
        <div className="mt-auto flex items-center justify-between px-1 max-md:hidden">
          <LiveSign />
          <ThemeSwitch />
        </div>
      </nav>
      <div className="flex min-h-0 min-w-0 flex-col max-md:order-1">
        <CutStrip />
        <div className="min-h-0 flex-1">
          <Outlet />
        </div>
      </div>
      <Suspense fallback={null}>
        {palette !== null && <Palette mode={palette} close={() => setPalette(null)} />}
      </Suspense>
      <Toasts />
    </div>
  );
}

const THEMES: readonly Theme[] = ["system", "light", "dark"];
const THEME_ICONS: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };

function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  return (
    <button
      type="button"
      aria-label={`Theme: ${theme}; change to ${next}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(next)}
      className="grid size-8 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink"
    >
      <Icon name={THEME_ICONS[theme]} />
    </button>
  );
}
