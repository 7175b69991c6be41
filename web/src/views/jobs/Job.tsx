/** One job: what it does, when it is next, how its runs went, and what can be done with it. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { useTopics } from "~/api/live";
import { job as jobQuery, jobRuns } from "~/api/queries";
import { Bar } from "~/components/Bar";
import { Button } from "~/components/Button";
import { Confirm } from "~/components/Dialog";
import { Facts, Json } from "~/components/Facts";
import { Menu } from "~/components/Menu";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows } from "~/components/Rows";
import type { Job as JobShape, JobChange } from "~/generated/api";
import { length } from "~/lib/time";
import { JobBadge } from "~/views/jobs/Jobs";
import { Reschedule } from "~/views/jobs/Reschedule";
import { KIND_WORDS, whatItDoes } from "~/views/jobs/words";
import { RUN_COLUMNS } from "~/views/runs/columns";
import { writtenOf } from "~/views/schedules/written";

const route = getRouteApi("/jobs/$job");
const CRUMBS = [{ name: "Jobs", to: "/jobs" }];

export default function Job() {
  useTopics("runs");
  const { job: name } = route.useParams();
  const navigate = useNavigate();
  const { data, error } = useQuery(jobQuery(name));
  const runs = useInfiniteQuery(jobRuns(name));
  const [asking, setAsking] = useState<"cancel" | "reschedule" | null>(null);
  const changes = [["job", name], ["jobs"], ["schedules"]];
  const trigger = useDeed({
    act: () => ask("trigger_job", { parts: { job: name } }),
    done: (run) => `Run ${run.id} is on its way.`,
    changes: [...changes, ["runs"]],
  });
  const change = useDeed<JobChange>({
    act: (body) => ask("change_job", { parts: { job: name }, body }),
    changes,
  });
  const { fetchNextPage, isFetchingNextPage } = runs;
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);

  const job = data?.answer;
  const items = runs.data?.pages.flatMap((page) => page.items);
  const over = job === undefined || job.cancelled !== null;
  return (
    <Page
      title={job?.name ?? name}
      crumbs={CRUMBS}
      about={job && <JobBadge status={job.status} />}
      actions={
        !over && (
          <>
            {job.schedule !== null && (
              <Button busy={change.isPending} onClick={() => change.mutate({ paused: job.paused === null })}>
                {job.paused === null ? "Pause" : "Resume"}
              </Button>
            )}
            <Button look="main" busy={trigger.isPending} onClick={() => trigger.mutate()}>
              Run now
            </Button>
            <Menu
              label="More"
              acts={[
                { name: "Reschedule", act: () => setAsking("reschedule") },
                { name: "Cancel the job", act: () => setAsking("cancel"), danger: true },
              ]}
            />
          </>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      {job === undefined ? (
        error === null && <Loading />
      ) : (
        <>
          <About job={job} />
          <Card title="Runs" fill>
            {runs.error !== null && <Trouble error={runs.error} />}
            {items !== undefined && items.length === 0 ? (
              <Empty title="It has not run yet.">
                {job.next_run_at === null ? "Run it now, or give it a schedule." : "Its first run comes by its schedule."}
              </Empty>
            ) : (
              items !== undefined && (
                <Rows
                  label="Runs of the job"
                  items={items}
                  columns={RUN_COLUMNS}
                  keyOf={(each) => each.id}
                  open={(each) => void navigate({ to: "/runs/$run", params: { run: each.id } })}
                  more={runs.hasNextPage ? more : undefined}
                />
              )
            )}
          </Card>
        </>
      )}
      {asking === "cancel" && (
        <Confirm
          title={`Cancel ${name}?`}
          about="Nothing of it starts any more, its open runs are stopped, and it stays so."
          verb="Cancel the job"
          act={() => change.mutateAsync({ cancelled: true })}
          close={() => setAsking(null)}
        />
      )}
      {asking === "reschedule" && data !== undefined && (
        <Reschedule job={data.answer} etag={data.etag} close={() => setAsking(null)} />
      )}
    </Page>
  );
}

function About({ job }: { job: JobShape }) {
  return (
    <Card>
      {job.progress !== null && job.status === "running" && (
        <div className="px-4 pt-4">
          <Bar label="Progress" of={100} parts={[{ tone: "active", count: job.progress.percent, name: "percent" }]} />
          {job.progress.text !== null && <p className="mt-1 text-sm text-soft">{job.progress.text}</p>}
        </div>
      )}
      <Facts
        facts={[
          [KIND_WORDS[job.kind], <code key="what" className="mono break-all">{whatItDoes(job)}</code>],
          ...(job.schedule === null
            ? []
            : ([
                [
                  "Schedule",
                  <Link
                    key="schedule"
                    to="/schedules/$schedule"
                    params={{ schedule: `job.${job.name}` }}
                    className="mono text-accent hover:underline"
                  >
                    {job.schedule.when.map(writtenOf).join(", ")} {job.schedule.timezone}
                  </Link>,
                ],
                ["Next run", <Moment key="next" at={job.next_run_at} />],
              ] as const)),
          ...(job.paused === null
            ? []
            : ([["Paused", <>since <Moment at={job.paused.since} exact />{job.paused.note && `: ${job.paused.note}`}</>]] as const)),
          ["Tries", `${(job.retries ?? 0) + 1}${job.timeout_seconds === null ? "" : `, ${length(job.timeout_seconds)} each`}`],
          ["Made", <><Moment at={job.created_at} />{job.created_by && ` by ${job.created_by}`}</>],
        ]}
      />
      {job.kind === "task" && Object.keys((job.parameters ?? {}) as object).length > 0 && (
        <Json value={job.parameters} />
      )}
    </Card>
  );
}
