/** The log of one attempt. Words sought, wrapping and the chosen line are part of the address. */

import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";

import type { LogName } from "~/api/log";
import { Empty, Loading, Trouble } from "~/components/Notice";
import type { Line } from "~/lib/log";
import { LogPane } from "~/views/tasks/LogPane";
import { LogStore } from "~/views/tasks/LogStore";
import { LogTools } from "~/views/tasks/LogTools";
import { useSearch } from "~/views/tasks/useSearch";

export interface LogPlace {
  readonly find?: string | undefined;
  readonly wrap?: boolean | undefined;
  readonly at?: number | undefined;
}

/** `atEnd`: begin with the last lines, where the reason of a failure is. */
export function Log({ log, place, atEnd }: { log: LogName; place: LogPlace; atEnd: boolean }) {
  const store = useStore(log);
  return store === null ? <Loading /> : <Shown store={store} place={place} atEnd={atEnd} />;
}

function Shown({ store, place, atEnd }: { store: LogStore; place: LogPlace; atEnd: boolean }) {
  useSyncExternalStore(store.subscribe, () => store.version);
  const navigate = useNavigate();
  const { find = "", wrap = false, at } = place;
  const [follow, setFollow] = useState(atEnd && at === undefined);
  const findings = useSearch(store, find);
  const set = useCallback(
    (change: LogPlace) =>
      void navigate({
        to: ".",
        search: ((before: object) => ({ ...before, ...change })) as never,
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const goTo = (byte: number) => {
    setFollow(false);
    set({ at: byte });
  };
  const choose = useCallback(
    (line: Line) => {
      if (window.getSelection()?.isCollapsed === false) return;
      setFollow(false);
      set({ at: line.start });
    },
    [set],
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <LogTools
        store={store}
        find={find}
        setFind={(words) => set({ find: words || undefined })}
        findings={findings}
        at={at}
        goTo={goTo}
        wrap={wrap}
        setWrap={(next) => set({ wrap: next || undefined })}
        follow={follow}
        setFollow={setFollow}
      />
      {store.error !== null && <Trouble error={store.error} />}
      {store.known && store.size === 0 ? (
        <Empty title={store.ending === "open" ? "Nothing was written yet." : "It wrote nothing."}>
          What a task prints, to the output or the error stream, appears here as it is written.
        </Empty>
      ) : (
        <LogPane
          label={`Log of ${store.log.task}, attempt ${store.log.attempt}`}
          store={store}
          wrap={wrap}
          follow={follow}
          setFollow={setFollow}
          at={at}
          choose={choose}
          find={find}
        />
      )}
    </div>
  );
}

function useStore({ run, task, attempt, term }: LogName): LogStore | null {
  const [store, setStore] = useState<LogStore | null>(null);
  useEffect(() => {
    const made = new LogStore({ run, task, attempt, term });
    setStore(made);
    return () => made.close();
  }, [run, task, attempt, term]);
  return store;
}
