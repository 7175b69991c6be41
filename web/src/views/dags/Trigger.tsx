/** Starts a run of a dag, with a form made from its typed parameters. Nothing is remembered. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";

import { ask as askServer } from "~/api/call";
import { dagHead, queryClient } from "~/api/queries";
import { Button } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Choice, Field, TextBox } from "~/components/Field";
import { Loading, Trouble } from "~/components/Notice";
import { say } from "~/components/Toasts";
import type { DagParameter } from "~/generated/api";
import { askedOf, meant, Unreadable, written, type Asked } from "~/lib/parameters";

export function Trigger({ dag, close }: { dag: string; close: () => void }) {
  const { data, error } = useQuery(dagHead(dag));
  return (
    <Dialog title={`Trigger ${dag}`} {...(data?.description ? { about: data.description } : {})} close={close}>
      {error !== null && <Trouble error={error} />}
      {data === undefined ? (
        error === null && <Loading rows={3} />
      ) : (
        <Form dag={dag} parameters={data.parameters} paused={data.pause !== null} close={close} />
      )}
    </Dialog>
  );
}

function Form({
  dag,
  parameters,
  paused,
  close,
}: {
  dag: string;
  parameters: readonly DagParameter[];
  paused: boolean;
  close: () => void;
}) {
  const navigate = useNavigate();
  const [asked] = useState(() => parameters.map(askedOf));
  const [texts, setTexts] = useState(() => asked.map(written));
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({});
  const [runAt, setRunAt] = useState("");
  const [refusal, setRefusal] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = read(asked, texts);
    setWrong(given.wrong);
    if (Object.keys(given.wrong).length > 0) return;
    setBusy(true);
    setRefusal(null);
    try {
      const run = await askServer("create_run", {
        parts: { dag },
        body: { parameters: given.values, ...(runAt && { run_at: new Date(runAt).toISOString() }) },
      });
      say(`Run ${run.id} of ${dag} was made.`);
      void queryClient.invalidateQueries({ predicate: (query) => SHOWN.has(String(query.queryKey[0])) });
      close();
      void navigate({ to: "/runs/$run", params: { run: run.id } });
    } catch (error) {
      setRefusal(error);
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4 p-5">
      {paused && (
        <p data-tone="warn" className="rounded-md bg-tone-wash px-3 py-2 text-sm text-tone-text">
          This dag is paused: its run waits until the pause ends.
        </p>
      )}
      {asked.map((each, at) => (
        <Field
          key={each.parameter.name}
          label={each.parameter.name + (each.parameter.required ? " (required)" : "")}
          about={hint(each)}
          error={wrong[each.parameter.name] ?? null}
        >
          <Input
            asked={each}
            value={texts[at]!}
            first={at === 0}
            change={(text) => setTexts(texts.map((old, index) => (index === at ? text : old)))}
          />
        </Field>
      ))}
      {asked.length === 0 && <p className="text-soft">This dag takes no parameters.</p>}
      <Field label="Not before" about="Leave it empty to start now.">
        <TextBox type="datetime-local" value={runAt} onChange={(event) => setRunAt(event.target.value)} />
      </Field>
      {refusal !== null && <Trouble error={refusal} />}
      <div className="flex justify-end gap-2">
        <Button onClick={close}>Close</Button>
        <Button look="main" type="submit" busy={busy} autoFocus={asked.length === 0}>
          Trigger
        </Button>
      </div>
    </form>
  );
}

const SHOWN = new Set(["dags", "strips", "runs", "grid"]);

function read(asked: readonly Asked[], texts: readonly string[]) {
  const values: Record<string, unknown> = {};
  const wrong: Record<string, string> = {};
  asked.forEach((each, at) => {
    try {
      const value = meant(each, texts[at]!);
      if (value !== undefined) values[each.parameter.name] = value;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      wrong[each.parameter.name] = error.message;
    }
  });
  return { values, wrong };
}

function hint({ ask, nullable }: Asked): string | undefined {
  const kind = {
    text: undefined,
    number: "A number.",
    integer: "A whole number.",
    date: undefined,
    time: undefined,
    "date-time": "In the time of this browser.",
    json: "JSON: a list, an object, a number, or text in quotes.",
    "yes-no": undefined,
    choice: undefined,
  }[ask.kind];
  return nullable ? `${kind ?? ""} Empty means none.`.trim() : kind;
}

function Input({
  asked,
  value,
  first,
  change,
}: {
  asked: Asked;
  value: string;
  first: boolean;
  change: (text: string) => void;
}) {
  const { ask, parameter, nullable } = asked;
  if (ask.kind === "yes-no" || ask.kind === "choice") {
    const options: (readonly [string, string])[] =
      ask.kind === "yes-no"
        ? [
            ["true", "Yes"],
            ["false", "No"],
          ]
        : ask.options.map((each) => [JSON.stringify(each), String(each)] as const);
    if (nullable || value === "") options.unshift(["", "–"]);
    return <Choice label={parameter.name} value={value} options={options} choose={change} />;
  }
  if (ask.kind === "json") {
    return (
      <textarea
        autoFocus={first}
        rows={2}
        spellCheck={false}
        value={value}
        onChange={(event) => change(event.target.value)}
        className="mono rounded-md border border-line-strong bg-raised px-2.5 py-1.5 text-ink hover:border-faint"
      />
    );
  }
  const types = { text: "text", number: "number", integer: "number", date: "date", time: "time", "date-time": "datetime-local" } as const;
  return (
    <TextBox
      autoFocus={first}
      type={types[ask.kind]}
      step={ask.kind === "number" ? "any" : undefined}
      value={value}
      onChange={(event) => change(event.target.value)}
    />
  );
}
