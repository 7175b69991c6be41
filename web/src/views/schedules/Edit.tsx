/** Changing a schedule: what would happen is shown beside it, and nobody's change is lost. */

import { useState, type FormEvent } from "react";

import { useDeed } from "~/api/acting";
import { ask, Refused } from "~/api/call";
import { Button } from "~/components/Button";
import { Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import type { Schedule, ScheduleOrder } from "~/generated/api";
import { Diff } from "~/views/schedules/Diff";
import { draftOf, orderOf } from "~/views/schedules/order";
import { SpecForm } from "~/views/schedules/SpecForm";

export function Edit({ schedule, etag, done }: { schedule: Schedule; etag: string; done: () => void }) {
  // As it was when the form was opened: what comes in meanwhile must not change under the hands.
  const [seen, setSeen] = useState({ schedule, etag });
  const [draft, setDraft] = useState(() => draftOf(schedule));
  const save = useDeed({
    act: (body: ScheduleOrder) =>
      ask("put_schedule", { parts: { schedule: schedule.name }, body, etag: seen.etag }),
    done: (told) => (told.changed ? `Saved: ${told.words}.` : "It was so already."),
    changes: [["schedule", schedule.name], ["schedules"]],
  });
  const { order, wrong } = read(() => orderOf(draft, seen.schedule));
  const current = currentIn(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (order !== null) save.mutate(order, { onSuccess: done });
  };
  return (
    <form onSubmit={submit} className="grid grid-cols-2 items-start gap-4 max-lg:grid-cols-1">
      <Card title="Schedule">
        <div className="p-4">
          <SpecForm draft={draft} change={(part) => setDraft({ ...draft, ...part })} />
        </div>
      </Card>
      <div className="flex flex-col gap-4">
        <Card title="What would change">
          <div className="p-4">{order === null ? <Trouble error={wrong} /> : <Diff name={schedule.name} order={order} />}</div>
        </Card>
        {current !== null ? (
          <Card title="Somebody else has changed it meanwhile">
            <div className="flex flex-col gap-3 p-4">
              <p>
                Version {current.version} is in force now: <strong>{current.words}</strong>, for dag {current.dag}.
              </p>
              <div className="flex flex-wrap gap-2">
                <Button
                  onClick={() => {
                    setSeen({ schedule: current, etag: `"${current.version}"` });
                    setDraft(draftOf(current));
                    save.reset();
                  }}
                >
                  Take theirs
                </Button>
                <Button
                  look="danger"
                  onClick={() => {
                    setSeen({ schedule: current, etag: `"${current.version}"` });
                    save.reset();
                  }}
                >
                  Keep mine, and compare with theirs
                </Button>
              </div>
            </div>
          </Card>
        ) : (
          save.error !== null && <Trouble error={save.error} />
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={done}>Cancel</Button>
          <Button look="main" type="submit" busy={save.isPending} disabled={order === null || current !== null}>
            Save
          </Button>
        </div>
      </div>
    </form>
  );
}

/** What the form says, or why it says nothing. */
export function read<T>(make: () => T): { order: T | null; wrong: unknown } {
  try {
    return { order: make(), wrong: null };
  } catch (error) {
    return { order: null, wrong: error };
  }
}

/** The schedule that is there, if that is why the server refused. */
function currentIn(error: unknown): Schedule | null {
  if (!(error instanceof Refused) || error.problem.status !== 412) return null;
  return (error.problem.current as Schedule | undefined) ?? null;
}
