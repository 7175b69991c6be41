/** Events of the stream put over answers in hand, so that nothing needs to be asked again. */

import type { InfiniteData } from "@tanstack/react-query";

import { dags, queryClient, type RunFilter } from "~/api/queries";
import type { Run, RunPage, RunWhole, Task } from "~/generated/api";

/** A list that only grows is one day too large; from here on it is read anew, page by page. */
const LONGEST_FIRST_PAGE = 300;

export function patchRuns(changed: readonly Run[]): void {
  const lists = queryClient.getQueriesData<InfiniteData<RunPage>>({ queryKey: ["runs"] });
  for (const [key, before] of lists) {
    if (before === undefined) continue;
    const after = withRuns(before, changed, key[1] as RunFilter);
    queryClient.setQueryData(key, after);
    if ((after.pages[0]?.items.length ?? 0) > LONGEST_FIRST_PAGE) {
      void queryClient.invalidateQueries({ queryKey: key, exact: true }, { cancelRefetch: false });
    }
  }
  for (const run of changed) {
    queryClient.setQueryData<RunWhole>(["run", run.id], (before) => before && { ...before, ...run });
  }
}

/**
 * A list with these runs in it: known ones changed or gone where they are, new ones on top. One that
 * is older than the list reaches is left out: it comes with its page.
 */
export function withRuns(
  list: InfiniteData<RunPage>,
  changed: readonly Run[],
  filter: RunFilter,
): InfiniteData<RunPage> {
  const news = new Map(changed.map((run) => [run.id, run]));
  const pages = list.pages.map((page) => ({
    ...page,
    items: page.items.flatMap((item) => {
      const run = news.get(item.id) ?? item;
      news.delete(item.id);
      return fits(run, filter) ? [run] : [];
    }),
  }));
  const newest = pages[0]?.items[0]?.id ?? -1;
  const added = [...news.values()]
    .filter((run) => run.id > newest && fits(run, filter))
    .sort((one, other) => other.id - one.id);
  if (pages[0] !== undefined) pages[0] = { ...pages[0], items: [...added, ...pages[0].items] };
  return { ...list, pages };
}

function fits(run: Run, filter: RunFilter): boolean {
  return (
    (filter.dag === undefined || run.dag === filter.dag) &&
    (filter.state === undefined || run.state === filter.state) &&
    (filter.trigger === undefined || run.trigger === filter.trigger) &&
    (filter.text === undefined || run.dag.toLowerCase().includes(filter.text.toLowerCase())) &&
    (filter.tag === undefined || tagsOf(run.dag).includes(filter.tag)) &&
    (filter.since === undefined || Date.parse(run.created_at) >= Date.parse(filter.since)) &&
    (filter.until === undefined || Date.parse(run.created_at) < Date.parse(filter.until))
  );
}

/** As the list of dags tells them, which who filters by tags has chosen from. */
function tagsOf(dag: string): readonly string[] {
  return queryClient.getQueryData(dags().queryKey)?.find((each) => each.name === dag)?.tags ?? [];
}

export function patchRun(run: Run, tasks: readonly Task[], whole: boolean): void {
  queryClient.setQueryData<RunWhole>(["run", run.id], (before) => {
    if (before === undefined) return before;
    if (whole) return { ...before, ...run, tasks };
    const news = new Map(tasks.map((task) => [task.id, task]));
    return { ...before, ...run, tasks: before.tasks.map((task) => news.get(task.id) ?? task) };
  });
}
