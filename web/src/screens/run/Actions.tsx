/** The buttons that steer a run: those that the server would not refuse now. */
import { useState } from "react";
import type { Client, RunDetail } from "../../api";
import { errorWords } from "../../app/Notice";
import { navigate } from "../../app/router";
import { statusOf, useRunStore, useRunView } from "../../app/run";
import { useClient } from "../../app/session";
import { openDialog } from "../../dialogs";
import { CancelButton } from "../../dialogs/CancelButton";
import { commands } from "../../dialogs/commands";
import { words, type LoopState } from "../../journal";
import { numberLookedAt } from "./focus";

type Verb = "pause" | "resume" | "cancel" | "stop";

const CALLS: Record<Verb, (client: Client, id: string, seen: number, loop: string) => Promise<unknown>> = {
  pause: (client, id, seen) => client.pause(id, { seen }),
  resume: (client, id, seen) => client.resume(id, { seen }),
  cancel: (client, id, seen) => client.cancel(id, { seen }),
  stop: (client, id, seen, loop) => client.stop(id, { loop, seen }),
};

/** Carries a request out with what the page knows of the run, and says what is wrong with it. */
export function useSteering(id: string) {
  const client = useClient();
  const store = useRunStore();
  const [state, setState] = useState<{ busy: Verb | null; error: unknown }>({ busy: null, error: null });
  const steer = (verb: Verb, loop = "") => {
    setState({ busy: verb, error: null });
    CALLS[verb](client, id, store.getState().journal.lastSeq, loop).then(
      () => setState({ busy: null, error: null }),
      (error: unknown) => setState({ busy: null, error }),
    );
  };
  return { ...state, steer, forget: () => setState({ busy: null, error: null }) };
}

export function Actions({ id, detail, loop }: { id: string; detail: RunDetail | null; loop: LoopState | undefined }) {
  const status = useRunView(statusOf);
  const { busy, error, steer, forget } = useSteering(id);
  const store = useRunStore();
  const hasLoop = useRunView((view) => view.journal.loops.size > 0);
  const can = (action: RunDetail["can"][number]) => detail?.can.includes(action) ?? false;
  const fork = () => {
    const { chosen } = store.getState();
    if (loop) openDialog({ kind: "fork", run: id, loop: loop.address, iteration: Math.max(1, numberLookedAt(loop, chosen)) });
  };
  return (
    <div className="run-actions" role="group" aria-label="steer the run">
      {can("pause") && (
        <button type="button" className="button" disabled={busy !== null} title={`whorl pause ${id}`} onClick={() => steer("pause")}>
          Pause
        </button>
      )}
      {can("resume") && (
        <button type="button" className="button button-main" disabled={busy !== null} title={`whorl resume ${id}`} onClick={() => steer("resume")}>
          {detail?.status === "failed" ? "Retry what failed" : "Resume"}
        </button>
      )}
      {loop?.status === "running" && status === "running" && (
        <button
          type="button"
          className="button"
          disabled={busy !== null || loop.isStopping}
          title={`${commands.stop(id, loop.address)}: ${loop.address} ends and returns its result so far`}
          onClick={() => steer("stop", loop.address)}
        >
          {loop.isStopping ? `Stops after #${loop.number}` : "Stop after this iteration"}
        </button>
      )}
      {can("cancel") && <CancelButton label="Cancel" isDisabled={busy !== null} title={`whorl cancel ${id}`} onCancel={() => steer("cancel")} />}
      {can("fork") && hasLoop && (
        <button type="button" className="button" onClick={fork}>
          Fork…
        </button>
      )}
      {detail?.file && (
        <button type="button" className="button" onClick={() => navigate("/workflows/start", { file: detail.file, named: detail.name, from: id })}>
          Re-run
        </button>
      )}
      {error !== null && <Refused error={error} onClose={forget} />}
    </div>
  );
}

function Refused({ error, onClose }: { error: unknown; onClose: () => void }) {
  const { message, help } = errorWords(error);
  return (
    <p className="problem run-refused" role="alert">
      <span aria-hidden="true">✗</span> {words.visible(message)}
      {help && <span className="faint"> {words.visible(help)}</span>}
      <button type="button" className="button button-quiet button-small" onClick={onClose}>
        Dismiss
      </button>
    </p>
  );
}
