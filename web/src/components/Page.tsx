/** The frame of a view: where we are, what can be done here, and the rest. */

import { Link } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";

export interface Crumb {
  readonly name: string;
  readonly to: string;
}

export function Page({
  title,
  crumbs = [],
  about,
  actions,
  children,
}: {
  title: string;
  crumbs?: readonly Crumb[];
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Mainspring`;
  }, [title]);
  return (
    <main id="main" className="flex h-full min-h-0 flex-col">
      <header className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2 px-6 pt-5 pb-4 max-sm:px-4">
        <div className="min-w-0">
          {crumbs.length > 0 && (
            <nav aria-label="Breadcrumb" className="flex gap-1.5 text-sm text-faint">
              {crumbs.map((each) => (
                <span key={each.to} className="flex gap-1.5">
                  <Link to={each.to} className="hover:text-ink hover:underline">
                    {each.name}
                  </Link>
                  <span aria-hidden>/</span>
                </span>
              ))}
            </nav>
          )}
          <h1 className="truncate text-xl">{title}</h1>
          {about !== undefined && <div className="mt-0.5 text-soft">{about}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-auto px-6 pb-6 max-sm:px-3">
        {children}
      </div>
    </main>
  );
}

export function Card({
  title,
  aside,
  fill = false,
  children,
}: {
  title?: string;
  aside?: ReactNode;
  fill?: boolean;
  children: ReactNode;
}) {
  return (
    <section
      aria-label={title}
      className={`flex flex-col overflow-hidden rounded-lg border border-line bg-card ${
        fill ? "min-h-64 flex-1" : "shrink-0"
      }`}
    >
      {title !== undefined && (
        <header className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5">
          <h2 className="text-sm font-semibold">{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}
