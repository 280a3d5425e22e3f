/** Ends a loop with the result of one of its iterations. */
import { useState } from "react";
import type { RunDetail } from "../api";
import { ErrorNotice, Loading } from "../app/Notice";
import { useClient, useLoad } from "../app/session";
import { markWords } from "../charts";
import { score as scoreWords } from "../journal/words";
import { ActionForm } from "./ActionForm";
import { commands } from "./commands";
import { Field } from "./fields";
import { loadChoices } from "./marked";
import { Modal } from "./Modal";
import type { DialogOf } from ".";

interface AcceptProps {
  request: DialogOf<"accept">;
  onClose: () => void;
}

export function AcceptDialog({ request, onClose }: AcceptProps) {
  const run = useLoad((client, signal) => client.run(request.run, signal), [request.run]);
  return (
    <Modal title="Accept an iteration" onClose={onClose}>
      {run.error !== null && <ErrorNotice error={run.error} onRetry={run.reload} />}
      {run.value ? <AcceptForm run={run.value} request={request} onClose={onClose} onReload={run.reload} /> : !run.error && <Loading what="the run" />}
    </Modal>
  );
}

interface AcceptFormProps extends AcceptProps {
  run: RunDetail;
  onReload: () => void;
}

function AcceptForm({ run, request, onClose, onReload }: AcceptFormProps) {
  const client = useClient();
  const loop = request.loop ?? run.loop ?? "";
  const [number, setNumber] = useState(request.iteration);
  const loaded = useLoad((api, signal) => loadChoices(api, run.id, loop, signal), [run.id, loop]);
  const choices = (loaded.value?.iterations ?? []).filter((one) => one.status === "succeeded");
  const chosen = choices.find((one) => one.number === number);
  const act = async () => {
    await client.accept(run.id, { at: loop, iteration: number, seen: run.last_seq });
    request.onDone?.();
    onClose();
  };
  return (
    <ActionForm label={`Accept iteration ${number}`} command={commands.accept(run.id, number, loop)} act={act} onCancel={onClose} onReload={onReload}>
      <Field label={`Iteration of ${loop}`} help={chosen?.words}>
        {(id) => (
          <select id={id} value={number} onChange={(event) => setNumber(Number(event.target.value))}>
            {!chosen && <option value={number}>#{number}</option>}
            {choices.map((one) => (
              <option key={one.number} value={one.number}>
                #{one.number}
                {one.score === null ? "" : ` · score ${scoreWords(one.score, run.target)}`}
                {loaded.value && markWords(one.number, loaded.value.marked)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <p className="help">The loop ends with this result. The steps after the loop then run with it, even if they have run before.</p>
    </ActionForm>
  );
}
