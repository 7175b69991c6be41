/** Which of the steps that would move something on the page can take itself. Pure. */

export type Way =
  | { readonly kind: "resume_dag"; readonly dag: string }
  | { readonly kind: "resume_queue"; readonly queue: string }
  | { readonly kind: "rerun"; readonly run: number }
  | { readonly kind: "priority"; readonly run: number; readonly priority: number }
  | { readonly kind: "log"; readonly run: number; readonly task: string };

const FORMS: readonly [RegExp, (found: RegExpExecArray) => Way][] = [
  [/^mainspring dag resume (\S+)$/, ([, dag]) => ({ kind: "resume_dag", dag: dag! })],
  [/^mainspring queue resume (\S+)$/, ([, queue]) => ({ kind: "resume_queue", queue: queue! })],
  [/^mainspring run rerun (\d+)$/, ([, run]) => ({ kind: "rerun", run: Number(run) })],
  [
    /^mainspring run priority (\d+) (\d)$/,
    ([, run, priority]) => ({ kind: "priority", run: Number(run), priority: Number(priority) }),
  ],
  [/^mainspring run logs (\d+) (.+)$/, ([, run, task]) => ({ kind: "log", run: Number(run), task: task! })],
];

/** The command of a step as something to press; null if only a terminal can do it. */
export function wayOf(command: string | null | undefined): Way | null {
  for (const [form, way] of FORMS) {
    const found = form.exec(command ?? "");
    if (found !== null) return way(found);
  }
  return null;
}

export const WORDS: Record<Way["kind"], string> = {
  resume_dag: "Resume the dag",
  resume_queue: "Resume the queue",
  rerun: "Run again what failed",
  priority: "Let it go first",
  log: "Read its log",
};

/** `text` with what stands between backticks apart. */
export function quoted(text: string): { text: string; code: boolean }[] {
  return text
    .split("`")
    .map((part, at) => ({ text: part, code: at % 2 === 1 }))
    .filter((part) => part.text !== "");
}
