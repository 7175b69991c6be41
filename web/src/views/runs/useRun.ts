/** A run as it is now: followed by the stream, or asked again and again while that is cut. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { useLink, useTopics } from "~/api/live";
import { queryClient, run as runQuery } from "~/api/queries";
import { RUN_FACTS } from "~/generated/states";
import { isWhole } from "~/views/runs/whole";

const AGAIN_MS = 2000;

export function useRun(id: number) {
  useTopics(`run:${id}`);
  const link = useLink();
  const asked = useQuery({
    ...runQuery(id),
    refetchInterval: ({ state }) =>
      link !== "live" && state.data !== undefined && !RUN_FACTS[state.data.state].closed ? AGAIN_MS : false,
  });
  // What fills the screen is there and painted: now the rest.
  const { refetch } = asked;
  const some = asked.data !== undefined && !isWhole(asked.data);
  useEffect(() => {
    if (some) void refetch({ cancelRefetch: false });
  }, [some, refetch]);
  // Events tell neither why a run failed nor which reruns it has: that comes with the whole.
  const state = asked.data?.state;
  const known = useRef(state);
  useEffect(() => {
    if (known.current !== undefined && known.current !== state) {
      void queryClient.invalidateQueries({ queryKey: runQuery(id).queryKey });
    }
    known.current = state;
  }, [id, state]);
  return asked;
}
