/** The buttons that steer a run: those that the server would not refuse now. */
import { useState } from "react";
import type { Client, RunDetail } from "../../api";
import { errorWords } from "../../app/Notice";
import { navigate } from "../../app/router";
import { statusOf, useRunStore, useRunView } from "../../app/run";
import { useClient, useMay } from "../../app/session";
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
  stop: (client, id, seen, loop) => client.stop(id, { at: loop, seen }),
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

/** Each button has its place, whatever the run does: none comes to lie where another one was. */
export function Actions({ id, detail, loop }: { id: string; detail: RunDetail; loop: LoopState | undefined }) {
  const status = useRunView(statusOf);
  const { busy, error, steer, forget } = useSteering(id);
  const store = useRunStore();
  const [mayStop, mayStart] = [useMay("stop").may, useMay("start").may];
  const hasLoop = useRunView((view) => view.journal.loops.size > 0);
  const can = (action: RunDetail["can"][number]) => detail.can.includes(action);
  const fork = () => {
    const { chosen } = store.getState();
    if (loop) openDialog({ kind: "fork", run: id, loop: loop.address, iteration: Math.max(1, numberLookedAt(loop, chosen)) });
  };
  const stop = mayStop && loop?.status === "running" && status === "running" ? loop : undefined;
  const isBusy = busy !== null;
  return (
    <div className="run-actions" role="group" aria-label="steer the run">
      {can("resume") ? (
        <Action key="resume" isMain isBusy={isBusy} title={`whorl resume ${id}`} onPress={() => steer("resume")}>
          {detail.status === "failed" ? "Retry what failed" : "Resume"}
        </Action>
      ) : (
        <Action key="pause" isAway={!can("pause")} isBusy={isBusy} title={`whorl runs pause ${id}`} onPress={() => steer("pause")}>
          Pause
        </Action>
      )}
      <Action
        isAway={!stop}
        isBusy={isBusy || stop?.isStopping}
        title={stop && `${commands.stop(id, stop.address)}: ${stop.address} ends and returns its result so far`}
        onPress={() => stop && steer("stop", stop.address)}
      >
        {stop?.isStopping ? `Stops after #${stop.number}` : "Stop after this iteration"}
      </Action>
      <span className={can("cancel") ? "" : "is-away"}>
        <CancelButton label="Cancel" isDisabled={isBusy || !can("cancel")} title={`whorl runs cancel ${id}`} onCancel={() => steer("cancel")} />
      </span>
      <Action isAway={!can("fork") || !hasLoop} onPress={fork}>
        Fork…
      </Action>
      <Action isAway={!detail.file || !mayStart} onPress={() => navigate("/workflows/start", { file: detail.file, named: detail.name, from: id })}>
        Re-run
      </Action>
      {error !== null && <Refused error={error} onClose={forget} />}
    </div>
  );
}

interface ActionProps {
  isMain?: boolean;
  /** It cannot be done now; its place stays. */
  isAway?: boolean;
  isBusy?: boolean | undefined;
  title?: string | undefined;
  onPress: () => void;
  children: string;
}

function Action({ isMain = false, isAway = false, isBusy = false, title, onPress, children }: ActionProps) {
  return (
    <button key={isAway ? "away" : "here"} type="button" className={["button", isMain && "button-main", isAway && "is-away"].filter(Boolean).join(" ")} disabled={isBusy || isAway} title={title} onClick={onPress}>
      {children}
    </button>
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
