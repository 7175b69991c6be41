/** Asks once, then runs dead letters again or takes them off the list, and shows how far it is. */

import { useState } from "react";

import { ask } from "~/api/call";
import { queryClient } from "~/api/queries";
import { Bar } from "~/components/Bar";
import { Button } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Field, TextBox } from "~/components/Field";
import { Trouble } from "~/components/Notice";
import { say } from "~/components/Toasts";
import { counted, number } from "~/lib/words";
import { redrive, stepsOf, type Progress, type Told, type Verb, type Which } from "~/views/letters/redriving";

const WORDS = {
  retry: {
    verb: "Retry",
    about: "Each runs again in its own run, and then what comes after it.",
    done: "run again",
  },
  discard: {
    verb: "Discard",
    about: "They leave this list for good. Their runs stay failed, in history.",
    done: "discarded",
  },
} as const;

export interface Order {
  readonly verb: Verb;
  readonly which: Which;
  /** How many letters that is. */
  readonly count: number;
}

export function Redrive({ order, close }: { order: Order; close: (done: boolean) => void }) {
  const words = WORDS[order.verb];
  const [note, setNote] = useState("");
  const [progress, setProgress] = useState<Progress | null>(null);
  const [over, setOver] = useState(false);
  const [error, setError] = useState<unknown>(null);

  const go = async () => {
    setError(null);
    setProgress({ moved: 0, left: [] });
    try {
      const act = (step: Which) => askFor(order.verb, step, note);
      const found = await redrive(stepsOf(order.which), act, setProgress);
      if (found.left.length === 0) {
        say(`${counted(found.moved, "dead letter")} ${words.done}.`);
        close(true);
      }
    } catch (refusal) {
      setError(refusal);
    } finally {
      setOver(true);
      void queryClient.invalidateQueries({ queryKey: ["letters"] });
      void queryClient.invalidateQueries({ queryKey: ["runs"] });
    }
  };
  return (
    <Dialog
      title={`${words.verb} ${counted(order.count, "dead letter")}?`}
      about={words.about}
      close={() => close(over)}
    >
      <form
        className="flex flex-col gap-4 p-5"
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        {error !== null && <Trouble error={error} />}
        {progress === null ? (
          <Field label="Note" about="Why; it is kept with what was done. You may leave it empty.">
            <TextBox value={note} maxLength={1000} onChange={(event) => setNote(event.target.value)} />
          </Field>
        ) : (
          <HowFar progress={progress} of={order.count} done={words.done} />
        )}
        <div className="flex justify-end gap-2">
          {over ? (
            <Button look="main" onClick={() => close(true)}>
              Close
            </Button>
          ) : (
            <>
              <Button onClick={() => close(false)} disabled={progress !== null}>
                Keep them as they are
              </Button>
              <Button type="submit" look={order.verb === "discard" ? "danger" : "main"} busy={progress !== null}>
                {words.verb}
              </Button>
            </>
          )}
        </div>
      </form>
    </Dialog>
  );
}

function HowFar({ progress, of, done }: { progress: Progress; of: number; done: string }) {
  const left = progress.left.reduce((sum, each) => sum + each.tasks.length, 0);
  return (
    <div className="flex flex-col gap-3">
      <Bar
        label="Dead letters"
        of={Math.max(of, progress.moved + left)}
        parts={[
          { tone: "good", count: progress.moved, name: done },
          { tone: "warn", count: left, name: "left" },
        ]}
      />
      <p role="status" className="text-soft">
        {number(progress.moved)} {done}
        {left > 0 && `, ${number(left)} left as they are`}
      </p>
      {progress.left.length > 0 && (
        <ul className="flex max-h-60 flex-col gap-2 overflow-auto text-sm">
          {progress.left.slice(0, 50).map((each) => (
            <li key={`${each.run} ${each.tasks.join()}`}>
              <span className="font-medium">
                Run {each.run}, {each.tasks.join(", ")}:
              </span>{" "}
              {each.reason}. {each.hint && <span className="text-soft">{each.hint}.</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

async function askFor(verb: Verb, step: Which, note: string): Promise<Told> {
  const body = { ...step, note };
  if (verb === "retry") {
    const told = await ask("retry_letters", { body });
    return { moved: told.retried, left: told.left, ended: told.ended };
  }
  const told = await ask("discard_letters", { body });
  return { moved: told.discarded, left: told.left, ended: told.ended };
}
