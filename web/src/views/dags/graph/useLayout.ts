/** Asks the worker where the nodes of a folded graph stand; the last question wins. */

import { useEffect, useRef, useState } from "react";

import type { FoldedGraph } from "~/lib/folding";
import type { LayoutDone, LayoutOrder } from "~/views/dags/graph/layout.worker";

export interface Placed {
  readonly graph: FoldedGraph;
  readonly places: LayoutDone["places"];
}

export function useLayout(graph: FoldedGraph | undefined): Placed | undefined {
  const worker = useRef<Worker | null>(null);
  const asked = useRef(0);
  const [placed, setPlaced] = useState<Placed>();
  useEffect(() => {
    worker.current = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    return () => worker.current?.terminate();
  }, []);
  useEffect(() => {
    if (graph === undefined || worker.current === null) return;
    const order: LayoutOrder = {
      number: ++asked.current,
      nodes: graph.nodes.map((each) => each.id),
      edges: graph.edges,
    };
    worker.current.onmessage = ({ data }: MessageEvent<LayoutDone>) => {
      if (data.number === asked.current) setPlaced({ graph, places: data.places });
    };
    worker.current.postMessage(order);
  }, [graph]);
  return placed;
}
