/** Holds a dag, or lets it go on. Shown at once, taken back if the server refuses. */

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import type { DagHead } from "~/api/queries";
import { Button } from "~/components/Button";
import { Icon } from "~/components/Icon";
import type { Pause } from "~/generated/api";

export function PauseButton({ dag, pause, small = false }: { dag: string; pause: Pause | null; small?: boolean }) {
  const deed = useDeed<boolean>({
    act: (hold) => ask(hold ? "pause_dag" : "resume_dag", { parts: { dag }, ...(hold && { body: {} }) } as never),
    done: (_, hold) => (hold ? `${dag} is paused: what runs goes on, nothing new starts.` : `${dag} goes on.`),
    changes: [["dags"], ["dag", dag]],
    meanwhile: {
      key: ["dag", dag, "head"],
      change: (before: DagHead, hold) => ({
        ...before,
        pause: hold ? { at: new Date().toISOString(), by: null, note: null } : null,
      }),
    },
  });
  const paused = pause !== null;
  return (
    <Button
      look={small ? "bare" : "plain"}
      className={small ? "w-8 px-0" : ""}
      busy={deed.isPending}
      onClick={() => deed.mutate(!paused)}
      {...(small ? { "aria-label": `${paused ? "Resume" : "Pause"} ${dag}`, title: paused ? "Resume" : "Pause" } : {})}
    >
      <Icon name={paused ? "play" : "pause"} />
      {!small && (paused ? "Resume" : "Pause")}
    </Button>
  );
}
