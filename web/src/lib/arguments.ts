/**
 * A command line as its words: blanks part them, quotes hold them together, a backslash takes what
 * follows as it is. Nothing is expanded, since no shell reads it.
 */

export class OpenQuote extends Error {
  override readonly name = "OpenQuote";
}

export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at]!;
    if (quote !== null) {
      if (sign === quote) quote = null;
      else if (sign === "\\" && quote === '"' && '"\\'.includes(line[at + 1] ?? " ")) word += line[++at]!;
      else word += sign;
    } else if (/\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (sign === '"' || sign === "'") {
      quote = sign;
      word ??= "";
    } else if (sign === "\\" && at + 1 < line.length) {
      word = (word ?? "") + line[++at]!;
    } else {
      word = (word ?? "") + sign;
    }
  }
  if (quote !== null) throw new OpenQuote(`A quote ${quote} is opened and not closed.`);
  if (word !== null) words.push(word);
  return words;
}

/** The line that has these words. */
export function lineOf(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`))
    .join(" ");
}
