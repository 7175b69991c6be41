/** One line of a log in its colours. */

import { memo, type CSSProperties } from "react";

import type { Style } from "~/lib/ansi";
import { highlight } from "~/lib/highlight";
import { looksWrong, type Line } from "~/lib/log";

export const LogLine = memo(function LogLine({
  line,
  top,
  height,
  width,
  chosen,
  find,
  choose,
}: {
  line: Line;
  top: number;
  height: number;
  /** Where lines are wrapped; else they are as wide as they are. */
  width: number | null;
  chosen: boolean;
  find: string;
  choose: (line: Line) => void;
}) {
  const wrong = looksWrong(line.text);
  return (
    <div
      data-tone={wrong ? "bad" : undefined}
      data-byte={line.start}
      aria-current={chosen ? "true" : undefined}
      onClick={() => choose(line)}
      style={{ transform: `translateY(${top}px)`, height, ...(width !== null && { width }) }}
      className={`absolute top-0 left-0 min-w-full border-l-2 pr-4 pl-3 ${
        width === null ? "whitespace-pre" : "break-all whitespace-break-spaces"
      } ${wrong ? "border-tone-solid" : "border-transparent"} ${chosen ? "bg-accent-wash" : "hover:bg-hover"}`}
    >
      {highlight(line.parts, find).map((part, at) =>
        part.hit ? (
          <mark key={at} data-tone="warn" className="rounded-xs bg-tone-solid/40 text-ink">
            {part.text}
          </mark>
        ) : (
          <span key={at} style={styled(part.style)}>
            {part.text}
          </span>
        ),
      )}
    </div>
  );
});

function styled(style: Style): CSSProperties | undefined {
  const { ink, ground, bold, dim, italic, underline, inverse } = style;
  const [front, back] = inverse ? [ground ?? "black", ink ?? "white"] : [ink, ground];
  return {
    ...(front && { color: inverse ? "var(--card)" : `var(--ansi-${front})` }),
    // The eight are made to be read on our ground, so behind words they are only a hint.
    ...(back && {
      background: inverse ? `var(--ansi-${back})` : `color-mix(in srgb, var(--ansi-${back}) 22%, transparent)`,
    }),
    ...(bold && { fontWeight: 700 }),
    ...(dim && { color: "var(--faint)" }),
    ...(italic && { fontStyle: "italic" }),
    ...(underline && { textDecoration: "underline" }),
  };
}
