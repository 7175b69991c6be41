/** Two texts line by line: what was taken away, what was added, and what is the same around it. Pure. */

export interface DiffLine {
  /** Where it stands in the first text, from 1; null, if it is new. */
  readonly before: number | null;
  /** Where it stands in the second; null, if it is gone. */
  readonly after: number | null;
  readonly text: string;
}

/** So many lines that are the same, and are left out. */
export interface Gap {
  readonly same: number;
}

/** More changes than that are not looked for: then all between the first and the last is other. */
const CHANGES_MAX = 1000;

export function linesIn(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** The fewest lines that have to go and to come (after E. Myers), in the order of the texts. */
export function difference(before: readonly string[], after: readonly string[]): DiffLine[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const [a, b] = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)];
  const lines: DiffLine[] = [];
  const same = (x: number, y: number) => lines.push({ before: x + 1, after: y + 1, text: before[x]! });
  for (let at = 0; at < head; at += 1) same(at, at);
  for (const [x, y] of stepsBetween(a, b)) {
    if (x !== null && y !== null) same(head + x, head + y);
    else if (x !== null) lines.push({ before: head + x + 1, after: null, text: a[x]! });
    else lines.push({ before: null, after: head + y! + 1, text: b[y!]! });
  }
  for (let at = tail; at > 0; at -= 1) same(before.length - at, after.length - at);
  return lines;
}

type Step = readonly [x: number | null, y: number | null];

/**
 * For each number of changes, how far one comes on each diagonal; what was reached before tells the way
 * back. `reached[d]` holds diagonals from −d to d.
 */
function stepsBetween(a: readonly string[], b: readonly string[]): Step[] {
  const reached: Int32Array[] = [];
  for (let d = 0; d <= Math.min(a.length + b.length, CHANGES_MAX); d += 1) {
    const far = new Int32Array(2 * d + 1);
    const last = reached[d - 1];
    for (let k = -d; k <= d; k += 2) {
      let x = last === undefined ? 0 : comesDown(last, k, d) ? last[k + d]! : last[k + d - 2]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      far[k + d] = x;
      if (x >= a.length && x - k >= b.length) return wayBack(reached, a.length, b.length);
    }
    reached.push(far);
  }
  return [...a.map((_, x) => [x, null] as const), ...b.map((_, y) => [null, y] as const)];
}

/** Whether the way to diagonal k came from the one above, by adding a line. `last` is of d − 1 changes. */
function comesDown(last: Int32Array, k: number, d: number): boolean {
  // Diagonal k is at k + d − 1 in `last`; that of k + 1 at k + d, that of k − 1 at k + d − 2.
  return k === -d || (k !== d && last[k + d - 2]! < last[k + d]!);
}

function wayBack(reached: readonly Int32Array[], endX: number, endY: number): Step[] {
  const steps: Step[] = [];
  let [x, y] = [endX, endY];
  for (let d = reached.length; d > 0; d -= 1) {
    const last = reached[d - 1]!;
    const k = x - y;
    const down = comesDown(last, k, d);
    const fromX = down ? last[k + d]! : last[k + d - 2]!;
    const fromY = fromX - (down ? k + 1 : k - 1);
    while (x > fromX + (down ? 0 : 1) && y > fromY + (down ? 1 : 0)) steps.push([--x, --y]);
    steps.push(down ? [null, fromY] : [fromX, null]);
    [x, y] = [fromX, fromY];
  }
  while (x > 0 && y > 0) steps.push([--x, --y]);
  return steps.reverse();
}

/** The changes with some lines around each; longer stretches of what is the same become a gap. */
export function around(lines: readonly DiffLine[], context = 3): (DiffLine | Gap)[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.before === null || line.after === null) near.fill(1, Math.max(0, at - context), at + context + 1);
  });
  const shown: (DiffLine | Gap)[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    if (near[at] === 1) {
      shown.push(lines[at]!);
      continue;
    }
    let end = at;
    while (end < lines.length && near[end] === 0) end += 1;
    // A line takes as much room as the word that it is left out.
    if (end - at === 1) shown.push(lines[at]!);
    else shown.push({ same: end - at });
    at = end - 1;
  }
  return shown;
}

export interface FileChange {
  readonly path: string;
  readonly change: "added" | "removed" | "changed" | "same";
}

/** The files of two trees by path, those that differ first. */
export function changedFiles(
  before: readonly { path: string; digest: string }[],
  after: readonly { path: string; digest: string }[],
): FileChange[] {
  const [old, now] = [before, after].map((files) => new Map(files.map((each) => [each.path, each.digest])));
  const paths = [...new Set([...old!.keys(), ...now!.keys()])].sort();
  const found = paths.map((path): FileChange => {
    if (!old!.has(path)) return { path, change: "added" };
    if (!now!.has(path)) return { path, change: "removed" };
    return { path, change: old!.get(path) === now!.get(path) ? "same" : "changed" };
  });
  return [...found.filter((each) => each.change !== "same"), ...found.filter((each) => each.change === "same")];
}
