/** The name of a time zone, with those that there are to choose from. */

import { useId } from "react";

import { TextBox } from "~/components/Field";

const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone")];

export function ZoneBox({ value, change }: { value: string; change: (zone: string) => void }) {
  const list = useId();
  return (
    <>
      <TextBox value={value} list={list} onChange={(event) => change(event.target.value)} />
      <datalist id={list}>
        {ZONES.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}
