/** A yes or a no to what a run asks, with a word to it. */
import { useState } from "react";
import type { Gate, RunDetail } from "../api";
import { Empty, ErrorNotice, Loading } from "../app/Notice";
import { useClient, useLoad } from "../app/session";
import { Value } from "../app/Value";
import { visible } from "../journal/words";
import { ActionForm } from "./ActionForm";
import { commands } from "./commands";
import { Field } from "./fields";
import { choicesFor } from "./gates";
import { Modal } from "./Modal";
import type { DialogOf } from ".";

interface DecisionProps {
  request: DialogOf<"approve" | "reject">;
  onClose: () => void;
}

export function DecisionDialog({ request, onClose }: DecisionProps) {
  const run = useLoad((client, signal) => client.run(request.run, signal), [request.run]);
  const gates = run.value?.gates ?? [];
  const gate = request.address ? gates.find((one) => one.address === request.address) : gates[0];
  return (
    <Modal title={gate ? visible(gate.message) : "What the run asks"} onClose={onClose}>
      {run.error !== null && <ErrorNotice error={run.error} onRetry={run.reload} />}
      {!run.value && !run.error && <Loading what="the question" />}
      {run.value && gate && <DecisionForm run={run.value} gate={gate} request={request} onClose={onClose} onReload={run.reload} />}
      {run.value && !gate && (
        <Empty title="Nothing is asked">
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </Empty>
      )}
    </Modal>
  );
}

interface DecisionFormProps extends DecisionProps {
  run: RunDetail;
  gate: Gate;
  onReload: () => void;
}

function DecisionForm({ run, gate, request, onClose, onReload }: DecisionFormProps) {
  const client = useClient();
  const [feedback, setFeedback] = useState("");
  const verb = request.kind;
  const choice = choicesFor(gate.reason)[verb];
  const address = run.gates.length > 1 ? gate.address : undefined;
  const act = async () => {
    await client[verb](run.id, { address: gate.address, feedback, seen: run.last_seq });
    request.onDone?.();
    onClose();
  };
  return (
    <ActionForm
      label={choice.label}
      tone={choice.tone}
      command={commands.decide(verb, run.id, feedback, address)}
      act={act}
      onCancel={onClose}
      onReload={onReload}
    >
      <Field label="Feedback" help={choice.help}>
        {(id) => <textarea id={id} rows={3} value={feedback} onChange={(event) => setFeedback(event.target.value)} />}
      </Field>
      {gate.show !== null && <Value run={run.id} value={gate.show} />}
    </ActionForm>
  );
}
