/** The versions of a dag, and what changed between two of them. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { useTopics } from "~/api/live";
import { graph, versionsOf } from "~/api/queries";
import { Choice } from "~/components/Field";
import { Moment } from "~/components/Moment";
import { Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Version } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { graphDifference } from "~/lib/versions";
import { bytes, counted, number } from "~/lib/words";

const COLUMNS: readonly Column<Version>[] = [
  {
    name: "Version",
    width: "minmax(7rem, 1fr)",
    cell: (each) => (
      <span className="flex items-center gap-2">
        <span className="font-medium">{each.version}</span>
        {each.in_use && <Badge tone="good">In use</Badge>}
        {each.in_folder && !each.in_use && <Badge tone="pending">In the folder</Badge>}
      </span>
    ),
  },
  { name: "Tasks", width: "5rem", right: true, cell: (each) => number(each.task_count) },
  { name: "First seen", width: "8rem", cell: (each) => <Moment at={each.created_at} /> },
  {
    name: "Code",
    width: "minmax(8rem, 1fr)",
    wide: true,
    cell: (each) => (
      <span className="text-soft">
        <span className="mono">{each.snapshot.slice(0, 10)}</span>
        {each.code_bytes !== null && ` · ${bytes(each.code_bytes)} kept`}
      </span>
    ),
  },
];

export default function VersionsTab({
  dag,
  before,
  after,
}: {
  dag: string;
  before: number | undefined;
  after: number | undefined;
}) {
  useTopics("dags");
  const { data, error } = useQuery(versionsOf(dag));
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return <Loading />;
  const newest = after ?? data[0]?.version;
  const older = before ?? data.find((each) => each.version < (newest ?? 0))?.version;
  return (
    <>
      {older !== undefined && newest !== undefined && (
        <Difference dag={dag} versions={data} before={older} after={newest} />
      )}
      <Card title="Versions" fill>
        <Rows label={`Versions of ${dag}`} items={data} columns={COLUMNS} keyOf={(each) => each.version} />
      </Card>
    </>
  );
}

function Difference({
  dag,
  versions,
  before,
  after,
}: {
  dag: string;
  versions: readonly Version[];
  before: number;
  after: number;
}) {
  const navigate = useNavigate();
  const old = useQuery(graph(dag, before));
  const now = useQuery(graph(dag, after));
  const found = useMemo(() => old.data && now.data && graphDifference(old.data, now.data), [old.data, now.data]);
  const options = versions.map((each) => [String(each.version), `Version ${each.version}`] as const);
  const go = (change: { before?: number; after?: number }) =>
    void navigate({ to: ".", search: ((given: object) => ({ ...given, before, after, ...change })) as never, replace: true });
  const error = old.error ?? now.error;
  return (
    <Card
      title="What changed"
      aside={
        <span className="flex items-center gap-2 text-sm text-soft">
          <Choice label="From" value={String(before)} options={options} choose={(value) => go({ before: Number(value) })} />
          to
          <Choice label="To" value={String(after)} options={options} choose={(value) => go({ after: Number(value) })} />
        </span>
      }
    >
      {error !== null && <Trouble error={error} />}
      {found === undefined ? (
        error === null && <Loading rows={2} />
      ) : (
        <div className="max-h-80 overflow-auto px-4 py-3 text-sm">
          <Names tone="good" sign="+" names={found.added} />
          <Names tone="bad" sign="−" names={found.removed} />
          {found.moved.map((each) => (
            <p key={each.name} data-tone="warn">
              <span className="mono text-tone-text">~ {each.name}</span>{" "}
              <span className="text-soft">
                came after {each.before.join(", ") || "nothing"}, now after {each.after.join(", ") || "nothing"}
              </span>
            </p>
          ))}
          <p className="text-faint">
            {found.added.length + found.removed.length + found.moved.length === 0
              ? "The graph is the same; what differs is how its tasks are called or run."
              : `${counted(found.unchanged, "task")} as before`}
          </p>
        </div>
      )}
    </Card>
  );
}

function Names({ tone, sign, names }: { tone: Tone; sign: string; names: readonly string[] }) {
  return names.map((name) => (
    <p key={name} data-tone={tone} className="mono text-tone-text">
      {sign} {name}
    </p>
  ));
}
