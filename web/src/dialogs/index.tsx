/** Dialogs that take the wheel: opened from anywhere, drawn once in the shell. */
import { lazy, Suspense, useEffect } from "react";
import { createStore, useStore } from "zustand";
import { useLocation } from "../app/router";

export type DialogRequest = { run: string; onDone?: () => void } & (
  | { kind: "fork"; loop: string; iteration: number }
  // No loop (""): the run, which is resumed.
  | { kind: "continue"; loop?: string; iterations?: number; money?: number | undefined }
  | { kind: "accept"; loop?: string; iteration: number }
  | { kind: "approve" | "reject"; address: string }
);

export type DialogOf<Kind extends DialogRequest["kind"]> = Extract<DialogRequest, { kind: Kind }>;

const opened = createStore<{ request: DialogRequest | null }>(() => ({ request: null }));

export function openDialog(request: DialogRequest): void {
  opened.setState({ request });
}

const close = (): void => opened.setState({ request: null });

const Dialogs = lazy(() => import("./Dialogs"));

/** Stands once in the shell, inside the session. */
export function DialogHost() {
  const request = useStore(opened, (state) => state.request);
  const { path } = useLocation();
  // What was asked about is no longer on the page.
  useEffect(close, [path]);
  if (!request) return null;
  return (
    <Suspense fallback={null}>
      <Dialogs request={request} onClose={close} />
    </Suspense>
  );
}
