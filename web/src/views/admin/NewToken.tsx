/** Making a token. Its secret is shown once, and never again. */

import { useState, type FormEvent } from "react";

import { useDeed } from "~/api/acting";
import { ask } from "~/api/call";
import { Button } from "~/components/Button";
import { Dialog } from "~/components/Dialog";
import { Choice, Field, TextBox } from "~/components/Field";
import { Trouble } from "~/components/Notice";
import { say } from "~/components/Toasts";
import type { Role } from "~/generated/api";

const ROLES: readonly (readonly [Role, string])[] = [
  ["viewer", "Viewer: may look"],
  ["operator", "Operator: may also act, and make jobs"],
  ["admin", "Admin: may also hand out tokens"],
  ["worker", "Worker: may serve queues"],
];

export function NewToken({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [queues, setQueues] = useState("");
  const [lifetime, setLifetime] = useState("");
  const make = useDeed({
    act: () =>
      ask("make_token", {
        body: {
          name: name.trim(),
          role,
          ...(role === "worker" && { queues: queues.split(",").map((each) => each.trim()).filter(Boolean) }),
          ...(lifetime.trim() && { expires_in: lifetime.trim() }),
        },
      }),
    changes: [["tokens"]],
  });
  if (make.data !== undefined) return <Secret name={make.data.name} secret={make.data.token} close={close} />;
  return (
    <Dialog title="New token" close={close}>
      <form
        className="flex flex-col gap-4 p-5"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <Field label="Name" about="Who or what will use it.">
          <TextBox required autoFocus value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label="Role">
          <Choice label="Role" value={role} options={ROLES} choose={(value) => setRole(value as Role)} />
        </Field>
        {role === "worker" && (
          <Field label="Queues" about="Those that it may serve, with commas between them.">
            <TextBox required value={queues} onChange={(event) => setQueues(event.target.value)} />
          </Field>
        )}
        <Field label="Lives for" about="Such as 30d. Empty: until it is revoked.">
          <TextBox value={lifetime} onChange={(event) => setLifetime(event.target.value)} />
        </Field>
        {make.error !== null && <Trouble error={make.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button look="main" type="submit" busy={make.isPending}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Secret({ name, secret, close }: { name: string; secret: string; close: () => void }) {
  const copy = async () => {
    await navigator.clipboard.writeText(secret);
    say("The secret is in the clipboard.");
  };
  return (
    <Dialog title={`Token ${name}`} about="This is its secret. It is shown now and never again." close={close}>
      <div className="flex flex-col gap-4 p-5">
        <TextBox
          readOnly
          aria-label="Secret"
          value={secret}
          onFocus={(event) => event.target.select()}
          className="mono w-full"
        />
        <div className="flex justify-end gap-2">
          <Button onClick={() => void copy()}>Copy</Button>
          <Button look="main" onClick={close}>
            I have it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
