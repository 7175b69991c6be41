/** What terminals read between the letters of a log: colours are kept, the rest is left out. */

/** The eight colours of a terminal; `tones.css` says what they look like here. */
export const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
export type Colour = (typeof COLOURS)[number];

export interface Style {
  readonly ink?: Colour;
  readonly ground?: Colour;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly inverse?: true;
}

export interface Part {
  readonly text: string;
  readonly style: Style;
}

export const PLAIN: Style = {};

const TAB_COLUMNS = 8;
// One escape sequence: CSI, OSC (up to BEL or ST), or ESC and a letter.
const ESCAPES = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~])/g;
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f]/g;

/** One line as parts of one style each, and the style in which the next line begins. */
export function parseLine(line: string, before: Style = PLAIN): { parts: Part[]; after: Style } {
  const text = lastWritten(line);
  if (!text.includes("\x1b")) {
    const clean = tidy(text, 0);
    return { parts: clean === "" ? [] : [{ text: clean, style: before }], after: before };
  }
  const parts: Part[] = [];
  let style = before;
  let columns = 0;
  let from = 0;
  const add = (raw: string) => {
    const clean = tidy(raw, columns);
    columns += clean.length;
    if (clean !== "") parts.push({ text: clean, style });
  };
  for (const found of text.matchAll(ESCAPES)) {
    add(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === "m") style = restyle(style, found[1] ?? "");
  }
  add(text.slice(from));
  return { parts, after: style };
}

/** The line as it is read, without any style. */
export function plain(line: string): string {
  return tidy(lastWritten(line).replace(ESCAPES, ""), 0);
}

/** Progress bars go back to the beginning of their line and write over it: the last is what counts. */
function lastWritten(line: string): string {
  if (!line.includes("\r")) return line;
  const rest = line.replace(/\r+$/, "");
  return rest.slice(rest.lastIndexOf("\r") + 1);
}

function tidy(text: string, column: number): string {
  let told = text.replace(UNSEEN, "");
  for (let tab = told.indexOf("\t"); tab !== -1; tab = told.indexOf("\t", tab)) {
    const width = TAB_COLUMNS - ((column + tab) % TAB_COLUMNS);
    told = told.slice(0, tab) + " ".repeat(width) + told.slice(tab + 1);
  }
  return told;
}

function restyle(before: Style, codes: string): Style {
  const numbers = codes === "" ? [0] : codes.split(/[;:]/).map(Number);
  let style: { -readonly [Name in keyof Style]: Style[Name] } = { ...before };
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at]!;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) {
      delete style.bold;
      delete style.dim;
    } else if (code === 23) delete style.italic;
    else if (code === 24) delete style.underline;
    else if (code === 27) delete style.inverse;
    else if (code === 39) delete style.ink;
    else if (code === 49) delete style.ground;
    else if (code === 38 || code === 48) {
      const [colour, taken] = wideColour(numbers, at + 1);
      at += taken;
      if (colour !== null) style[code === 38 ? "ink" : "ground"] = colour;
    } else if (code >= 30 && code <= 37) style.ink = COLOURS[code - 30]!;
    else if (code >= 40 && code <= 47) style.ground = COLOURS[code - 40]!;
    else if (code >= 90 && code <= 97) style.ink = COLOURS[code - 90]!;
    else if (code >= 100 && code <= 107) style.ground = COLOURS[code - 100]!;
  }
  return style;
}

/** One of 256 or of all colours as the nearest of the eight, and how many numbers said it. */
function wideColour(numbers: readonly number[], at: number): [Colour | null, number] {
  if (numbers[at] === 2) {
    return [nearest(numbers[at + 1] ?? 0, numbers[at + 2] ?? 0, numbers[at + 3] ?? 0), 4];
  }
  if (numbers[at] !== 5) return [null, 0];
  const index = numbers[at + 1] ?? 0;
  if (index < 16) return [COLOURS[index % 8]!, 2];
  if (index >= 232) return [index < 244 ? "black" : "white", 2];
  const cube = index - 16;
  const level = (value: number) => (value % 6) * 51;
  return [nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6)), level(cube)), 2];
}

function nearest(red: number, green: number, blue: number): Colour {
  const most = Math.max(red, green, blue);
  const bit = (value: number) => (most > 60 && value * 3 >= most * 2 ? 1 : 0);
  return COLOURS[bit(red) + 2 * bit(green) + 4 * bit(blue)]!;
}

/** How many columns a text takes in a font of one width. */
export function columnsOf(text: string): number {
  // Nearly all logs are ASCII.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const letter of text) columns += isWide(letter.codePointAt(0)!) ? 2 : 1;
  return columns;
}

function isWide(code: number): boolean {
  return (
    code >= 0x1100 &&
    (code <= 0x115f ||
      (code >= 0x2e80 && code <= 0xa4cf) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) ||
      (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0x1f300 && code <= 0x1faff) ||
      (code >= 0x20000 && code <= 0x3fffd))
  );
}
