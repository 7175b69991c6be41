/** One backfill: how far it is, what became of its instants, and holding or ending it. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { useTopics } from "~/api/live";
import { backfill as backfillQuery } from "~/api/queries";
import { Button } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Facts } from "~/components/Facts";
import { Check } from "~/components/Field";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge, State } from "~/components/State";
import type { BackfillDocument, InstantOfBackfill } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { number } from "~/lib/words";
import { HowFar } from "~/views/backfills/Backfills";

const route = getRouteApi("/backfills/$backfill");
const CRUMBS = [{ name: "Backfills", to: "/backfills" }];

const VERDICTS: Readonly<Record<string, Tone>> = { succeeded: "good", failed: "bad", cancelled: "quiet" };
const OUTCOMES = { made: "has a run", exists: "had a run already", excluded: "left out by a calendar" } as const;

const COLUMNS: readonly Column<InstantOfBackfill>[] = [
  { name: "Instant", width: "9.5rem", cell: (each) => <Moment at={each.fire_at} exact /> },
  {
    name: "Verdict",
    width: "5.75rem",
    cell: (each) =>
      each.outcome !== "made" ? (
        <span className="text-faint">–</span>
      ) : (
        <Badge tone={VERDICTS[each.verdict ?? ""] ?? "active"}>{each.verdict ?? "open"}</Badge>
      ),
  },
  { name: "Outcome", width: "minmax(6rem, 1fr)", wide: true, cell: (each) => <span className="text-soft">{OUTCOMES[each.outcome]}</span> },
  {
    name: "Run",
    width: "minmax(3.25rem, 6rem)",
    cell: (each) =>
      each.run === null ? (
        "–"
      ) : (
        <Link to="/runs/$run" params={{ run: each.run }} className="mono text-accent hover:underline">
          {each.run}
        </Link>
      ),
  },
];

export default function Backfill() {
  useTopics("runs");
  const { backfill: id } = route.useParams();
  const { failed = false } = route.useSearch();
  const navigate = useNavigate();
  const { data, error } = useQuery({ ...backfillQuery(id, failed), placeholderData: keepPreviousData });
  const [cancelling, setCancelling] = useState(false);
  const turn = useDeed({
    act: (paused: boolean) =>
      paused
        ? ask("pause_backfill", { parts: { backfill: id }, body: {} })
        : ask("resume_backfill", { parts: { backfill: id } }),
    done: (_, paused) => (paused ? "It makes no runs until it is resumed." : "It goes on."),
    changes: [["backfill", id], ["backfills"]],
  });
  const over = data === undefined || data.state === "finished" || data.state === "cancelled";
  return (
    <Page
      title={data === undefined ? `Backfill ${id}` : `${data.schedule ?? data.dag} · backfill ${id}`}
      crumbs={CRUMBS}
      about={data && <State of="backfill" state={data.state} />}
      actions={
        !over && (
          <>
            <Button busy={turn.isPending} onClick={() => turn.mutate(data.state === "running")}>
              {data.state === "running" ? "Pause" : "Resume"}
            </Button>
            <Button look="danger" onClick={() => setCancelling(true)}>
              Cancel
            </Button>
          </>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      {data === undefined ? (
        error === null && <Loading />
      ) : (
        <>
          <About backfill={data} />
          <Card
            title="Instants"
            fill
            aside={
              <Check
                label="Only failed"
                value={failed}
                change={(on) =>
                  void navigate({
                    to: "/backfills/$backfill",
                    params: { backfill: id },
                    search: on ? { failed: true } : {},
                    replace: true,
                  })
                }
              />
            }
          >
            {data.fires.length === 0 ? (
              <Empty title={failed ? "None has failed." : "Nothing was made yet."}>
                {failed ? "Look at all of them." : "Engines make its runs, as many at a time as you said."}
              </Empty>
            ) : (
              <Rows label="Instants" items={data.fires} columns={COLUMNS} keyOf={(each) => each.fire_at} />
            )}
          </Card>
        </>
      )}
      {cancelling && <Cancel id={id} close={() => setCancelling(false)} />}
    </Page>
  );
}

function About({ backfill }: { backfill: BackfillDocument }) {
  const { halted_by: by, halt_note: note } = backfill;
  return (
    <Card>
      <div className="px-4 pt-4">
        <HowFar backfill={backfill} />
      </div>
      <Facts
        facts={[
          ["From", <Moment key="from" at={backfill.from} exact />],
          ["To", <Moment key="to" at={backfill.to} exact />],
          [
            "Runs",
            `${number(backfill.succeeded)} succeeded, ${number(backfill.failed)} failed, ${number(backfill.open)} open, ${number(backfill.existing)} there before`,
          ],
          ["At a time", number(backfill.concurrency)],
          ["Made", <><Moment at={backfill.created_at} />{backfill.created_by && ` by ${backfill.created_by}`}{backfill.note && `: ${backfill.note}`}</>],
          ...(by === null ? [] : ([["Halted", `by ${by}${note === null ? "" : `: ${note}`}`]] as const)),
        ]}
      />
    </Card>
  );
}

function Cancel({ id, close }: { id: number; close: () => void }) {
  const [runs, setRuns] = useState(false);
  const cancel = useDeed({
    act: () => ask("cancel_backfill", { parts: { backfill: id }, body: { runs } }),
    done: () => "The backfill is cancelled.",
    changes: [["backfill", id], ["backfills"], ["runs"]],
  });
  return (
    <Dialog title={`Cancel backfill ${id}?`} about="It makes no more runs, ever." close={close}>
      <div className="flex flex-col gap-4 p-5">
        <Check label="Stop its open runs, too" value={runs} change={setRuns} />
        {cancel.error !== null && <Trouble error={cancel.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Keep it as it is</Button>
          <Button look="danger" busy={cancel.isPending} onClick={() => cancel.mutate(undefined, { onSuccess: close })}>
            Cancel the backfill
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
