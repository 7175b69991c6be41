/** What `mainspring doctor` finds: each check with its verdict, and what to do. */

import { useQuery } from "@tanstack/react-query";

import { health } from "~/api/queries";
import { Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Badge } from "~/components/State";
import type { Check } from "~/generated/api";
import type { Tone } from "~/generated/states";

const VERDICTS: Readonly<Record<Check["verdict"], { tone: Tone; text: string }>> = {
  ok: { tone: "good", text: "Well" },
  warning: { tone: "warn", text: "Warning" },
  broken: { tone: "bad", text: "Broken" },
  unknown: { tone: "quiet", text: "Unknown" },
};

export function Health() {
  const { data, error } = useQuery(health());
  return (
    <Card title={data === undefined ? "Health" : data.ok ? "All is well" : "Something needs you"}>
      {error !== null && <Trouble error={error} />}
      {data === undefined ? (
        error === null && <Loading />
      ) : (
        <ul aria-label="Checks">
          {data.checks.map((each) => (
            <li key={each.name} className="flex items-start gap-4 border-b border-line/60 px-4 py-2.5 last:border-0">
              <span className="w-24 shrink-0">
                <Badge tone={VERDICTS[each.verdict].tone}>{VERDICTS[each.verdict].text}</Badge>
              </span>
              <div className="min-w-0 flex-1">
                <p className="break-words">
                  <span className="font-medium">{each.name}</span>{" "}
                  <span className="text-soft">{each.found}</span>
                </p>
                {each.fix && <p className="text-sm break-words">{each.fix}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
