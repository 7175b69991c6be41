/**
 * A graph small enough to be looked at: tasks of one level whose names differ in a number only become
 * one node, and levels that are still too wide become a count. Nothing here knows of a browser.
 */

import type { Graph } from "~/generated/api";
import { stemOf } from "./cells.ts";

export interface FoldedNode {
  readonly id: string;
  readonly name: string;
  /** Places in the graph's tasks; one unless it is folded. */
  readonly places: readonly number[];
  /** What to say to unfold it; null if it is a task, or the rest of what is unfolded. */
  readonly fold: string | null;
}

export interface FoldedGraph {
  readonly nodes: readonly FoldedNode[];
  readonly edges: readonly (readonly [from: string, to: string])[];
}

const FAN_MIN = 4;
/** So many nodes of one level are told apart. */
export const LEVEL_MAX = 24;

/** How many edges lead to each task, along the longest way. Parents come before children. */
export function levelsOf(after: readonly (readonly number[])[]): number[] {
  const levels: number[] = [];
  after.forEach((parents, place) => {
    levels[place] = parents.reduce((most, parent) => Math.max(most, levels[parent]! + 1), 0);
  });
  return levels;
}

/**
 * Nodes of one level have no way between them, so whatever is folded within a level leaves no cycle.
 * `urgency` says which tasks of an unfolded fan are shown, if not all can be: the highest.
 */
export function folded(
  graph: Pick<Graph, "tasks" | "after">,
  open: ReadonlySet<string>,
  urgency: (place: number) => number = () => 0,
): FoldedGraph {
  const levels = levelsOf(graph.after);
  const nodeOf: string[] = [];
  const nodes: FoldedNode[] = [];
  const put = (id: string, name: string, places: readonly number[], fold: string | null) => {
    nodes.push({ id, name, places, fold });
    for (const place of places) nodeOf[place] = id;
  };
  const single = (place: number) => put(`t${place}`, graph.tasks[place]!, [place], null);
  for (const [level, places] of grouped(graph.tasks.keys(), (place) => levels[place]!)) {
    const fans = grouped(places, (place) => stemOf(graph.tasks[place]!));
    const closed = [...fans].filter(([stem, members]) => members.length >= FAN_MIN && !open.has(stem));
    const alone = [...fans].filter(([stem, members]) => members.length < FAN_MIN || open.has(stem));
    for (const [stem, members] of closed) put(`f${level}-${stem}`, stem, members, stem);
    const rest = alone.flatMap(([, members]) => members);
    const shown = rest.length <= LEVEL_MAX ? rest : mostUrgent(rest, urgency);
    const seen = new Set(shown);
    for (const place of shown) single(place);
    const hidden = rest.filter((place) => !seen.has(place));
    if (hidden.length > 0) put(`r${level}`, "more tasks", hidden, null);
  }
  const edges = new Map<string, readonly [string, string]>();
  graph.after.forEach((parents, place) => {
    for (const parent of parents) {
      const pair = [nodeOf[parent]!, nodeOf[place]!] as const;
      edges.set(pair.join(" "), pair);
    }
  });
  return { nodes, edges: [...edges.values()] };
}

function mostUrgent(places: readonly number[], urgency: (place: number) => number): number[] {
  return [...places].sort((a, b) => urgency(b) - urgency(a) || a - b).slice(0, LEVEL_MAX).sort((a, b) => a - b);
}

function grouped<K>(places: Iterable<number>, keyOf: (place: number) => K): Map<K, number[]> {
  const found = new Map<K, number[]>();
  for (const place of places) {
    const key = keyOf(place);
    const members = found.get(key);
    if (members === undefined) found.set(key, [place]);
    else members.push(place);
  }
  return found;
}
