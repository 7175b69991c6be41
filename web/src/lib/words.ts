/** Numbers and nouns as people write them. */

const grouped = new Intl.NumberFormat("en-GB");
const compacted = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });

export function number(value: number): string {
  return grouped.format(value);
}

/** `12.4k`, where there is little room. */
export function brief(value: number): string {
  return value < 10_000 ? grouped.format(value) : compacted.format(value).toLowerCase();
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** `12/s`, `2.5/s`, `6/min`: few digits, and none that would not be true. */
export function rate(perSecond: number): string {
  if (perSecond >= 1) return perSecond >= 10 ? `${number(Math.round(perSecond))}/s` : `${perSecond.toFixed(1)}/s`;
  return perSecond >= 1 / 60 ? `${Math.round(perSecond * 60)}/min` : "<1/min";
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = count / 1024;
  let at = 0;
  while (size >= 1024 && at < units.length - 1) {
    size /= 1024;
    at += 1;
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[at]}`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`;
}
