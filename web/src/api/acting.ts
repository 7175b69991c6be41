/**
 * Doing something: shown at once where that is safe, taken back if the server refuses, said in a
 * toast either way.
 */

import { useMutation, type QueryKey } from "@tanstack/react-query";

import { queryClient } from "~/api/queries";
import { say, sayTrouble } from "~/components/Toasts";

export interface Deed<Given, Told> {
  readonly act: (given: Given) => Promise<Told>;
  /** What to say when it is done. */
  readonly done?: (told: Told, given: Given) => string | null;
  /** Answers in hand that it makes old. */
  readonly changes: readonly QueryKey[];
  /** How an answer in hand looks once it is done; rolled back on refusal. */
  readonly meanwhile?: { key: QueryKey; change: (before: never, given: Given) => unknown };
}

export function useDeed<Given = void, Told = unknown>(deed: Deed<Given, Told>) {
  return useMutation<Told, unknown, Given, { before: unknown }>({
    mutationFn: deed.act,
    onMutate: (given) => {
      if (deed.meanwhile === undefined) return { before: undefined };
      const { key, change } = deed.meanwhile;
      const before = queryClient.getQueryData(key);
      if (before !== undefined) queryClient.setQueryData(key, change(before as never, given));
      return { before };
    },
    onError: (error, _given, context) => {
      if (deed.meanwhile !== undefined && context?.before !== undefined) {
        queryClient.setQueryData(deed.meanwhile.key, context.before);
      }
      sayTrouble(error);
    },
    onSuccess: (told, given) => {
      const text = deed.done?.(told, given);
      if (text != null) say(text);
    },
    onSettled: () =>
      Promise.all(deed.changes.map((key) => queryClient.invalidateQueries({ queryKey: key }))),
  });
}
