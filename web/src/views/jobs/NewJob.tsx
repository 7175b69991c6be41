/** Making a job: what it does, when, and how hard it tries. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { dags } from "~/api/queries";
import { Button } from "~/components/Button";
import { Choice, Field, TextArea, TextBox } from "~/components/Field";
import { Trouble } from "~/components/Notice";
import { Card, Page } from "~/components/Page";
import { Segments } from "~/components/Segments";
import { ZoneBox } from "~/components/ZoneBox";
import type { JobBody } from "~/generated/api";
import { HERE } from "~/lib/time";
import { linesOf, orderOf, type Draft } from "~/views/jobs/order";
import { JOB_KINDS, KIND_WORDS } from "~/views/jobs/words";
import { Preview } from "~/views/schedules/Preview";

const route = getRouteApi("/jobs/new");

const BLANK: Draft = {
  name: "",
  command: "",
  cwd: "",
  variables: "",
  method: "GET",
  url: "",
  headers: "",
  body: "",
  task: "",
  parameters: "",
  at: "",
  times: "0 3 * * *",
  zone: HERE,
  retries: "",
  timeout: "",
  queue: "",
  priority: "",
};

type Change = (change: Partial<Draft>) => void;

export default function NewJob() {
  const { kind = "command", when = "now" } = route.useSearch();
  const navigate = useNavigate();
  const [draft, setDraft] = useState(BLANK);
  const [unclear, setUnclear] = useState<unknown>(null);
  const change: Change = (part) => setDraft((before) => ({ ...before, ...part }));
  const deed = useDeed({
    act: (body: JobBody) => ask("create_job", { body }),
    done: (made) => `Job ${made.name} is made.`,
    changes: [["jobs"], ["runs"], ["schedules"]],
  });
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setUnclear(null);
    let body: JobBody;
    try {
      body = orderOf(kind, when, draft);
    } catch (error) {
      setUnclear(error);
      return;
    }
    deed.mutate(body, {
      onSuccess: (made) => void navigate({ to: "/jobs/$job", params: { job: made.name } }),
    });
  };
  const wrong = unclear ?? deed.error;
  return (
    <Page title="New job" crumbs={[{ name: "Jobs", to: "/jobs" }]}>
      <form onSubmit={(event) => void make(event)} className="flex w-full max-w-3xl flex-col gap-4">
        <Card title="What it does">
          <div className="flex flex-col gap-4 p-4">
            <Segments
              label="Kind"
              value={kind}
              options={JOB_KINDS.map((each) => [each, KIND_WORDS[each]] as const)}
              choose={(next) => void navigate({ to: ".", search: { kind: next, when }, replace: true })}
            />
            {kind === "command" && <CommandPart draft={draft} change={change} />}
            {kind === "http" && <RequestPart draft={draft} change={change} />}
            {kind === "task" && <TaskPart draft={draft} change={change} />}
          </div>
        </Card>
        <Card title="When">
          <div className="flex flex-col gap-4 p-4">
            <Segments
              label="When it runs"
              value={when}
              options={[
                ["now", "Now"],
                ["at", "At a time"],
                ["recurring", "Again and again"],
              ]}
              choose={(next) => void navigate({ to: ".", search: { kind, when: next }, replace: true })}
            />
            {when === "at" && (
              <Field label="Time" about={`By your clock, ${HERE}.`}>
                <TextBox
                  type="datetime-local"
                  required
                  step={60}
                  value={draft.at}
                  onChange={(event) => change({ at: event.target.value })}
                  className="max-w-60"
                />
              </Field>
            )}
            {when === "recurring" && <TimesPart draft={draft} change={change} />}
          </div>
        </Card>
        <Card title="Name and limits">
          <Limits draft={draft} change={change} />
        </Card>
        {wrong !== null && <Trouble error={wrong} />}
        <div className="flex justify-end gap-2">
          <Button onClick={() => void navigate({ to: "/jobs" })}>Cancel</Button>
          <Button look="main" type="submit" busy={deed.isPending}>
            {when === "now" ? "Run it" : "Make it"}
          </Button>
        </div>
      </form>
    </Page>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly change: Change;
}

function CommandPart({ draft, change }: PartProps) {
  return (
    <>
      <Field label="Command" about="A program and its arguments, quoted as in a shell. For pipes and variables: sh -c '…'.">
        <TextBox
          required
          spellCheck={false}
          value={draft.command}
          placeholder="pg_dump --dbname shop"
          onChange={(event) => change({ command: event.target.value })}
          className="mono"
        />
      </Field>
      <Field label="Folder" about="Where it runs, on the worker's machine. You may leave it empty.">
        <TextBox value={draft.cwd} spellCheck={false} onChange={(event) => change({ cwd: event.target.value })} className="mono" />
      </Field>
      <Field label="Environment" about="A line for each variable, such as REGION=eu.">
        <TextArea rows={2} value={draft.variables} onChange={(event) => change({ variables: event.target.value })} />
      </Field>
    </>
  );
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] as const;

function RequestPart({ draft, change }: PartProps) {
  return (
    <>
      <div className="grid grid-cols-[7rem_1fr] gap-3">
        <Field label="Method">
          <Choice
            label="Method"
            value={draft.method}
            options={METHODS.map((each) => [each, each] as const)}
            choose={(method) => change({ method })}
          />
        </Field>
        <Field label="Address">
          <TextBox
            required
            type="url"
            value={draft.url}
            placeholder="https://example.org/hook"
            onChange={(event) => change({ url: event.target.value })}
            className="mono"
          />
        </Field>
      </div>
      <Field label="Headers" about="A line for each, such as Accept: application/json.">
        <TextArea rows={2} value={draft.headers} onChange={(event) => change({ headers: event.target.value })} />
      </Field>
      {!["GET", "HEAD"].includes(draft.method) && (
        <Field label="Body">
          <TextArea rows={4} value={draft.body} onChange={(event) => change({ body: event.target.value })} />
        </Field>
      )}
    </>
  );
}

function TaskPart({ draft, change }: PartProps) {
  const { data = [] } = useQuery(dags());
  return (
    <>
      <Field label="Dag" about="A dag of your folder, run under this job's name.">
        <Choice
          label="Dag"
          value={draft.task}
          options={[["", "Choose a dag"], ...data.map((each) => [each.name, each.name] as const)]}
          choose={(task) => change({ task })}
        />
      </Field>
      <Field label="Parameters" about="As JSON; what is left out has the dag's default.">
        <TextArea
          rows={3}
          placeholder='{"region": "eu"}'
          value={draft.parameters}
          onChange={(event) => change({ parameters: event.target.value })}
        />
      </Field>
    </>
  );
}

function TimesPart({ draft, change }: PartProps) {
  return (
    <div className="grid grid-cols-2 gap-6 max-md:grid-cols-1">
      <div className="flex flex-col gap-4">
        <Field label="Times" about="A cron line such as 0 3 * * MON-FRI, or every 90m. Several: a line for each.">
          <TextArea rows={2} required value={draft.times} onChange={(event) => change({ times: event.target.value })} />
        </Field>
        <Field label="Time zone">
          <ZoneBox value={draft.zone} change={(zone) => change({ zone })} />
        </Field>
      </div>
      <div>
        <h3 className="mb-1 text-sm font-medium">Next fires</h3>
        <Preview spec={{ when: linesOf(draft.times), timezone: draft.zone.trim() || "UTC" }} count={6} />
      </div>
    </div>
  );
}

function Limits({ draft, change }: PartProps) {
  return (
    <div className="grid grid-cols-2 gap-4 p-4 max-sm:grid-cols-1">
      <Field label="Name" about="Empty: called after its kind and number.">
        <TextBox value={draft.name} maxLength={190} onChange={(event) => change({ name: event.target.value })} />
      </Field>
      <Field label="Queue" about="Which workers run it. Empty: the default queue.">
        <TextBox value={draft.queue} onChange={(event) => change({ queue: event.target.value })} />
      </Field>
      <Field label="Retries" about="How often it is tried again when it fails.">
        <TextBox
          type="number"
          min={0}
          max={999}
          value={draft.retries}
          onChange={(event) => change({ retries: event.target.value })}
        />
      </Field>
      <Field label="Timeout" about="Of each attempt, such as 10m. Empty: none.">
        <TextBox value={draft.timeout} onChange={(event) => change({ timeout: event.target.value })} />
      </Field>
      <Field label="Priority" about="0 to 9; higher is sooner within its queue.">
        <TextBox
          type="number"
          min={0}
          max={9}
          value={draft.priority}
          onChange={(event) => change({ priority: event.target.value })}
        />
      </Field>
    </div>
  );
}
