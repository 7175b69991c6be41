/**
 * Things that are done at most so often: at once, if it is long enough since the last time, else once
 * when it is. Pure but for the clock, which is given.
 */

export interface Clock {
  readonly now: () => number;
  readonly later: (act: () => void, ms: number) => void;
}

const CLOCK: Clock = { now: () => performance.now(), later: (act, ms) => void setTimeout(act, ms) };

export class Pace {
  private readonly last = new Map<string, number>();
  private readonly planned = new Set<string>();
  private readonly everyMs: number;
  private readonly clock: Clock;

  constructor(everyMs: number, clock: Clock = CLOCK) {
    this.everyMs = everyMs;
    this.clock = clock;
  }

  /** Under one key one thing is done: which act it was does not matter, but that it comes after. */
  do(key: string, act: () => void): void {
    if (this.planned.has(key)) return;
    const wait = (this.last.get(key) ?? -Infinity) + this.everyMs - this.clock.now();
    if (wait <= 0) return this.act(key, act);
    this.planned.add(key);
    this.clock.later(() => {
      this.planned.delete(key);
      this.act(key, act);
    }, wait);
  }

  private act(key: string, act: () => void): void {
    this.forget();
    this.last.set(key, this.clock.now());
    act();
  }

  /** What is long ago need not be known. */
  private forget(): void {
    if (this.last.size < 100) return;
    const before = this.clock.now() - this.everyMs;
    for (const [key, at] of this.last) if (at <= before) this.last.delete(key);
  }
}
