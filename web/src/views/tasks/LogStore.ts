/**
 * The parts of a log that are in hand: those in sight and around it, the last used of the rest, and
 * the end while it grows. What was thrown away is remembered by its number of lines, so that nothing
 * jumps.
 */

import { awaitMore, measure, readBytes, type Ending, type LogName } from "~/api/log";
import {
  BLOCK_BYTES,
  blockCount,
  fitting,
  lastBreak,
  linesOf,
  rangeOf,
  type Line,
} from "~/lib/log";

const BLOCKS_MAX = 96;
const PIECE_BYTES = 1024 * 1024;
const AGAIN_MS = 1500;

interface Block {
  readonly bytes: Uint8Array;
  readonly lines: readonly Line[];
}

export class LogStore {
  readonly log: LogName;
  size = 0;
  ending: Ending = "open";
  error: unknown = null;
  /** False until its length is known. */
  known = false;
  /** Rises with each change; what is shown is told by it. */
  version = 0;

  readonly #blocks = new Map<number, Block>();
  readonly #asked = new Set<number>();
  readonly #listeners = new Set<() => void>();
  readonly #gone = new AbortController();

  constructor(log: LogName) {
    this.log = log;
    void this.#follow();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  close(): void {
    this.#gone.abort();
  }

  get blocks(): number {
    return blockCount(this.size);
  }

  /** What share of a block the last one is. */
  get lastShare(): number {
    return this.size / BLOCK_BYTES - (this.blocks - 1);
  }

  lines(block: number): readonly Line[] | undefined {
    return this.#blocks.get(block)?.lines;
  }

  /** Has these blocks read, and keeps them as the last used. */
  want(from: number, to: number): void {
    if (!this.known || this.size === 0) return;
    for (let block = Math.max(0, from); block <= Math.min(to, this.blocks - 1); block += 1) {
      const found = this.#blocks.get(block);
      if (found !== undefined) {
        this.#blocks.delete(block);
        this.#blocks.set(block, found);
      } else if (!this.#asked.has(block)) {
        void this.#read(block);
      }
    }
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= BLOCKS_MAX) break;
      if (block < from || block > to) this.#blocks.delete(block);
    }
  }

  /** Where lines begin that fit, in their order, as they are found; a piece at a time. */
  async *search(
    fits: (text: string) => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<{ found: readonly number[]; upTo: number }> {
    let at = 0;
    let carried: Uint8Array = new Uint8Array();
    const ask = (from: number) => readBytes(this.log, from, Math.min(this.size, from + PIECE_BYTES), signal);
    // The next piece is on its way while one is looked through.
    let coming = ask(0);
    while (at < this.size && !signal.aborted) {
      const fresh = await coming;
      if (fresh.length === 0) return;
      coming = ask(at + fresh.length);
      // Whoever stops here does not wait for it.
      coming.catch(() => undefined);
      const start = at - carried.length;
      const piece = joined(carried, fresh);
      at += fresh.length;
      // A line that goes on for a whole piece is looked at in parts.
      const cut = at >= this.size ? piece.length : lastBreak(piece) || piece.length;
      yield { found: fitting(start, piece.subarray(0, cut), fits), upTo: at };
      carried = piece.slice(cut);
    }
  }

  /** All of it, as a file. */
  async whole(): Promise<Blob> {
    const pieces: Blob[] = [];
    for (let at = 0; at < this.size; at += PIECE_BYTES) {
      const end = Math.min(this.size, at + PIECE_BYTES);
      // A blob lives outside of the page's memory.
      pieces.push(new Blob([(await readBytes(this.log, at, end, this.#gone.signal)) as BlobPart]));
    }
    return new Blob(pieces, { type: "text/plain;charset=utf-8" });
  }

  async #follow(): Promise<void> {
    const signal = this.#gone.signal;
    while (!signal.aborted) {
      try {
        if (!this.known) {
          const { size, ending } = await measure(this.log, signal);
          this.#change(() => {
            this.size = size;
            this.ending = ending;
            this.known = true;
          });
        }
        while (this.ending === "open") {
          const grown = await awaitMore(this.log, this.size, signal);
          this.#change(() => {
            this.#append(grown.bytes);
            this.ending = grown.ending;
          });
        }
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#change(() => (this.error = error));
        await new Promise((resolve) => window.setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  #append(bytes: Uint8Array): void {
    const before = this.size;
    this.size += bytes.length;
    for (let block = Math.max(0, blockCount(before) - 2); block < this.blocks; block += 1) {
      const [from, to] = rangeOf(block, this.size);
      const found = this.#blocks.get(block)?.bytes ?? new Uint8Array();
      // Grown where it ends, or begun where the log ended; a block with a hole is read when needed.
      if (from + found.length !== Math.max(from, before) || before > to) continue;
      const start = Math.max(from, before) - before;
      if (found.length === 0 && from < before) continue;
      this.#put(block, joined(found, bytes.subarray(start, to - before)));
    }
  }

  async #read(block: number): Promise<void> {
    this.#asked.add(block);
    try {
      const [from, to] = rangeOf(block, this.size);
      const bytes = await readBytes(this.log, from, to, this.#gone.signal);
      this.#change(() => {
        this.error = null;
        this.#put(block, bytes);
        // It grew while this was under way: the rest is missing, so it is read again when needed.
        if (rangeOf(block, this.size)[1] > from + bytes.length) this.#blocks.delete(block);
      });
    } catch (error) {
      if (!this.#gone.signal.aborted) this.#change(() => (this.error = error));
    } finally {
      this.#asked.delete(block);
    }
  }

  #put(block: number, bytes: Uint8Array): void {
    this.#blocks.set(block, { bytes, lines: linesOf(block, bytes) });
  }

  #change(act: () => void): void {
    act();
    this.version += 1;
    for (const listener of this.#listeners) listener();
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
