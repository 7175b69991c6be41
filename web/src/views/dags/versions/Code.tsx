/** The code of a version, or how it differs from that of another one, file by file. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { codeOf } from "~/api/queries";
import { Choice } from "~/components/Field";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Segments } from "~/components/Segments";
import type { Code as CodeOf, Version } from "~/generated/api";
import { around, changedFiles, difference, linesIn } from "~/lib/difference";
import { Lines } from "~/views/dags/versions/Lines";

export interface CodeSearch {
  readonly file?: string | undefined;
  readonly code?: "text" | "difference" | undefined;
}

export function Code({
  dag,
  before,
  after,
  search,
}: {
  dag: string;
  /** None: there is nothing to compare with. */
  before: Version | undefined;
  after: Version;
  search: CodeSearch;
}) {
  const navigate = useNavigate();
  const go = (change: CodeSearch) =>
    void navigate({ to: ".", search: ((given: object) => ({ ...given, ...change })) as never, replace: true });
  const comparing = before !== undefined && before.version !== after.version && search.code !== "text";
  const old = useCode(dag, comparing ? before : undefined, search.file);
  const now = useCode(dag, after, search.file);
  const files = useMemo(
    () => changedFiles(comparing ? (old.tree?.files ?? []) : (now.tree?.files ?? []), now.tree?.files ?? []),
    [comparing, old.tree, now.tree],
  );
  const file = search.file ?? now.tree?.file ?? old.tree?.file ?? undefined;
  const unkept = [after, ...(comparing ? [before] : [])].find((each) => each.code_bytes === null);
  const error = now.error ?? old.error;
  return (
    <Card
      title="Code"
      aside={
        <span className="flex flex-wrap items-center justify-end gap-2">
          {files.length > 0 && (
            <Choice
              label="File"
              value={file ?? ""}
              options={[
                ...(file === undefined ? [["", "Choose a file"] as const] : []),
                ...files.map(({ path, change }) => [path, change === "same" ? path : `${path} (${change})`] as const),
              ]}
              choose={(next) => go({ file: next })}
            />
          )}
          {before !== undefined && before.version !== after.version && (
            <Segments
              label="Code as"
              value={comparing ? "difference" : "text"}
              options={[
                ["difference", `From version ${before.version} to ${after.version}`],
                ["text", `Version ${after.version}`],
              ]}
              choose={(code) => go({ code })}
            />
          )}
        </span>
      }
    >
      {unkept !== undefined ? (
        <Empty title={`The code of version ${unkept.version} is not kept.`}>
          Code is kept for the last ten versions and for runs in history. A dag that was written over HTTP, or is of an
          application, has none here.
        </Empty>
      ) : error !== null ? (
        <div className="p-4">
          <Trouble error={error} />
        </div>
      ) : now.waits || old.waits ? (
        <Loading rows={6} />
      ) : file === undefined ? (
        <Empty title="The dag's file had another name then.">Choose one of the files.</Empty>
      ) : comparing ? (
        <Differing name={`How ${file} differs`} before={old.file} after={now.file} />
      ) : (
        <Whole name={`${file} in version ${after.version}`} of={now.file} />
      )}
    </Card>
  );
}

/** A version's files, and one of them, or the dag's own; that may be missing. */
function useCode(dag: string, version: Version | undefined, path: string | undefined) {
  const kept = version !== undefined && version.code_bytes !== null;
  const tree = useQuery({ ...codeOf(dag, version ?? NONE), enabled: kept });
  const own = path === undefined || tree.data?.file === path;
  const there = tree.data?.files.some((each) => each.path === path) === true;
  const other = useQuery({ ...codeOf(dag, version ?? NONE, path), enabled: kept && !own && there });
  return {
    tree: tree.data,
    file: own ? tree.data : there ? other.data : undefined,
    waits: kept && (tree.data === undefined || (!own && there && other.data === undefined)),
    error: tree.error ?? other.error,
  };
}

const NONE = { version: 0, snapshot: "" };

function Differing({ name, before, after }: { name: string; before: CodeOf | undefined; after: CodeOf | undefined }) {
  const told = [before, after].filter((each) => each !== undefined);
  const lines = useMemo(
    () => around(difference(linesIn(before?.text ?? ""), linesIn(after?.text ?? ""))),
    [before, after],
  );
  if (told.some((each) => each.file !== null && each.text === null)) return <NoText />;
  const same = lines.every((each) => "same" in each || (each.before !== null && each.after !== null));
  return (
    <>
      {told.some((each) => each.cut) && <Cut />}
      {same ? <Empty title="This file is the same in both.">Choose a file that differs, if there is one.</Empty> : <Lines name={name} lines={lines} />}
    </>
  );
}

function Whole({ name, of }: { name: string; of: CodeOf | undefined }) {
  const lines = useMemo(
    () => linesIn(of?.text ?? "").map((text, at) => ({ before: at + 1, after: at + 1, text })),
    [of],
  );
  if (of === undefined || of.file === null) return <Empty title="This version has no such file.">Choose another file.</Empty>;
  if (of.text === null) return <NoText />;
  return (
    <>
      {of.cut && <Cut />}
      {lines.length === 0 ? <Empty title="The file is empty.">It has its place all the same.</Empty> : <Lines name={name} lines={lines} />}
    </>
  );
}

function NoText() {
  return <Empty title="This file is no text.">It belongs to the code, and cannot be shown here.</Empty>;
}

function Cut() {
  return (
    <p data-tone="warn" className="border-b border-line bg-tone-wash px-4 py-2 text-sm text-tone-text">
      Only the first 512 KiB are shown.
    </p>
  );
}
