/** Why a run or a task stands where it stands, and what would move it on: to press, where it can be. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { why as whyQuery } from "~/api/queries";
import { Button, buttonClass } from "~/components/Button";
import { Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { State } from "~/components/State";
import { say } from "~/components/Toasts";
import type { Cause, Step } from "~/generated/api";
import { counted } from "~/lib/words";
import { quoted, wayOf, WORDS, type Way } from "~/views/why/step";

export function Why({ run, task }: { run: number; task?: string }) {
  const { data, error } = useQuery(whyQuery(run, task));
  // The headline repeats a cause that is alone; that is told below, with what helps.
  const headline = data?.causes.reduce((text, cause) => text.replace(cause.text, ""), data.headline).replace(/: $/, "") ?? "";
  return (
    <Card title="Why">
      {error !== null && <Trouble error={error} />}
      {data === undefined ? (
        error === null && <Loading rows={2} />
      ) : (
        <div className="flex max-h-96 flex-col gap-3 overflow-auto px-4 py-3">
          {headline !== "" && (
            <p className="font-medium">
              <Words text={headline} />
            </p>
          )}
          {data.causes.length > 0 && (
            <ul className="flex flex-col gap-3">
              {data.causes.map((cause) => (
                <CauseOf key={cause.task} run={run} cause={cause} />
              ))}
            </ul>
          )}
          {data.more > 0 && <p className="text-soft">And {counted(data.more, "more task")}.</p>}
        </div>
      )}
    </Card>
  );
}

function CauseOf({ run, cause }: { run: number; cause: Cause }) {
  const said = cause.text.startsWith(cause.task) ? cause.text.slice(cause.task.length) : ` ${cause.text}`;
  return (
    <li className="flex flex-col gap-2 border-l-2 border-line pl-3">
      <p className="flex flex-wrap items-baseline gap-x-2">
        <State of="task" state={cause.state} />
        <span className="min-w-0 break-words">
          <Link
            to="/runs/$run/tasks/$task"
            params={{ run, task: cause.task }}
            className="font-medium text-accent hover:underline"
          >
            {cause.task}
          </Link>
          <Words text={said} />
        </span>
      </p>
      {cause.unblocks.map((step) => (
        <StepOf key={step.text} step={step} />
      ))}
    </li>
  );
}

function StepOf({ step }: { step: Step }) {
  const way = wayOf(step.command);
  return (
    <div className="flex flex-wrap items-center gap-2 text-sm text-soft">
      <span>What helps: {step.text}.</span>
      {way !== null && <Take way={way} />}
      {way === null && step.command != null && <Command text={step.command} />}
    </div>
  );
}

function Take({ way }: { way: Way }) {
  const deed = useDeed({
    act: () => taken(way),
    done: () => DONE[way.kind],
    changes: [["run"], ["why"], ["dags"], ["dag"], ["queues"]],
  });
  if (way.kind === "log") {
    return (
      <Link to="/runs/$run/tasks/$task" params={way} className={buttonClass("plain")}>
        {WORDS.log}
      </Link>
    );
  }
  return (
    <Button busy={deed.isPending} onClick={() => deed.mutate()}>
      {WORDS[way.kind]}
    </Button>
  );
}

const DONE: Record<Way["kind"], string | null> = {
  resume_dag: "The dag goes on.",
  resume_queue: "The queue goes on.",
  rerun: "What failed runs again.",
  priority: "Its tasks go first now.",
  log: null,
};

async function taken(way: Way): Promise<unknown> {
  switch (way.kind) {
    case "resume_dag":
      return ask("resume_dag", { parts: { dag: way.dag } });
    case "resume_queue":
      return ask("resume_queue", { parts: { queue: way.queue } });
    case "rerun":
      return ask("rerun_run", { parts: { run: way.run }, body: {} });
    case "priority":
      return ask("set_priority", { parts: { run: way.run }, body: { priority: way.priority } });
    case "log":
      return undefined;
  }
}

function Command({ text }: { text: string }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    say("The command was copied.", "quiet");
  };
  return (
    <button
      type="button"
      title="Copy this command"
      onClick={() => void copy()}
      className="mono max-w-full truncate rounded-sm bg-sunken px-1.5 py-0.5 text-ink hover:bg-hover"
    >
      {text}
    </button>
  );
}

function Words({ text }: { text: string }) {
  return quoted(text).map((part, at) =>
    part.code ? (
      <code key={at} className="mono">
        {part.text}
      </code>
    ) : (
      part.text
    ),
  );
}
