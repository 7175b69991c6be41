/**
 * The grid of a dag as plain data: which rows there are, how tasks of several versions share them, and
 * what a cell holds. Nothing here knows of a browser.
 */

import type { Graph, Grid, GridRun } from "~/generated/api";
import { TASK_STATES, type TaskState } from "../generated/states.ts";

/** A task, or tasks whose names differ in a number only, under one name. */
export interface Row {
  readonly key: string;
  readonly name: string;
  /** Places in `Board.names`; one unless it is a group. */
  readonly tasks: readonly number[];
  readonly group: boolean;
  readonly open: boolean;
  readonly inner: boolean;
}

/** The tasks of all versions that are shown, under one numbering. */
export interface Board {
  readonly names: readonly string[];
  /** For each version: where a task of `names` is among the version's own, or −1. */
  readonly places: ReadonlyMap<number, Int32Array>;
}

const GROUP_MIN = 4;

/** The newest version's tasks in their order, then those that only older versions have. */
export function boardOf(graphs: readonly Graph[]): Board {
  const newestFirst = [...graphs].sort((a, b) => b.version - a.version);
  const numbers = new Map<string, number>();
  for (const graph of newestFirst) {
    for (const name of graph.tasks) if (!numbers.has(name)) numbers.set(name, numbers.size);
  }
  const places = new Map<number, Int32Array>();
  for (const graph of newestFirst) {
    const own = new Int32Array(numbers.size).fill(-1);
    graph.tasks.forEach((name, place) => {
      own[numbers.get(name)!] = place;
    });
    places.set(graph.version, own);
  }
  return { names: [...numbers.keys()], places };
}

/** `part_3_17` and `part[4]` are both `part`: what is left of a name without numbers at its end. */
export function stemOf(name: string): string {
  const stem = name.replace(/(?:[_\-. ]?\[?\d+\]?)+$/, "");
  return stem === "" ? name : stem;
}

/** Rows in the order of the tasks; groups are closed unless their name is in `open`. */
export function rowsOf(names: readonly string[], open: ReadonlySet<string>, text = ""): Row[] {
  const wanted = text.trim().toLowerCase();
  const groups = new Map<string, number[]>();
  names.forEach((name, number) => {
    if (wanted !== "" && !name.toLowerCase().includes(wanted)) return;
    const stem = stemOf(name);
    const members = groups.get(stem);
    if (members === undefined) groups.set(stem, [number]);
    else members.push(number);
  });
  const rows: Row[] = [];
  for (const [stem, tasks] of groups) {
    if (tasks.length < GROUP_MIN) {
      for (const number of tasks) rows.push(plain(names[number]!, number, false));
      continue;
    }
    const opened = open.has(stem);
    rows.push({ key: `${stem}*`, name: stem, tasks, group: true, open: opened, inner: false });
    if (opened) for (const number of tasks) rows.push(plain(names[number]!, number, true));
  }
  return rows;
}

function plain(name: string, number: number, inner: boolean): Row {
  return { key: name, name, tasks: [number], group: false, open: false, inner };
}

/** The state that a cell character stands for. */
export function stateOf(cell: string, states: readonly TaskState[] = TASK_STATES): TaskState | null {
  return states[parseInt(cell, 36)] ?? null;
}

/** What to see first in a group: trouble, then what moves, then what waits, then what is over. */
export const WORST: readonly TaskState[] = [
  "failed",
  "upstream_failed",
  "backoff",
  "running",
  "ready",
  "parked",
  "waiting",
  "cancelled",
  "skipped",
  "succeeded",
];

/** How the tasks of a row stand in a run: the state that matters most, or null if it has none. */
export function cellOf(
  row: Row,
  cells: string,
  places: Int32Array | undefined,
  states: readonly TaskState[] = TASK_STATES,
): TaskState | null {
  if (places === undefined) return null;
  let best = WORST.length;
  for (const number of row.tasks) {
    const place = places[number] ?? -1;
    if (place < 0 || place >= cells.length) continue;
    const state = stateOf(cells[place]!, states);
    if (state === null) continue;
    const rank = WORST.indexOf(state);
    if (rank < best) best = rank;
    if (best === 0) break;
  }
  return WORST[best] ?? null;
}

/** How many tasks of a row are in each state. */
export function countsOf(
  row: Row,
  cells: string,
  places: Int32Array | undefined,
  states: readonly TaskState[] = TASK_STATES,
): Map<TaskState, number> {
  const counts = new Map<TaskState, number>();
  for (const number of row.tasks) {
    const place = places?.[number] ?? -1;
    const state = place < 0 || place >= cells.length ? null : stateOf(cells[place]!, states);
    if (state !== null) counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

export const RUNS_KEPT_MAX = 500;

/** The newest runs as they are now, over those in hand; without a gap between the two. */
export function refreshed(before: Grid | undefined, now: Grid): Grid {
  const oldest = now.runs.at(-1)?.id;
  if (before === undefined || oldest === undefined || now.next === null) return now;
  const overlap = before.runs.some((run) => run.id >= oldest);
  const kept = overlap ? before.runs.filter((run) => run.id < oldest) : [];
  if (kept.length === 0) return now;
  return { ...now, runs: [...now.runs, ...kept].slice(0, RUNS_KEPT_MAX), next: before.next };
}

/** Older runs behind those in hand. */
export function lengthened(before: Grid, older: Grid): Grid {
  const last = before.runs.at(-1)?.id ?? Infinity;
  const more = older.runs.filter((run: GridRun) => run.id < last);
  const full = before.runs.length + more.length >= RUNS_KEPT_MAX;
  return { ...before, runs: [...before.runs, ...more], next: full ? null : older.next };
}
