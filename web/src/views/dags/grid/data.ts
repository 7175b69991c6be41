/** What the grid shows, put together of its answers. */

import { useQueries, useQuery, keepPreviousData } from "@tanstack/react-query";
import { useCallback, useMemo, useRef } from "react";

import { ask } from "~/api/call";
import { graph, grid, queryClient, timeline } from "~/api/queries";
import type { Graph, GridRun, Timeline } from "~/generated/api";
import type { TaskState } from "~/generated/states";
import { boardOf, lengthened, rowsOf, type Board, type Row } from "~/lib/cells";

export interface GridData {
  readonly board: Board;
  readonly rows: readonly Row[];
  /** The oldest first. */
  readonly runs: readonly GridRun[];
  readonly states: readonly TaskState[];
  readonly chosen: Timeline | undefined;
  readonly chosenGraph: Graph | undefined;
  readonly more: (() => void) | undefined;
}

export function useGrid(
  dag: string,
  run: number | undefined,
  open: ReadonlySet<string>,
  text: string,
): { data: GridData | undefined; error: unknown } {
  const found = useQuery(grid(dag));
  const chosen = useQuery({
    ...timeline(run ?? 0),
    enabled: run !== undefined,
    placeholderData: keepPreviousData,
  });
  const told = found.data;
  const time = chosen.data?.run === run ? chosen.data : undefined;
  const versions = useMemo(
    () => [...new Set([...(told?.runs ?? []).map((each) => each.version), ...(time ? [time.version] : [])])],
    [told, time],
  );
  // Asked for beside the grid: most runs are of this version, so nothing has to be asked after it.
  const now = useQuery(graph(dag));
  const others = versions.filter((each) => each !== now.data?.version);
  const graphs = useQueries({
    queries: others.map((each) => ({ ...graph(dag, each), enabled: now.data !== undefined || now.error !== null })),
  });
  const ready = graphs.every((each) => each.data !== undefined);
  const mine = now.data !== undefined && (versions.length === 0 || versions.includes(now.data.version));
  const known = ready ? [...graphs.map((each) => each.data!), ...(mine ? [now.data!] : [])] : [];
  const key = known.map((each) => each.version).join();
  // eslint-disable-next-line -- graphs of a version never change.
  const board = useMemo(() => (known.length ? boardOf(known) : undefined), [dag, key]);
  const rows = useMemo(() => board && rowsOf(board.names, open, text), [board, open, text]);
  const runs = useMemo(() => overlaid(told?.runs ?? [], time).toReversed(), [told, time]);

  const busy = useRef(false);
  const next = told?.next ?? null;
  const more = useCallback(() => {
    if (busy.current || next === null) return;
    busy.current = true;
    ask("show_grid", { parts: { dag }, query: { runs: 50, cursor: next } })
      .then((older) =>
        queryClient.setQueryData(grid(dag).queryKey, (before) => before && lengthened(before, older)),
      )
      // Scrolling on asks again.
      .catch(() => undefined)
      .finally(() => {
        busy.current = false;
      });
  }, [dag, next]);

  return {
    error: found.error ?? graphs.find((each) => each.error)?.error ?? chosen.error ?? null,
    data:
      told === undefined || board === undefined || rows === undefined
        ? undefined
        : {
            board,
            rows,
            runs,
            states: told.states,
            chosen: time,
            chosenGraph: known.find((each) => each.version === time?.version),
            more: next === null ? undefined : more,
          },
  };
}

/** The chosen run as its timeline tells it, which is newer. */
function overlaid(runs: readonly GridRun[], time: Timeline | undefined): GridRun[] {
  return runs.map((run) =>
    run.id === time?.run ? { ...run, state: time.state, cells: time.cells } : run,
  );
}
