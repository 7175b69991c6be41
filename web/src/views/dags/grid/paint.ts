/**
 * How cells, bars and timelines look on a canvas. Each state has a shape besides its colour: filled is
 * done or under way, hollow never ran, a cross failed.
 */

import { RUN_FACTS, TASK_FACTS, type RunState, type TaskState } from "~/generated/states";
import { length } from "~/lib/time";
import type { Colours } from "~/lib/tones";

export const ROW = 24;
export const COLUMN = 18;
export const HEAD = 76;
const BOX = 12;

export type Pen = CanvasRenderingContext2D;

/** Clears a canvas and makes it as sharp as the screen. */
export function prepared(canvas: HTMLCanvasElement, width: number, height: number): Pen {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const pen = canvas.getContext("2d")!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.textBaseline = "middle";
  pen.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  return pen;
}

/** One cell, its middle at x and y. */
export function paintCell(pen: Pen, state: TaskState, x: number, y: number, colours: Colours): void {
  const colour = colours.solid[TASK_FACTS[state].tone];
  const [left, top] = [x - BOX / 2, y - BOX / 2];
  pen.beginPath();
  switch (state) {
    case "waiting":
      pen.fillStyle = colours.surface["line-strong"];
      pen.arc(x, y, 2, 0, 2 * Math.PI);
      pen.fill();
      return;
    case "upstream_failed":
    case "skipped":
    case "ready":
    case "parked":
      pen.lineWidth = 1.5;
      pen.strokeStyle = colour;
      pen.roundRect(left + 1, top + 1, BOX - 2, BOX - 2, 2.5);
      pen.stroke();
      return;
    default:
      pen.fillStyle = colour;
      pen.roundRect(left, top, BOX, BOX, 3);
      pen.fill();
  }
  if (state === "failed" || state === "cancelled") {
    pen.beginPath();
    pen.lineWidth = 1.5;
    pen.strokeStyle = colours.surface.card;
    pen.moveTo(x - 2.5, y - 2.5);
    pen.lineTo(x + 2.5, y + 2.5);
    if (state === "failed") {
      pen.moveTo(x + 2.5, y - 2.5);
      pen.lineTo(x - 2.5, y + 2.5);
    }
    pen.stroke();
  } else if (state === "running" || state === "backoff") {
    pen.beginPath();
    pen.fillStyle = colours.surface.card;
    pen.arc(x, y, 2, 0, 2 * Math.PI);
    pen.fill();
  }
}

/** How long a run took, as a bar that stands on the line at `bottom`. */
export function paintBar(
  pen: Pen,
  state: RunState,
  share: number,
  x: number,
  bottom: number,
  room: number,
  colours: Colours,
): void {
  const height = Math.max(3, share * room);
  pen.beginPath();
  pen.fillStyle = colours.solid[RUN_FACTS[state].tone];
  pen.roundRect(x - BOX / 2, bottom - height, BOX, height, [3, 3, 0, 0]);
  pen.fill();
}

export interface Span {
  readonly state: TaskState;
  readonly from: number;
  readonly to: number;
  readonly critical: boolean;
  readonly group: boolean;
}

/** When something ran, on an axis that is `seconds` long and `width` wide. */
export function paintSpan(
  pen: Pen,
  span: Span,
  x: number,
  y: number,
  width: number,
  seconds: number,
  colours: Colours,
): void {
  const left = x + (width * span.from) / seconds;
  const wide = Math.max(2, (width * (span.to - span.from)) / seconds);
  const tone = TASK_FACTS[span.state].tone;
  pen.beginPath();
  pen.fillStyle = span.group ? colours.wash[tone] : colours.solid[tone];
  pen.roundRect(left, y - 6, wide, BOX, Math.min(3, wide / 2));
  pen.fill();
  if (span.group) {
    pen.strokeStyle = colours.solid[tone];
    pen.lineWidth = 1;
    pen.stroke();
  }
  if (span.critical) {
    pen.fillStyle = colours.surface.brass;
    pen.fillRect(left, y + 7, wide, 2);
  }
  const text = length(span.to - span.from);
  const needed = pen.measureText(text).width + 8;
  pen.fillStyle = colours.surface.soft;
  if (left + wide + needed < x + width) pen.fillText(text, left + wide + 5, y + 0.5);
  else if (left - needed > x) pen.fillText(text, left - needed + 3, y + 0.5);
}
