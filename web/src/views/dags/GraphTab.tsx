/** The graph of a dag, with the states of a chosen run as they change. Fans are folded until opened. */

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Background, Controls, ReactFlow, type Edge } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useMemo, useState } from "react";

import { useTopics } from "~/api/live";
import { graph as graphQuery, grid, timeline } from "~/api/queries";
import { Choice } from "~/components/Field";
import { Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { RUN_FACTS, TASK_FACTS } from "~/generated/states";
import { stateOf, WORST } from "~/lib/cells";
import { criticalPath, longestPath, wayThrough } from "~/lib/critical";
import { folded } from "~/lib/folding";
import { length } from "~/lib/time";
import { counted } from "~/lib/words";
import { inWords, TaskNode, type TaskNodeType } from "~/views/dags/graph/TaskNode";
import { useLayout, type Placed } from "~/views/dags/graph/useLayout";
import type { GridSearch } from "~/views/dags/GridTab";

const KINDS = { task: TaskNode };

/** `fixed`: it is about the run in `search` and no other. */
export default function GraphTab({ dag, search, fixed = false }: { dag: string; search: GridSearch; fixed?: boolean }) {
  const navigate = useNavigate();
  const go = (change: GridSearch) =>
    void navigate({ to: ".", search: ((before: object) => ({ ...before, ...change })) as never, replace: true });
  const { data: runs } = useQuery({ ...grid(dag), enabled: !fixed });
  const run = search.run ?? runs?.runs[0]?.id;
  useTopics(...(fixed ? [] : [`runs:dag=${dag}`]), ...(run === undefined ? [] : [`run:${run}`]));
  const time = useQuery({ ...timeline(run ?? 0), enabled: run !== undefined });
  const now = useQuery(graphQuery(dag));
  // Of a run of before, as it was then; until that is known, as it is now.
  const other = time.data !== undefined && now.data !== undefined && time.data.version !== now.data.version;
  const then = useQuery({ ...graphQuery(dag, time.data?.version), enabled: other });
  const graph = other ? then.data : now.data;
  const error = now.error ?? then.error;
  const open = useMemo(() => new Set(search.open?.split(",") ?? []), [search.open]);
  const cells = time.data?.cells ?? "";
  const trouble = useMemo(() => troubleIn(cells), [cells]);
  // Laid out anew when the tasks that are shown change, and not with every state.
  const shape = useMemo(
    () => graph && folded(graph, open, (place) => trouble.get(place) ?? 0),
    [graph, open, trouble],
  );
  const placed = useLayout(shape);
  const critical = useMemo(() => {
    if (graph === undefined) return [];
    const finished = time.data?.finished ?? [];
    return finished.some((at) => at !== null) ? criticalPath(graph.after, finished) : longestPath(graph.after);
  }, [graph, time.data]);
  const [picked, setPicked] = useState<string | null>(null);
  const drawn = useMemo(() => placed && drawing(placed, cells, critical, picked), [placed, cells, critical, picked]);

  const problem = error ?? time.error;
  if (problem != null) return <Trouble error={problem} />;
  if (graph === undefined || drawn === undefined) return <Loading rows={8} />;
  const chosen = placed!.graph.nodes.find((node) => node.id === picked);
  return (
    <Card fill>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2 text-sm">
        {!fixed && (
          <Choice
            label="Run"
            value={run === undefined ? "" : String(run)}
            options={
              runs === undefined || runs.runs.length === 0
                ? [["", "It has not run yet"]]
                : runs.runs.map((each) => [String(each.id), `Run ${each.id}, ${RUN_FACTS[each.state].label.toLowerCase()}`] as const)
            }
            choose={(value) => go({ run: Number(value) || undefined })}
          />
        )}
        <span className="text-soft">
          {counted(graph.tasks.length, "task")}, version {graph.version}
        </span>
        <span className="flex items-center gap-1.5 text-soft">
          <span aria-hidden className="h-0.5 w-5 bg-brass" />
          {time.data?.finished.some((at) => at !== null) ? "What decided how long it took" : "The longest way"}
        </span>
        {open.size > 0 && (
          <button type="button" className="text-accent hover:underline" onClick={() => go({ open: undefined })}>
            Fold all
          </button>
        )}
        {chosen?.places.length === 1 && (
          <span role="status" className="ml-auto flex gap-2">
            <span className="font-medium">{chosen.name}</span>
            <Told place={chosen.places[0]!} time={time.data} />
            {run !== undefined && !fixed && (
              <Link to="/runs/$run" params={{ run }} className="text-accent hover:underline">
                Open run {run}
              </Link>
            )}
            {run !== undefined && fixed && (
              <Link
                to="/runs/$run/tasks/$task"
                params={{ run, task: chosen.name }}
                className="text-accent hover:underline"
              >
                Open the task
              </Link>
            )}
          </span>
        )}
      </div>
      <div className="min-h-80 flex-1">
        <ReactFlow
          key={`${graph.version} ${search.open ?? ""}`}
          aria-label={`Graph of ${dag}`}
          nodes={drawn.nodes}
          edges={drawn.edges}
          nodeTypes={KINDS}
          onNodeClick={(_, node) => {
            const fold = placed!.graph.nodes.find((each) => each.id === node.id)?.fold;
            if (fold != null) go({ open: [...open, fold].join(",") });
            else setPicked(node.id === picked ? null : node.id);
          }}
          fitView
          fitViewOptions={{ maxZoom: 1, minZoom: 0.4 }}
          minZoom={0.05}
          maxZoom={1.5}
          nodesDraggable={false}
          nodesConnectable={false}
          edgesFocusable={false}
          onlyRenderVisibleElements
        >
          <Background color="var(--line)" gap={20} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
    </Card>
  );
}

function Told({ place, time }: { place: number; time: { cells: string; started: readonly (number | null)[]; finished: readonly (number | null)[] } | undefined }) {
  const state = stateOf(time?.cells[place] ?? "");
  const [from, to] = [time?.started[place] ?? null, time?.finished[place] ?? null];
  if (state === null) return <span className="text-soft">has not run</span>;
  return (
    <span className="text-soft">
      {TASK_FACTS[state].label}
      {from !== null && to !== null && `, took ${length(to - from)}`}
    </span>
  );
}

/** Of the tasks that are not calm, how much they matter. */
function troubleIn(cells: string): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (let place = 0; place < cells.length; place += 1) {
    const state = stateOf(cells[place]!);
    if (state === "failed" || state === "backoff") found.set(place, 2);
  }
  return found;
}

