/**
 * A log of any length, of which only some blocks of bytes are in hand.
 *
 * A line belongs to the block in which it begins. So that each block can be cut into lines by itself,
 * it is read with the byte before it (does a line begin here?) and `TAIL_BYTES` after it (where does
 * the last line end?). A line that goes on for longer than that beyond its block is cut there.
 */

import { columnsOf, parseLine, plain, PLAIN, type Part, type Style } from "./ansi.ts";

export const BLOCK_BYTES = 128 * 1024;
export const TAIL_BYTES = 8 * 1024;

const NEWLINE = 10;
const decoder = new TextDecoder();

export interface Line {
  /** Where it begins, in bytes of the log. */
  readonly start: number;
  /** Without its escapes. */
  readonly text: string;
  readonly parts: readonly Part[];
}

export function blockOf(byte: number): number {
  return Math.floor(byte / BLOCK_BYTES);
}

export function blockCount(size: number): number {
  return Math.max(1, Math.ceil(size / BLOCK_BYTES));
}

/** The bytes to be read for a block; the second is not part of it. */
export function rangeOf(block: number, size: number): [from: number, to: number] {
  const first = block * BLOCK_BYTES;
  return [Math.max(0, first - 1), Math.min(size, first + BLOCK_BYTES + TAIL_BYTES)];
}

/** The lines that begin in a block, of the bytes that `rangeOf` names. */
export function linesOf(block: number, bytes: Uint8Array): Line[] {
  const lead = block === 0 ? 0 : 1;
  const edge = lead + BLOCK_BYTES;
  const lines: Line[] = [];
  let style: Style = PLAIN;
  let at = firstLine(block, bytes, lead);
  while (at < Math.min(edge, bytes.length)) {
    const end = lineEnd(bytes, at, edge);
    const { parts, after } = parseLine(decoder.decode(bytes.subarray(at, end)), style);
    style = after;
    lines.push({ start: block * BLOCK_BYTES + at - lead, text: parts.map((part) => part.text).join(""), parts });
    at = bytes[end] === NEWLINE ? end + 1 : end;
  }
  return lines;
}

function firstLine(block: number, bytes: Uint8Array, lead: number): number {
  if (block === 0 || bytes[0] === NEWLINE) return lead;
  const found = bytes.subarray(lead, lead + TAIL_BYTES).indexOf(NEWLINE);
  if (found !== -1) return lead + found + 1;
  // It was cut at the edge of the block before, or it ends with the log and was told there.
  return bytes.length >= lead + TAIL_BYTES ? lead : bytes.length;
}

function lineEnd(bytes: Uint8Array, from: number, edge: number): number {
  const found = bytes.subarray(from, edge + TAIL_BYTES).indexOf(NEWLINE);
  if (found !== -1) return from + found;
  return bytes.length >= edge + TAIL_BYTES ? edge : bytes.length;
}

/** How many rows a line takes where a row has so many columns; 0 stands for as many as it needs. */
export function rowsOf(line: Line, columns: number): number {
  return columns === 0 ? 1 : Math.max(1, Math.ceil(columnsOf(line.text) / columns));
}

// --- which rows are where ---------------------------------------------------------------------

/** Rows before each block, and of all; those of blocks that nobody has seen are guessed. */
export function layOut(count: number, known: ReadonlyMap<number, number>, lastShare: number): Float64Array {
  let rows = 0;
  let whole = 0;
  for (const [block, each] of known) {
    rows += each;
    whole += block === count - 1 ? lastShare : 1;
  }
  const guess = whole === 0 ? BLOCK_BYTES / 80 : rows / whole;
  const before = new Float64Array(count + 1);
  for (let block = 0; block < count; block += 1) {
    const share = block === count - 1 ? lastShare : 1;
    before[block + 1] = before[block]! + (known.get(block) ?? Math.round(guess * share));
  }
  return before;
}

/** The last place whose value is not above `value`, in values that rise. */
export function placeOf(values: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle]! <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

// --- looking for something --------------------------------------------------------------------

const ERRORS = /\b(?:error|fatal|critical|panic|traceback)\b|(?:error|exception)\b/i;

export function looksWrong(text: string): boolean {
  return ERRORS.test(text);
}

export function finder(words: string): (text: string) => boolean {
  const sought = words.toLowerCase();
  return (text) => text.toLowerCase().includes(sought);
}

/** Where lines begin that fit, in a piece that begins with a line. */
export function fitting(start: number, bytes: Uint8Array, fits: (text: string) => boolean): number[] {
  // Most pieces hold nothing; the whole is asked before its lines are. Escapes could hide a word.
  const whole = decoder.decode(bytes);
  if (!whole.includes("\x1b") && !fits(whole)) return [];
  const found: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, at);
    const end = newline === -1 ? bytes.length : newline;
    if (fits(plain(decoder.decode(bytes.subarray(at, end))))) found.push(start + at);
    at = end + 1;
  }
  return found;
}

/** Where the last line of a piece begins that may go on in the next one. */
export function lastBreak(bytes: Uint8Array): number {
  return bytes.lastIndexOf(NEWLINE) + 1;
}
