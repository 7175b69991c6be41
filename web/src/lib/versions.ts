/** What changed in a graph from one version to another. */

import type { Graph } from "~/generated/api";

export interface GraphDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Tasks of both that come after others than before. */
  readonly moved: readonly { name: string; before: readonly string[]; after: readonly string[] }[];
  readonly unchanged: number;
}

export function graphDifference(before: Graph, after: Graph): GraphDifference {
  const [old, now] = [parentsIn(before), parentsIn(after)];
  const both = after.tasks.filter((name) => old.has(name));
  const moved = both
    .map((name) => ({ name, before: old.get(name)!, after: now.get(name)! }))
    .filter((each) => each.before.join("\n") !== each.after.join("\n"));
  return {
    added: after.tasks.filter((name) => !old.has(name)),
    removed: before.tasks.filter((name) => !now.has(name)),
    moved,
    unchanged: both.length - moved.length,
  };
}

function parentsIn(graph: Graph): Map<string, string[]> {
  return new Map(
    graph.tasks.map((name, place) => [name, graph.after[place]!.map((parent) => graph.tasks[parent]!).sort()]),
  );
}
