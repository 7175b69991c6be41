/** The versions of a dag, what changed between two of them, and their code. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { useTopics } from "~/api/live";
import { versionsDiffer, versionsOf } from "~/api/queries";
import { Button } from "~/components/Button";
import { Confirm } from "~/components/Dialog";
import { Choice } from "~/components/Field";
import { Moment } from "~/components/Moment";
import { Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Change, Parts, Version } from "~/generated/api";
import type { Tone } from "~/generated/states";
import { bytes, number } from "~/lib/words";
import { Code, type CodeSearch } from "~/views/dags/versions/Code";

const columnsOf = (goBack: (version: number) => void): readonly Column<Version>[] => [
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
  {
    name: "Act",
    width: "6.5rem",
    right: true,
    cell: (each) =>
      !each.in_use &&
      each.code_bytes !== null && (
        <Button look="bare" aria-label={`Go back to version ${each.version}`} onClick={() => goBack(each.version)}>
          Go back
        </Button>
      ),
  },
];

export interface VersionsSearch extends CodeSearch {
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}

export default function VersionsTab({ dag, search }: { dag: string; search: VersionsSearch }) {
  useTopics("dags");
  const { data, error } = useQuery(versionsOf(dag));
  const [goingBack, setGoingBack] = useState<number | null>(null);
  const columns = useMemo(() => columnsOf(setGoingBack), []);
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return <Loading />;
  const after = data.find((each) => each.version === search.after) ?? data[0];
  const before =
    data.find((each) => each.version === search.before) ?? data.find((each) => each.version < (after?.version ?? 0));
  return (
    <>
      {before !== undefined && after !== undefined && (
        <Difference dag={dag} versions={data} before={before.version} after={after.version} />
      )}
      {after !== undefined && <Code dag={dag} before={before} after={after} search={search} />}
      <Card title="Versions" fill>
        <Rows label={`Versions of ${dag}`} items={data} columns={columns} keyOf={(each) => each.version} />
      </Card>
      {goingBack !== null && <GoBack dag={dag} version={goingBack} close={() => setGoingBack(null)} />}
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
  const { data: found, error } = useQuery(versionsDiffer(dag, before, after));
  const options = versions.map((each) => [String(each.version), `Version ${each.version}`] as const);
  const go = (change: { before?: number; after?: number }) =>
    void navigate({ to: ".", search: ((given: object) => ({ ...given, before, after, ...change })) as never, replace: true });
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
          <Changes of="" changes={found.dag} />
          <Differing what="parameter" parts={found.parameters} />
          <Differing what="task" parts={found.tasks} />
          {found.edges.added.map(([from, to]) => (
            <Line key={`+${from} ${to}`} tone="good" sign="+" text={`${from} → ${to}`} />
          ))}
          {found.edges.removed.map(([from, to]) => (
            <Line key={`-${from} ${to}`} tone="bad" sign="−" text={`${from} → ${to}`} />
          ))}
          {before === after && <p className="text-faint">This is one and the same version.</p>}
        </div>
      )}
    </Card>
  );
}

function Differing({ what, parts }: { what: string; parts: Parts }) {
  return (
    <>
      {parts.added.map((name) => (
        <Line key={name} tone="good" sign="+" text={`${what} ${name}`} />
      ))}
      {parts.removed.map((name) => (
        <Line key={name} tone="bad" sign="−" text={`${what} ${name}`} />
      ))}
      {parts.changed.map((each) => (
        <Changes key={each.name} of={`${what} ${each.name}: `} changes={each.changes} />
      ))}
    </>
  );
}

function Changes({ of, changes }: { of: string; changes: readonly Change[] }) {
  return changes.map((each) => (
    <Line
      key={each.field}
      tone="warn"
      sign="~"
      text={`${of}${each.field} was ${JSON.stringify(each.before)}, is ${JSON.stringify(each.after)}`}
    />
  ));
}

function Line({ tone, sign, text }: { tone: Tone; sign: string; text: string }) {
  return (
    <p data-tone={tone} className="mono break-words text-tone-text">
      {sign} {text}
    </p>
  );
}

/** Lets triggers use an older version again; asks once. */
function GoBack({ dag, version, close }: { dag: string; version: number; close: () => void }) {
  const deed = useDeed({
    act: () => ask("roll_back", { parts: { dag }, body: { version } }),
    done: () => `${dag} runs as version ${version} from now on.`,
    changes: [["versions", dag], ["dag", dag], ["dags"], ["graph", dag]],
  });
  return (
    <Confirm
      title={`Go back to version ${version}?`}
      about="Triggers and schedules use it from now on, with its code. Runs that exist stay as they are. It holds until the dag's file changes."
      verb="Go back"
      act={() => deed.mutateAsync()}
      close={close}
    />
  );
}
