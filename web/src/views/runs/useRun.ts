/** A run as it is now: followed by the stream, or asked again and again while that is cut. */

import { useQuery } from "@tanstack/react-query";

import { useLink, useTopics } from "~/api/live";
import { run as runQuery } from "~/api/queries";
import { RUN_FACTS } from "~/generated/states";

const AGAIN_MS = 2000;

export function useRun(id: number) {
  useTopics(`run:${id}`);
  const link = useLink();
  return useQuery({
    ...runQuery(id),
    refetchInterval: ({ state }) =>
      link !== "live" && state.data !== undefined && !RUN_FACTS[state.data.state].closed ? AGAIN_MS : false,
  });
}
