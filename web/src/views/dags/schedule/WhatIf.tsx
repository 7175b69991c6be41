/** Other times for a schedule: which fires they would add, remove and move, before anything is changed. */

import { useState, type FormEvent } from "react";

import { useDeed } from "~/api/acting";
import { ask, askWithTag } from "~/api/call";
import { Button } from "~/components/Button";
import { Field, TextBox } from "~/components/Field";
import { Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import type { ScheduleDiff, ScheduleDocument, ScheduleOrder } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { useZone } from "~/lib/preferences";
import { dateAndTime } from "~/lib/time";
import { counted } from "~/lib/words";
import { lineOf, rewritten } from "~/lib/written";

const SIGNS: Record<ScheduleDiff["fires"][number]["difference"], { sign: string; tone: Tone }> = {
  added: { sign: "+", tone: "good" },
  removed: { sign: "−", tone: "bad" },
  moved: { sign: "→", tone: "warn" },
};

export function WhatIf({ of }: { of: ScheduleDocument }) {
  const [lines, setLines] = useState(() => of.spec.when.map(lineOf).join("\n"));
  const [zone, setZone] = useState(of.spec.timezone ?? "UTC");
  const [error, setError] = useState<unknown>(null);
  const [seen, setSeen] = useState<{ diff: ScheduleDiff; order: ScheduleOrder } | null>(null);
  const save = useDeed<ScheduleOrder>({
    act: async (order) => {
      const { etag } = await askWithTag("show_schedule", { parts: { schedule: of.name } });
      return ask("put_schedule", { parts: { schedule: of.name }, body: order, ...(etag && { etag }) });
    },
    done: () => `${of.name} fires at its new times.`,
    changes: [["schedule", of.name], ["dag", of.dag], ["dags"], ["schedules"]],
  });
  const preview = async (event: FormEvent) => {
    event.preventDefault();
    setError(null);
    try {
      const order: ScheduleOrder = {
        dag: of.dag,
        spec: rewritten(of.spec, lines, zone),
        parameters: (of.parameters ?? {}) as Record<string, unknown>,
        note: of.note,
      };
      const diff = await ask("diff_schedule", { parts: { schedule: of.name }, query: { days: 28 }, body: order });
      setSeen({ diff, order });
    } catch (found) {
      setSeen(null);
      setError(found instanceof SyntaxError ? new Error("A line that begins with { has to be JSON.") : found);
    }
  };
  const change = <T,>(set: (value: T) => void) => (value: T) => {
    set(value);
    setSeen(null);
  };
  return (
    <Card title="What if it ran at other times?">
      <form onSubmit={(event) => void preview(event)} className="flex flex-wrap items-start gap-3 px-4 py-3">
        <Field label="When" about="Cron lines, one below the other.">
          <textarea
            rows={Math.max(1, lines.split("\n").length)}
            value={lines}
            spellCheck={false}
            onChange={(event) => change(setLines)(event.target.value)}
            className="mono min-h-8 w-72 max-w-full rounded-md border border-line-strong bg-raised px-2.5 py-1 hover:border-faint"
          />
        </Field>
        <Field label="Time zone" about="As in Europe/Berlin.">
          <TextBox value={zone} onChange={(event) => change(setZone)(event.target.value)} />
        </Field>
        <div className="pt-6">
          <Button type="submit">Preview the change</Button>
        </div>
      </form>
      {error !== null && (
        <div className="px-4 pb-4">
          <Trouble error={error} />
        </div>
      )}
      {seen !== null && (
        <div className="border-t border-line">
          <Differences diff={seen.diff} />
          <div className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-3">
            {of.in_code ? (
              <p className="text-sm text-soft">
                This schedule is written in the dag's file: change it there, and it is in force within seconds.
              </p>
            ) : (
              <Button look="main" busy={save.isPending} onClick={() => save.mutate(seen.order)}>
                Save the change
              </Button>
            )}
          </div>
        </div>
      )}
    </Card>
  );
}

function Differences({ diff }: { diff: ScheduleDiff }) {
  const [zone] = useZone();
  const told = (at: string) => dateAndTime(new Date(at), zone);
  return (
    <div role="status" className="px-4 py-3 text-sm">
      <p className="mb-2">
        <span className="text-soft">{diff.before}</span> → <span className="font-medium">{diff.after}</span>
      </p>
      <p className="mb-2 text-soft">
        {diff.fires.length === 0
          ? "No fire of the next four weeks would change."
          : `In the next four weeks ${counted(diff.fires.length, "fire")} would change, ${diff.unchanged} would not${diff.complete ? "" : "; more follow"}.`}
      </p>
      <ul className="max-h-72 overflow-auto">
        {diff.fires.map((each) => (
          <li
            key={`${each.before} ${each.after}`}
            data-tone={SIGNS[each.difference].tone}
            className="mono py-px text-tone-text"
          >
            {SIGNS[each.difference].sign} {[each.before, each.after].filter((at) => at !== null).map(told).join(" → ")}
            {each.note != null && <span className="text-faint"> {each.note}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
