/** Tokens: those that there are, making one, revoking one. */

import { useState } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Button } from "~/components/Button";
import { Confirm } from "~/components/Dialog";
import { Icon } from "~/components/Icon";
import { Moment } from "~/components/Moment";
import { Empty, Loading, Trouble } from "~/components/Notice";
import { Card } from "~/components/Page";
import { Rows, type Column } from "~/components/Rows";
import { Badge } from "~/components/State";
import type { Token } from "~/generated/api";
import { useNow } from "~/lib/now";
import { NewToken } from "~/views/admin/NewToken";

export function Tokens({ tokens, error }: { tokens: readonly Token[] | undefined; error: unknown }) {
  const [asking, setAsking] = useState<"new" | Token | null>(null);
  const revoke = useDeed({
    act: (token: Token) => ask("delete_token", { parts: { token: token.id } }),
    done: (_, token) => `Token ${token.name} is revoked.`,
    changes: [["tokens"]],
    meanwhile: {
      key: ["tokens"],
      change: (before: readonly Token[], token) =>
        before.map((each) => (each.id === token.id ? { ...each, revoked_at: new Date().toISOString() } : each)),
    },
  });
  const columns: readonly Column<Token>[] = [
    {
      name: "Token",
      width: "minmax(7rem, 2fr)",
      cell: (token) => (
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{token.name}</span>
          <Standing token={token} />
        </span>
      ),
    },
    {
      name: "Role",
      width: "6rem",
      cell: (token) => <span title={token.queues.length > 0 ? `for ${token.queues.join(", ")}` : undefined}>{token.role}</span>,
    },
    {
      name: "Made",
      width: "minmax(7rem, 1fr)",
      wide: true,
      cell: (token) => (
        <span className="text-soft">
          <Moment at={token.created_at} />
          {token.created_by && ` by ${token.created_by}`}
        </span>
      ),
    },
    { name: "Expires", width: "7rem", wide: true, cell: (token) => <Moment at={token.expires_at} /> },
    {
      name: "Revoke",
      head: <span className="sr-only">Revoke</span>,
      width: "5.5rem",
      right: true,
      cell: (token) =>
        token.revoked_at === null && (
          <Button aria-label={`Revoke ${token.name}`} onClick={() => setAsking(token)}>
            Revoke
          </Button>
        ),
    },
  ];
  return (
    <Card
      title="Tokens"
      fill
      aside={
        <Button look="main" onClick={() => setAsking("new")}>
          <Icon name="plus" />
          New token
        </Button>
      }
    >
      {error !== null && <Trouble error={error} />}
      {tokens === undefined ? (
        error === null && <Loading />
      ) : tokens.length === 0 ? (
        <Empty title="There are no tokens.">Make one for each program that asks this server.</Empty>
      ) : (
        <Rows label="Tokens" items={tokens} columns={columns} keyOf={(each) => each.id} rowHeight={48} />
      )}
      {asking === "new" && <NewToken close={() => setAsking(null)} />}
      {asking !== null && asking !== "new" && (
        <Confirm
          title={`Revoke ${asking.name}?`}
          about="Within a second no server takes it any more, and it cannot be taken back."
          verb="Revoke it"
          act={() => revoke.mutateAsync(asking)}
          close={() => setAsking(null)}
        />
      )}
    </Card>
  );
}

function Standing({ token }: { token: Token }) {
  const now = useNow();
  if (token.revoked_at !== null) return <Badge tone="quiet">Revoked</Badge>;
  if (token.expires_at !== null && new Date(token.expires_at) < now) return <Badge tone="quiet">Expired</Badge>;
  return null;
}
