/** The critical path: the chain of tasks that decided when a run was over. */

/**
 * Places of tasks, from the first to the last. Of the tasks before each, the one that ended last is the
 * one it waited for. `after` holds places of parents, `ended` when each ended (null: it has not).
 */
export function criticalPath(
  after: readonly (readonly number[])[],
  ended: readonly (number | null)[],
): number[] {
  let at = latest(ended.keys(), ended);
  const path: number[] = [];
  while (at !== null) {
    path.push(at);
    at = latest(after[at] ?? [], ended);
  }
  return path.reverse();
}

function latest(places: Iterable<number>, ended: readonly (number | null)[]): number | null {
  let best: number | null = null;
  for (const place of places) {
    const end = ended[place] ?? null;
    if (end !== null && (best === null || end > ended[best]!)) best = place;
  }
  return best;
}

/** The longest chain by number of tasks, where nothing has run yet. */
export function longestPath(after: readonly (readonly number[])[]): number[] {
  const depth: number[] = [];
  after.forEach((parents, place) => {
    depth[place] = parents.reduce((most, parent) => Math.max(most, (depth[parent] ?? 0) + 1), 0);
  });
  return criticalPath(after, depth);
}

/** The nodes of a folded graph that a path goes through, and the edges from each to the next, as `from to`. */
export function wayThrough(
  path: readonly number[],
  nodes: readonly { readonly id: string; readonly places: readonly number[] }[],
): { nodes: Set<string>; edges: Set<string> } {
  const on = new Map(path.map((place) => [place, ""]));
  for (const node of nodes) {
    for (const place of node.places) if (on.has(place)) on.set(place, node.id);
  }
  const ids = path.map((place) => on.get(place)!);
  return { nodes: new Set(ids), edges: new Set(ids.slice(1).map((id, at) => `${ids[at]} ${id}`)) };
}
