/** What a change would add, remove and move, before it is made. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { ask } from "~/api/call";
import { Trouble } from "~/components/Notice";
import type { FireDifference, ScheduleDiff, ScheduleOrder } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { useZone } from "~/lib/preferences";
import { useSettled } from "~/lib/settled";
import { dateAndTime } from "~/lib/time";
import { counted } from "~/lib/words";

const DAYS = 7;
const SHOWN_MAX = 60;

export function Diff({ name, order }: { name: string; order: ScheduleOrder }) {
  const settled = useSettled(order);
  const { data, error } = useQuery({
    queryKey: ["schedule", name, "diff", settled],
    queryFn: ({ signal }) =>
      ask("diff_schedule", { parts: { schedule: name }, query: { days: DAYS }, body: settled, signal }),
    enabled: settled.dag !== "" && settled.spec.when.length > 0,
    placeholderData: keepPreviousData,
  });
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return <p className="text-sm text-faint">Say what and when, and its effect is shown here.</p>;
  return <Told diff={data} />;
}

const MARKS: Record<FireDifference["difference"], { sign: string; tone: Tone; word: string }> = {
  added: { sign: "+", tone: "good", word: "added" },
  removed: { sign: "−", tone: "bad", word: "removed" },
  moved: { sign: "→", tone: "warn", word: "moved" },
};

function Told({ diff }: { diff: ScheduleDiff }) {
  const [zone] = useZone();
  const say = (at: string | null) => (at === null ? "" : dateAndTime(new Date(at), zone));
  const same = diff.fires.length === 0 && diff.options.length === 0;
  return (
    <div className="flex flex-col gap-3 text-sm">
      {diff.before !== null && diff.before !== diff.after && <p className="text-faint line-through">{diff.before}</p>}
      <p className="font-medium">{diff.after}</p>
      {diff.options.length > 0 && (
        <ul aria-label="Changed options">
          {diff.options.map((each) => (
            <li key={each.option}>
              <span className="text-soft">{each.option}:</span>{" "}
              <code className="mono">{JSON.stringify(each.before)}</code> →{" "}
              <code className="mono">{JSON.stringify(each.after)}</code>
            </li>
          ))}
        </ul>
      )}
      <p className="text-soft">
        {same ? "Nothing changes." : `In the next ${DAYS} days ${counted(diff.fires.length, "fire")} differ, ${diff.unchanged} stay.`}
      </p>
      <ol aria-label="Fires that differ" className="flex max-h-80 flex-col overflow-auto">
        {diff.fires.slice(0, SHOWN_MAX).map((each) => {
          const mark = MARKS[each.difference];
          return (
            <li
              key={`${each.before} ${each.after}`}
              data-tone={mark.tone}
              className="mono flex flex-wrap gap-2 border-b border-line/60 py-1 text-tone-text"
            >
              <span aria-hidden>{mark.sign}</span>
              <span className="sr-only">{mark.word}</span>
              {[say(each.before), say(each.after)].filter((text) => text !== "").join(" → ")}
              {each.note != null && <span className="text-soft">{each.note}</span>}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
