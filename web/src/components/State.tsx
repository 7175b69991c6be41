/** How a run, a task or an attempt stands: a mark, and a word that does not rely on colour. */

import { FACTS, type MachineName, type StateOf, type Tone } from "~/generated/states";

export function State<M extends MachineName>({ of, state }: { of: M; state: StateOf[M] }) {
  const facts = FACTS[of][state];
  return (
    <Badge tone={facts.tone} title={facts.meaning}>
      {facts.label}
    </Badge>
  );
}

export function Badge({
  tone,
  title,
  children,
}: {
  tone: Tone;
  title?: string;
  children: string;
}) {
  return (
    <span
      data-tone={tone}
      title={title}
      className="inline-flex items-center gap-1.5 rounded-full bg-tone-wash px-2 py-px text-xs font-medium whitespace-nowrap text-tone-text"
    >
      <Dot tone={tone} />
      {children}
    </span>
  );
}

export function Dot({ tone }: { tone: Tone }) {
  return (
    <span
      aria-hidden
      data-tone={tone}
      className={`inline-block size-1.5 shrink-0 rounded-full bg-tone-solid ${
        tone === "active" ? "animate-[breathe_1.6s_ease-in-out_infinite]" : ""
      }`}
    />
  );
}
