/**
 * Retrying or discarding many dead letters. The server deals with some at a time and says when
 * there are more; this asks until there are none, or nothing moves any more.
 */

import type { LetterOf, LettersLeft } from "~/generated/api";

export type Verb = "retry" | "discard";

export interface Which {
  readonly groups?: readonly string[];
  readonly letters?: readonly LetterOf[];
}

export interface Told {
  readonly moved: number;
  readonly left: readonly LettersLeft[];
  readonly ended: string | null;
}

export interface Progress {
  readonly moved: number;
  readonly left: readonly LettersLeft[];
}

const LETTERS_AT_ONCE = 500;

/** One step for each group, and for so many letters: what is done is seen as it is done. */
export function stepsOf(which: Which): Which[] {
  const steps: Which[] = (which.groups ?? []).map((group) => ({ groups: [group] }));
  const letters = which.letters ?? [];
  for (let at = 0; at < letters.length; at += LETTERS_AT_ONCE) {
    steps.push({ letters: letters.slice(at, at + LETTERS_AT_ONCE) });
  }
  return steps;
}

export async function redrive(
  steps: readonly Which[],
  act: (step: Which) => Promise<Told>,
  tell: (progress: Progress) => void,
): Promise<Progress> {
  let progress: Progress = { moved: 0, left: [] };
  for (const step of steps) {
    for (;;) {
      const told = await act(step);
      progress = { moved: progress.moved + told.moved, left: [...progress.left, ...told.left] };
      tell(progress);
      if (told.ended === null || told.moved === 0) break;
    }
  }
  return progress;
}
