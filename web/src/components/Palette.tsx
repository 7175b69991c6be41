/** Go anywhere by a few letters, and the list of keys. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { everything } from "~/api/queries";
import { Key } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Icon, type IconName } from "~/components/Icon";
import { PLACES } from "~/components/Shell";

interface Goal {
  readonly name: string;
  readonly kind: string;
  readonly icon: IconName;
  readonly to: string;
}

export default function Palette({ mode, close }: { mode: "go" | "help"; close: () => void }) {
  return mode === "go" ? <Go close={close} /> : <Help close={close} />;
}

const SHOWN_MAX = 12;

function Go({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { data: known = [] } = useQuery(everything());
  const places: Goal[] = PLACES.map((each) => ({ ...each, kind: "view" }));
  const goals = ranked([...places, ...known], text).slice(0, SHOWN_MAX);
  if (/^\d+$/.test(text.trim())) {
    goals.unshift({ name: `Run ${text.trim()}`, kind: "run", icon: "runs", to: `/runs/${text.trim()}` });
  }
  const go = (goal: Goal | undefined) => {
    if (goal === undefined) return;
    close();
    void navigate({ to: goal.to });
  };
  return (
    <Dialog title="Go to" close={close}>
      <input
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls="goals"
        aria-activedescendant={goals[at] === undefined ? undefined : `goal-${at}`}
        aria-label="Name of a view, dag, job or schedule, or the number of a run"
        placeholder="A view, dag, job or schedule, or the number of a run"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(at + 1, goals.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (event.key === "Enter") go(goals[at]);
          else return;
          event.preventDefault();
        }}
        className="w-full border-b border-line bg-raised px-5 py-3 text-lg outline-none"
      />
      <ul id="goals" role="listbox" aria-label="Found" className="p-2">
        {goals.map((goal, index) => (
          <li
            key={goal.kind + goal.to}
            id={`goal-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(goal)}
            onMouseMove={() => setAt(index)}
            className={`flex h-9 cursor-pointer items-center gap-3 rounded-md px-3 ${
              index === at ? "bg-accent-wash" : ""
            }`}
          >
            <span className="text-faint">
              <Icon name={goal.icon} />
            </span>
            <span className="min-w-0 flex-1 truncate">{goal.name}</span>
            <span className="text-xs text-faint">{goal.kind}</span>
          </li>
        ))}
        {goals.length === 0 && <li className="px-3 py-2 text-soft">Nothing is called like that.</li>}
      </ul>
    </Dialog>
  );
}

/** Those whose name has the letters in order; tight and early matches first. */
export function ranked<T extends { name: string }>(goals: readonly T[], text: string): T[] {
  const letters = text.trim().toLowerCase();
  if (letters === "") return [...goals];
  return goals
    .map((goal) => ({ goal, score: scoreOf(goal.name.toLowerCase(), letters) }))
    .filter((each) => each.score !== null)
    .sort((a, b) => a.score! - b.score! || a.goal.name.localeCompare(b.goal.name))
    .map((each) => each.goal);
}

function scoreOf(name: string, letters: string): number | null {
  const whole = name.indexOf(letters);
  if (whole >= 0) return whole;
  let at = -1;
  let gaps = 0;
  for (const letter of letters) {
    const next = name.indexOf(letter, at + 1);
    if (next < 0) return null;
    gaps += next - at - 1;
    at = next;
  }
  return 1000 + gaps;
}

function Help({ close }: { close: () => void }) {
  const keys: readonly (readonly [string, string])[] = [
    ["⌘K", "Go to anything"],
    ["/", "Go to anything"],
    ["j  k", "Next and previous row"],
    ["Enter", "Open the row"],
    ...PLACES.map((each) => [`g ${each.key}`, each.name] as const),
    ["?", "This list"],
    ["Esc", "Close what is in front"],
  ];
  return (
    <Dialog title="Keys" close={close}>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-2 p-5 max-sm:grid-cols-1">
        {keys.map(([key, meaning]) => (
          <div key={key} className="flex items-center justify-between gap-3">
            <dt className="text-soft">{meaning}</dt>
            <dd className="flex gap-1">
              {key.split(" ").map((each) => (
                <Key key={each}>{each}</Key>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
