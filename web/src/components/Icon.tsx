/** Our own small set of icons: 16 units wide, one stroke. */

const PATHS = {
  home: "M2.5 7 8 2.5 13.5 7v6.5h-4v-4h-3v4h-4z",
  dags: "M3 4.5h3.5M9.5 4.5H13M6.5 4.5v7H13M4.8 3v3M11.3 3v3M11.3 10v3",
  runs: "M5 3.5v9l7.5-4.5z",
  jobs: "M2.5 5.5h11v7h-11zM6 5.5v-2h4v2M2.5 8.5h11",
  schedules: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 5v3.2l2.2 1.4",
  backfills: "M3 8a5 5 0 1 0 1.6-3.7M3 2.5v2.8h2.8M8 5.5V8l1.8 1",
  queues: "M2.5 4h11M2.5 8h11M2.5 12h7",
  letters: "M2.5 4h11v8.5h-11zM2.5 4.5 8 9l5.5-4.5",
  admin: "M8 2.5 13 4v4c0 3-2 4.8-5 5.5C5 12.8 3 11 3 8V4z",
  search: "M7 2.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4M10.2 10.2l3.3 3.3",
  sun: "M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M3.6 12.4l1-1M11.4 4.6l1-1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5",
  system: "M2.5 3.5h11v7.5h-11zM6 13.5h4",
  right: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  close: "M4 4l8 8M12 4l-8 8",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.5v9l7.5-4.5z",
  stop: "M4 4h8v8H4z",
  again: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.8h-2.8",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  plus: "M8 3v10M3 8h10",
  check: "M3 8.5 6.5 12 13 4.5",
  warn: "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.01",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10",
  external: "M6 3.5H3v9.5h9.5v-3M9 2.5h4.5V7M13 3 7.5 8.5",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      className="shrink-0"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
