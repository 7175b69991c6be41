/** Where nodes stand. Beside the page, since a large graph takes its time. */

import { graphlib, layout } from "@dagrejs/dagre";

import { HEIGHT, WIDTH } from "~/views/dags/graph/size";

export interface LayoutOrder {
  readonly number: number;
  readonly nodes: readonly string[];
  readonly edges: readonly (readonly [from: string, to: string])[];
}

export interface LayoutDone {
  readonly number: number;
  readonly places: Readonly<Record<string, readonly [x: number, y: number]>>;
}

self.onmessage = ({ data }: MessageEvent<LayoutOrder>) => {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 56, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of data.nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const [from, to] of data.edges) graph.setEdge(from, to);
  layout(graph);
  const places = Object.fromEntries(
    data.nodes.map((id) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, [x - WIDTH / 2, y - HEIGHT / 2] as const];
    }),
  );
  const done: LayoutDone = { number: data.number, places };
  self.postMessage(done);
};
