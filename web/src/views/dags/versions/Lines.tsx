/** Lines of code with their numbers, of one text or of two; only what is in sight is drawn. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

import type { DiffLine, Gap } from "~/lib/difference";
import type { Tone } from "~/generated/states";
import { counted, number } from "~/lib/words";

const ROW = 20;
const SHOWN_MAX = 24;

export function Lines({ name, lines }: { name: string; lines: readonly (DiffLine | Gap)[] }) {
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: 20,
  });
  const two = lines.some((each) => "same" in each || each.before !== each.after);
  const longest = lines.reduce((most, each) => ("same" in each ? most : Math.max(most, each.text.length)), 0);
  const numbers = two ? 11 : 6;
  return (
    <div
      ref={frame}
      role="region"
      aria-label={name}
      tabIndex={0}
      className="mono overflow-auto py-2 text-sm"
      style={{ height: Math.min(lines.length, SHOWN_MAX) * ROW + 16 }}
    >
      <div className="relative" style={{ height: virtual.getTotalSize(), minWidth: `${longest + numbers + 6}ch`, tabSize: 4 }}>
        {virtual.getVirtualItems().map((row) => (
          <div
            key={row.index}
            className="absolute inset-x-0 top-0"
            style={{ height: ROW, lineHeight: `${ROW}px`, transform: `translateY(${row.start}px)` }}
          >
            <Row line={lines[row.index]!} two={two} />
          </div>
        ))}
      </div>
    </div>
  );
}

function Row({ line, two }: { line: DiffLine | Gap; two: boolean }) {
  if ("same" in line) {
    return <div className="bg-sunken px-4 text-faint">{counted(line.same, "line")} the same</div>;
  }
  const [tone, sign, what] = kindOf(line);
  return (
    <div data-tone={tone} className={`flex h-full whitespace-pre ${tone === undefined ? "" : "bg-tone-wash"}`}>
      {two && <Count at={line.before} />}
      <Count at={line.after} />
      <span className={`w-6 shrink-0 text-center ${tone === undefined ? "text-faint" : "text-tone-text"}`}>
        {what !== "" && <span className="sr-only">{what}: </span>}
        <span aria-hidden>{sign}</span>
      </span>
      <code className="pr-4">{line.text}</code>
    </div>
  );
}

function kindOf(line: DiffLine): readonly [tone: Tone | undefined, sign: string, what: string] {
  if (line.before === null) return ["good", "+", "added"];
  if (line.after === null) return ["bad", "−", "removed"];
  return [undefined, " ", ""];
}

function Count({ at }: { at: number | null }) {
  return <span className="w-[5ch] shrink-0 text-right text-faint select-none">{at === null ? "" : number(at)}</span>;
}
