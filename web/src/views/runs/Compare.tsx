/** This run beside another one: code, parameters, and each task. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { comparison, runs } from "~/api/queries";
import { Choice } from "~/components/Field";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Rows, type Column } from "~/components/Rows";
import { Badge, State } from "~/components/State";
import type { ComparedTask, ComparedTasks, Comparison, RunWhole } from "~/generated/api";
import { RUN_FACTS } from "~/generated/states";
import { useZone } from "~/lib/preferences";
import { dateAndTime, length } from "~/lib/time";

export function Compare({ run, other }: { run: RunWhole; other: number | undefined }) {
  const navigate = useNavigate();
  const [zone] = useZone();
  const { data: known } = useInfiniteQuery(runs({ dag: run.dag }));
  const others = (known?.pages[0]?.items ?? []).filter((each) => each.id !== run.id);
  const choose = (id: string) =>
    void navigate({
      to: ".",
      search: ((before: object) => ({ ...before, with: id === "" ? undefined : Number(id) })) as never,
      replace: true,
    });
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2 text-sm">
        <span className="text-soft">Run {run.id} beside</span>
        <Choice
          label="Other run"
          value={other === undefined ? "" : String(other)}
          options={[
            ["", "choose a run"],
            ...(other !== undefined && !others.some((each) => each.id === other) ? [[String(other), `run ${other}`] as const] : []),
            ...others.map(
              (each) =>
                [
                  String(each.id),
                  `run ${each.id}, ${RUN_FACTS[each.state].label.toLowerCase()}, ${dateAndTime(new Date(each.created_at), zone)}`,
                ] as const,
            ),
          ]}
          choose={choose}
        />
      </div>
      {other === undefined ? (
        <Empty title={others.length === 0 ? "This dag has no other run yet." : "Choose a run to compare with."}>
          Versions, parameters, and the state, attempts, time and result of each task are put side by side.
        </Empty>
      ) : (
        <Compared run={run.id} other={other} />
      )}
    </>
  );
}

function Compared({ run, other }: { run: number; other: number }) {
  const { data, error } = useQuery(comparison(run, other));
  if (error !== null) return <Trouble error={error} />;
  if (data === undefined) return <Loading />;
  return (
    <>
      <Differences told={data} />
      <Rows label="Tasks of both runs" items={data.tasks} columns={columnsOf(run, other)} keyOf={(each) => each.name} />
    </>
  );
}

function Differences({ told }: { told: Comparison }) {
  const [one, two] = told.runs;
  return (
    <div className="flex flex-col gap-1.5 border-b border-line px-4 py-3 text-sm">
      <div className="flex flex-wrap gap-2">
        {!told.same_dag && <Badge tone="warn">{`Dags ${one!.dag} and ${two!.dag}`}</Badge>}
        <Badge tone={told.same_version ? "quiet" : "warn"}>
          {told.same_version ? `Both version ${one!.version}` : `Versions ${one!.version} and ${two!.version}`}
        </Badge>
        <Badge tone={told.same_code ? "quiet" : "warn"}>{told.same_code ? "Same code" : "Other code"}</Badge>
        <Badge tone={told.parameters.length === 0 ? "quiet" : "warn"}>
          {told.parameters.length === 0 ? "Same parameters" : "Other parameters"}
        </Badge>
      </div>
      {told.parameters.map((each) => (
        <p key={each.name}>
          <code className="mono">{each.name}</code>{" "}
          {each.given.map((given, at) => (
            <span key={at}>
              {at === 1 && " beside "}
              <code className="mono rounded-sm bg-sunken px-1">{given ? JSON.stringify(each.values[at]) : "not given"}</code>
            </span>
          ))}
        </p>
      ))}
    </div>
  );
}

function columnsOf(run: number, other: number): readonly Column<ComparedTasks>[] {
  return [
    { name: "Task", width: "minmax(6rem, 1fr)", cell: (each) => <span className="font-medium">{each.name}</span> },
    { name: `Run ${run}`, width: "minmax(6.5rem, 1fr)", cell: (each) => <Side task={each.runs[0] ?? null} /> },
    { name: `Run ${other}`, width: "minmax(6.5rem, 1fr)", cell: (each) => <Side task={each.runs[1] ?? null} /> },
    { name: "Differs in", width: "9rem", wide: true, cell: (each) => <span className="text-soft">{each.changed.join(", ")}</span> },
    { name: "Time", width: "8rem", right: true, wide: true, cell: (each) => <Slower of={each} /> },
  ];
}

function Side({ task }: { task: ComparedTask | null }) {
  if (task === null) return <span className="text-faint">no such task</span>;
  return (
    <span className="flex items-center gap-2">
      <State of="task" state={task.state} />
      {task.duration_seconds !== null && <span className="text-soft">{length(task.duration_seconds)}</span>}
    </span>
  );
}

function Slower({ of }: { of: ComparedTasks }) {
  const [one, two] = of.runs.map((each) => each?.duration_seconds ?? null);
  if (one == null || two == null) return null;
  const by = one - two;
  if (Math.abs(by) < 0.1 && Math.abs(by) < 0.2 * Math.max(one, two)) return <span className="text-faint">alike</span>;
  return (
    <span data-tone={by > 0 ? "warn" : "good"} className="text-tone-text">
      {length(Math.abs(by))} {by > 0 ? "slower" : "faster"}
    </span>
  );
}
