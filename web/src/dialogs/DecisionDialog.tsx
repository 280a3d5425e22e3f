/** A yes or a no to what a run asks, with a word to it. */
import type { Gate, RunDetail } from "../api";
import { Empty, ErrorNotice, Loading } from "../app/Notice";
import { useClient, useLoad } from "../app/session";
import { Value } from "../app/Value";
import { visible } from "../journal/words";
import { ActionForm } from "./ActionForm";
import { commands } from "./commands";
import { useDraft } from "./drafts";
import { Field } from "./fields";
import { choicesFor, FEEDBACK_MAX } from "./gates";
import { Modal } from "./Modal";
import type { DialogOf } from ".";

interface DecisionProps {
  request: DialogOf<"approve" | "reject">;
  onClose: () => void;
}

export function DecisionDialog({ request, onClose }: DecisionProps) {
  const run = useLoad((client, signal) => client.run(request.run, signal), [request.run]);
  const gates = run.value?.approvals ?? [];
  const gate = gates.find((one) => one.address === request.address);
  const [feedback, setFeedback] = useDraft(request.run, request.address);
  return (
    <Modal title={gate ? visible(gate.message) : "What the run asks"} onClose={onClose}>
      {run.error !== null && <ErrorNotice error={run.error} onRetry={run.reload} />}
      {!run.value && !run.error && <Loading what="the approval" />}
      {run.value && gate && <DecisionForm run={run.value} gate={gate} feedback={feedback} onFeedback={setFeedback} request={request} onClose={onClose} onReload={run.reload} />}
      {run.value && !gate && (
        <Empty title={`There is no open approval at ${visible(request.address)} any more`}>
          {feedback && (
            <>
              <p>What you wrote was not sent:</p>
              <pre className="value" tabIndex={0}>{visible(feedback)}</pre>
            </>
          )}
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
  feedback: string;
  onFeedback: (text: string) => void;
  onReload: () => void;
}

function DecisionForm({ run, gate, feedback, onFeedback, request, onClose, onReload }: DecisionFormProps) {
  const client = useClient();
  const verb = request.kind;
  const choice = choicesFor(gate.reason)[verb];
  const act = async () => {
    await client[verb](run.id, { at: gate.address, feedback, seen: run.last_seq });
    onFeedback("");
    request.onDone?.();
    onClose();
  };
  return (
    <ActionForm
      label={choice.label}
      tone={choice.tone}
      command={commands.answer(verb, run.id, feedback, gate.address)}
      act={act}
      onCancel={onClose}
      onReload={onReload}
    >
      <Field label="Feedback" help={choice.help}>
        {(id) => <textarea id={id} rows={3} maxLength={FEEDBACK_MAX} value={feedback} onChange={(event) => onFeedback(event.target.value)} />}
      </Field>
      {gate.show !== null && <Value run={run.id} value={gate.show} />}
    </ActionForm>
  );
}
