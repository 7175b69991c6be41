/** What somebody without a session sees. */

import { useState, type FormEvent } from "react";

import { Button } from "~/components/Button";
import { Field, TextBox } from "~/components/Field";

export function SignIn() {
  const [code, setCode] = useState("");
  const enter = (event: FormEvent) => {
    event.preventDefault();
    // A pasted link, or the secret in it.
    const secret = /code=([^&\s]+)/.exec(code)?.[1] ?? code.trim();
    window.location.assign(`/login?code=${encodeURIComponent(secret)}`);
  };
  return (
    <main className="grid h-full place-items-center p-4">
      <form
        onSubmit={enter}
        className="flex w-full max-w-md flex-col gap-5 rounded-lg border border-line bg-card p-8"
      >
        <div className="flex items-center gap-3">
          <img src="/mark.svg" alt="" width={36} height={36} />
          <h1 className="text-2xl">Mainspring</h1>
        </div>
        <p className="text-soft">
          You have no session here, or it has ended. <code className="mono">mainspring up</code> prints a
          link that opens one when it starts.
        </p>
        <Field label="Login link" about="A link opens once, within ten minutes.">
          <TextBox
            autoFocus
            required
            value={code}
            onChange={(event) => setCode(event.target.value)}
            placeholder="http://…/login?code=msp_…"
          />
        </Field>
        <Button look="main" type="submit">
          Open the page
        </Button>
      </form>
    </main>
  );
}
