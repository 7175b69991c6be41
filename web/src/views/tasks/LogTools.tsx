/** What can be done with a log: find words, go to the first error, wrap, follow, take it along. */

import { useState } from "react";

import { downloadAddress } from "~/api/log";
import { Button, buttonClass } from "~/components/Button";
import { Search } from "~/components/Field";
import { Icon } from "~/components/Icon";
import { say, sayTrouble } from "~/components/Toasts";
import { looksWrong } from "~/lib/log";
import { bytes, counted, number, percent } from "~/lib/words";
import type { LogStore } from "~/views/tasks/LogStore";
import type { Findings } from "~/views/tasks/useSearch";

const ENDINGS = {
  open: "more may come",
  complete: "complete",
  lost: "what came next was lost with its worker",
} as const;

export interface LogToolsProps {
  readonly store: LogStore;
  readonly find: string;
  readonly setFind: (words: string) => void;
  readonly findings: Findings;
  readonly at: number | undefined;
  readonly goTo: (byte: number) => void;
  readonly wrap: boolean;
  readonly setWrap: (wrap: boolean) => void;
  readonly follow: boolean;
  readonly setFollow: (follow: boolean) => void;
}

export function LogTools(given: LogToolsProps) {
  const { store, find, setFind, findings, at, goTo, wrap, setWrap, follow, setFollow } = given;
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
      <div
        className="flex items-center gap-1"
        onKeyDown={(event) => {
          if (event.key === "Enter") goTo(neighbour(findings.lines, at, event.shiftKey ? -1 : 1) ?? 0);
        }}
      >
        <Search label="Search this log" value={find} change={setFind} />
        {find !== "" && <Found findings={findings} at={at} goTo={goTo} />}
      </div>
      <FirstError store={store} goTo={goTo} />
      <Switch name="Wrap" on={wrap} set={setWrap} />
      {store.ending === "open" && <Switch name="Follow" on={follow} set={setFollow} />}
      <span className="ml-auto text-xs text-faint" role="status">
        {store.known ? `${bytes(store.size)}, ${ENDINGS[store.ending]}` : ""}
      </span>
      <Download store={store} />
    </div>
  );
}

function Found({ findings, at, goTo }: { findings: Findings; at: number | undefined; goTo: (byte: number) => void }) {
  const place = at === undefined ? -1 : findings.lines.indexOf(at);
  const move = (way: 1 | -1) => {
    const next = neighbour(findings.lines, at, way);
    if (next !== undefined) goTo(next);
  };
  const count = `${number(findings.lines.length)}${findings.cut ? "+" : ""}`;
  return (
    <>
      <span role="status" className="px-1 text-sm whitespace-nowrap text-soft">
        {place === -1 ? counted(findings.lines.length, "line") : `${number(place + 1)} of ${count}`}
        {findings.share < 1 && `, ${percent(findings.share)} searched`}
      </span>
      <Button look="bare" aria-label="Previous line found" disabled={findings.lines.length === 0} onClick={() => move(-1)}>
        ↑
      </Button>
      <Button look="bare" aria-label="Next line found" disabled={findings.lines.length === 0} onClick={() => move(1)}>
        ↓
      </Button>
    </>
  );
}

/** The next line found after the chosen one, or before it; round and round. */
export function neighbour(lines: readonly number[], at: number | undefined, way: 1 | -1): number | undefined {
  if (at === undefined) return way === 1 ? lines[0] : lines.at(-1);
  if (way === 1) return lines.find((line) => line > at) ?? lines[0];
  return lines.findLast((line) => line < at) ?? lines.at(-1);
}

function FirstError({ store, goTo }: { store: LogStore; goTo: (byte: number) => void }) {
  const [busy, setBusy] = useState(false);
  const look = async () => {
    setBusy(true);
    try {
      for await (const { found } of store.search(looksWrong, new AbortController().signal)) {
        if (found[0] !== undefined) return goTo(found[0]);
      }
      say("No line of this log looks like an error.", "quiet");
    } catch (error) {
      sayTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button busy={busy} onClick={() => void look()}>
      First error
    </Button>
  );
}

function Switch({ name, on, set }: { name: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      onClick={() => set(!on)}
      className={`${buttonClass("plain")} ${on ? "!border-accent !bg-accent-wash" : ""}`}
    >
      {name}
    </button>
  );
}

/** The server gives 1 MiB at a time; the pieces are put together here. */
function Download({ store }: { store: LogStore }) {
  const { run, task, attempt } = store.log;
  const [busy, setBusy] = useState(false);
  const take = async () => {
    setBusy(true);
    try {
      const content = await store.whole();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(content);
      link.download = `${task}-${run}-${attempt}.log`;
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      sayTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <a
        href={downloadAddress(store.log)}
        target="_blank"
        rel="noreferrer"
        aria-label="Open as plain text"
        title="Open as plain text"
        className={buttonClass("bare")}
      >
        <Icon name="external" />
      </a>
      <Button look="bare" aria-label="Download" title="Download" busy={busy} onClick={() => void take()}>
        <Icon name="download" />
      </Button>
    </>
  );
}