function drawing(placed: Placed, cells: string, critical: readonly number[], picked: string | null) {
  const way = wayThrough(critical, placed.graph.nodes);
  const nodes: TaskNodeType[] = placed.graph.nodes.map((node) => {
    const counts = new Map<string, number>();
    for (const place of node.places) {
      const state = stateOf(cells[place] ?? "");
      if (state !== null) counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    const states = WORST.filter((state) => counts.has(state)).map((state) => [state, counts.get(state)!] as const);
    const decides = way.nodes.has(node.id);
    const [x, y] = placed.places[node.id] ?? [0, 0];
    const name = node.places.length > 1 ? `${node.name}, ${counted(node.places.length, "task")}` : node.name;
    return {
      id: node.id,
      type: "task",
      position: { x, y },
      ariaLabel: states.length === 0 ? name : `${name}: ${inWords(states)}`,
      data: {
        name: node.name,
        count: node.places.length,
        folds: node.fold !== null,
        critical: decides,
        states,
        picked: node.id === picked,
      },
    };
  });
  const edges: Edge[] = placed.graph.edges.map(([source, target]) => {
    const decides = way.edges.has(`${source} ${target}`);
    return {
      id: `${source} ${target}`,
      source,
      target,
      style: { stroke: decides ? "var(--brass)" : "var(--line-strong)", strokeWidth: decides ? 2.5 : 1.2 },
      className: decides ? "decides" : "",
      zIndex: decides ? 1 : 0,
    };
  });
  return { nodes, edges };
}
