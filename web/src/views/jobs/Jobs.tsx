/** Commands, requests and tasks under a name, without a dag of one's own. */

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

import { useTopics } from "~/api/live";
import { jobs, type JobFilter } from "~/api/queries";
import { buttonClass } from "~/components/Button";
import { Choice, Search } from "~/components/Field";
import { Icon } from "~/components/Icon";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Job, JobKind, JobStatus } from "~/generated/api";
import { JOB_KINDS, JOB_STATUSES, KIND_WORDS, STATUS_FACTS, whatItDoes } from "~/views/jobs/words";

const route = getRouteApi("/jobs");

const COLUMNS: readonly Column<Job>[] = [
  {
    name: "Job",
    width: "minmax(5rem, 2fr)",
    cell: (job) => (
      <Link to="/jobs/$job" params={{ job: job.name }} className="font-medium hover:underline">
        {job.name}
      </Link>
    ),
  },
  { name: "Status", width: "6.5rem", cell: (job) => <JobBadge status={job.status} /> },
  {
    name: "Does",
    width: "minmax(8rem, 3fr)",
    wide: true,
    cell: (job) => (
      <span className="mono text-soft" title={whatItDoes(job)}>
        {whatItDoes(job)}
      </span>
    ),
  },
  {
    name: "Last run",
    width: "7rem",
    wide: true,
    cell: (job) => <Moment at={job.last_run?.started_at ?? job.last_run?.due_at ?? null} />,
  },
  { name: "Next run", width: "5.5rem", cell: (job) => <Moment at={job.next_run_at} /> },
];

export default function Jobs() {
  useTopics("runs");
  const filter = route.useSearch();
  const navigate = useNavigate();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    ...jobs(filter),
    placeholderData: keepPreviousData,
  });
  const items = data?.pages.flatMap((page) => page.items);
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  const look = (change: JobFilter) =>
    void navigate({ to: "/jobs", search: { ...filter, ...change }, replace: true });
  const filtered = Object.keys(filter).length > 0;
  return (
    <Page
      title="Jobs"
      about="A command, a request or a task under a name"
      actions={
        <>
          <Search
            label="Names that begin with"
            value={filter.name ?? ""}
            change={(name) => look({ name: name || undefined })}
          />
          <Choice
            label="Kind"
            value={filter.kind ?? ""}
            options={[["", "All kinds"], ...JOB_KINDS.map((each) => [each, KIND_WORDS[each]] as const)]}
            choose={(kind) => look({ kind: (kind || undefined) as JobKind | undefined })}
          />
          <Choice
            label="Status"
            value={filter.status ?? ""}
            options={[
              ["", "Any status"],
              ...JOB_STATUSES.map((each) => [each, STATUS_FACTS[each].label] as const),
            ]}
            choose={(status) => look({ status: (status || undefined) as JobStatus | undefined })}
          />
          <Link to="/jobs/new" className={buttonClass("main")}>
            <Icon name="plus" />
            New job
          </Link>
        </>
      }
    >
      <Card fill>
        {error !== null && <Trouble error={error} />}
        {items === undefined ? (
          error === null && <Loading />
        ) : items.length === 0 && !hasNextPage ? (
          <Empty title={filtered ? "No job is like that." : "There are no jobs yet."}>
            {filtered ? (
              "Choose another kind or status, or fewer letters of the name."
            ) : (
              <>
                A job runs a command, a request or a dag, at once or by a schedule.{" "}
                <Link to="/jobs/new" className="text-accent underline">
                  Make the first one
                </Link>
                .
              </>
            )}
          </Empty>
        ) : (
          <Rows
            label="Jobs"
            items={items}
            columns={COLUMNS}
            keyOf={(each) => each.id}
            open={(each) => void navigate({ to: "/jobs/$job", params: { job: each.name } })}
            more={hasNextPage ? more : undefined}
            rowHeight={44}
          />
        )}
      </Card>
    </Page>
  );
}

export function JobBadge({ status }: { status: JobStatus }) {
  const facts = STATUS_FACTS[status];
  return (
    <Badge tone={facts.tone} title={facts.meaning}>
      {facts.label}
    </Badge>
  );
}
