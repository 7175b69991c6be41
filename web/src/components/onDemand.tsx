/**
 * A part of a view whose code comes when it is needed.
 *
 * Not React's own `lazy`: what waits for that is shown a third of a second after its code is there, as
 * React lets no placeholder go sooner.
 */

import { useEffect, useReducer, type ComponentType } from "react";

import { Loading } from "~/components/Notice";

export type OnDemand<Props> = ComponentType<Props> & {
  /** Lets the code come; who waits for it sees no placeholder afterwards. */
  readonly load: () => Promise<void>;
};

export function onDemand<Props extends object>(
  fetch: () => Promise<{ default: ComponentType<Props> }>,
): OnDemand<Props> {
  let Part: ComponentType<Props> | null = null;
  const load = async () => {
    Part ??= (await fetch()).default;
  };
  function Awaited(props: Props) {
    const [, again] = useReducer((count: number) => count + 1, 0);
    const [failed, fail] = useReducer((_: unknown, error: unknown) => error, null);
    useEffect(() => {
      if (Part === null) load().then(again, fail);
    }, []);
    if (failed !== null) throw failed;
    return Part === null ? <Loading rows={8} /> : <Part {...props} />;
  }
  return Object.assign(Awaited, { load });
}
