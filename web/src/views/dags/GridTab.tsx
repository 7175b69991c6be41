/** The grid with what surrounds it: a search for tasks, the legend, and what is under the cursor. */

import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";

import { useTopics } from "~/api/live";
import { Button } from "~/components/Button";
import { Search } from "~/components/Field";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { useNow } from "~/lib/now";
import { counted } from "~/lib/words";
import { useGrid } from "~/views/dags/grid/data";
import { GridView, Legend, type Place } from "~/views/dags/grid/GridView";

export interface GridSearch {
  readonly run?: number | undefined;
  /** Names of groups that are unfolded, with commas. */
  readonly open?: string | undefined;
  readonly task?: string | undefined;
}

export default function GridTab({
  dag,
  search,
  trigger,
}: {
  dag: string;
  search: GridSearch;
  trigger: () => void;
}) {
  useTopics(`runs:dag=${dag}`, ...(search.run === undefined ? [] : [`run:${search.run}`]));
  const navigate = useNavigate();
  const go = useCallback(
    (change: GridSearch) =>
      void navigate({ to: ".", search: ((before: object) => ({ ...before, ...change })) as never, replace: true }),
    [navigate],
  );
  const open = useMemo(() => new Set(search.open?.split(",") ?? []), [search.open]);
  const { data, error } = useGrid(dag, search.run, open, search.task ?? "");
  const [at, setAt] = useState<Place | null>(null);
  const clock = useNow();
  const time = data?.chosen;
  const now = time === undefined ? 0 : (clock.getTime() - Date.parse(time.since)) / 1000;

  if (error !== null && data === undefined) return <Trouble error={error} />;
  if (data === undefined) return <Loading rows={10} />;
  const toggle = (group: string) => {
    const next = new Set(open);
    if (!next.delete(group)) next.add(group);
    go({ open: [...next].join(",") || undefined });
  };
  return (
    <Card fill>
      {error !== null && <Trouble error={error} />}
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-2">
        <div className="flex items-center gap-3">
          <Search label="Find tasks" value={search.task ?? ""} change={(task) => go({ task: task || undefined })} />
          <span className="text-sm text-soft max-sm:hidden">{counted(data.board.names.length, "task")}</span>
        </div>
        <Legend />
      </div>
      {data.runs.length === 0 ? (
        <Empty title="It has not run yet.">
          <p className="mb-3">Its runs appear here side by side, with the state of every task.</p>
          <Button look="main" onClick={trigger}>
            Trigger it
          </Button>
        </Empty>
      ) : data.rows.length === 0 ? (
        <Empty title="No task is called like that.">Look for another part of a name.</Empty>
      ) : (
        <GridView
          data={data}
          now={now}
          at={at !== null && at.row < data.rows.length && at.column < data.runs.length ? at : null}
          setAt={setAt}
          toggle={toggle}
          choose={(run) => go({ run: run ?? undefined })}
          open={(run, task) => void navigate({ to: "/runs/$run/tasks/$task", params: { run, task } })}
        />
      )}
    </Card>
  );
}
