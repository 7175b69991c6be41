/** A window in front of the view; Escape closes it, and the focus goes back where it was. */

import { Dialog as Radix } from "radix-ui";
import { useState, type ReactNode } from "react";

import { Button } from "~/components/Button";
import { Trouble } from "~/components/Notice";

export function Dialog({
  title,
  about,
  close,
  wide = false,
  children,
}: {
  title: string;
  about?: string;
  close: () => void;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && close()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-ink/30 dark:bg-ground/70" />
        <Radix.Content
          className={`fixed top-[12vh] left-1/2 z-40 flex max-h-[80vh] w-[calc(100vw-2rem)] -translate-x-1/2 animate-[appear_.12s] flex-col overflow-hidden rounded-lg border border-line bg-raised shadow-2xl ${
            wide ? "max-w-3xl" : "max-w-lg"
          }`}
          {...(about === undefined ? { "aria-describedby": undefined } : {})}
        >
          <div className="border-b border-line px-5 py-3.5">
            <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
            {about !== undefined && (
              <Radix.Description className="text-soft">{about}</Radix.Description>
            )}
          </div>
          <div className="min-h-0 overflow-auto">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Asks once before something that cannot be taken back. */
export function Confirm({
  title,
  about,
  verb,
  act,
  close,
}: {
  title: string;
  about: string;
  verb: string;
  act: () => Promise<unknown>;
  close: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async () => {
    setBusy(true);
    try {
      await act();
      close();
    } catch (found) {
      setError(found);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} about={about} close={close}>
      <div className="flex flex-col gap-4 p-5">
        {error !== null && <Trouble error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Keep it as it is</Button>
          <Button look="danger" busy={busy} onClick={() => void confirm()} autoFocus>
            {verb}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
