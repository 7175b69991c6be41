/** Whether what is shown is what is. A cut must be seen: a page that stands still looks calm. */

import { useLink } from "~/api/live";
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
  const { text, tone, title } = WORDS[useLink()];
  return (
    <span role="status" title={title} className="flex items-center gap-1.5 px-1 text-sm text-soft">
      <Dot tone={tone} />
      {text}
    </span>
  );
}
