/** The faces of a dag, by their names in its address. */

import { onDemand } from "~/components/onDemand";

export const FACES = {
  grid: onDemand(() => import("~/views/dags/GridTab")),
  graph: onDemand(() => import("~/views/dags/GraphTab")),
  schedule: onDemand(() => import("~/views/dags/ScheduleTab")),
  history: onDemand(() => import("~/views/dags/HistoryTab")),
  versions: onDemand(() => import("~/views/dags/VersionsTab")),
  backfills: onDemand(() => import("~/views/dags/BackfillsTab")),
};

export type Face = keyof typeof FACES;

/** Lets the code of a face come; of the first one, if there is no such face. */
export function loadFace(name: string | undefined): Promise<void> {
  return (FACES[name as Face] ?? FACES.grid).load();
}
