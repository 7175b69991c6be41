/** A value once nobody has changed it for a moment: what is being typed is asked about once. */

import { useEffect, useState } from "react";

export function useSettled<T>(value: T, ms = 250): T {
  const [settled, setSettled] = useState(value);
  const key = JSON.stringify(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), ms);
    return () => window.clearTimeout(timer);
    // eslint-disable-next-line -- the key stands for the value.
  }, [key, ms]);
  return settled;
}
