/** Whether what is shown is what is. A cut must be seen: a page that stands still looks calm. */

import { useLink, useTopics } from "~/api/live";
import { Dot } from "~/components/State";

const WORDS = {
  live: { text: "Live", tone: "good", title: "Changes are shown as they happen." },
  joining: { text: "Connecting", tone: "pending", title: "The stream of changes is being opened." },
  cut: {
    text: "Cut off",
    tone: "bad",
    title: "The server cannot be reached; what you see may be old. The page tries again by itself.",
  },
} as const;

export function LiveSign() {
  // Also where a view follows nothing: whether the server is there concerns every one.
  useTopics("workers");
  const { text, tone, title } = WORDS[useLink()];
  return (
    <span role="status" title={title} className="flex items-center gap-1.5 px-1 text-sm text-soft">
      <Dot tone={tone} />
      {text}
    </span>
  );
}

/** A cut that lasts, over the whole width: the sign is small, and narrow screens have no room for it. */
export function CutStrip() {
  if (useLink() !== "cut") return null;
  return (
    <p
      role="status"
      data-tone="bad"
      className="animate-[appear_.2s_2s_both] border-b border-tone-solid/40 bg-tone-wash px-4 py-2 text-sm text-tone-text"
    >
      {WORDS.cut.title}
    </p>
  );
}
