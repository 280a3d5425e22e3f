/** The answers: each is one call, with the command that does the same under it. */
import { useId, useState } from "react";
import type { RunDetail } from "../../api";
import { ErrorNotice } from "../../app/Notice";
import { useClient } from "../../app/session";
import { Command } from "../../dialogs/ActionForm";
import { CancelButton } from "../../dialogs/CancelButton";
import { commands } from "../../dialogs/commands";
import { ContinueForm } from "../../dialogs/ContinueDialog";
import type { Edits } from "../../dialogs/changes";
import { canEdit, choicesFor, FEEDBACK_MAX } from "../../dialogs/gates";
import type { GateState } from "../../journal";
import { Edited } from "./Edited";
import type { Sending } from "./useSending";

interface AnswersProps {
  run: RunDetail;
  gate: GateState;
  subject: { loop: string; number: number } | null;
  seen: number;
  feedback: string;
  onFeedback: (text: string) => void;
  edits: Edits;
  onEdits: (edits: Edits) => void;
  sending: Sending;
}

const CANCEL = "Cancel the run";

export function Answers({ run, gate, subject, seen, feedback, onFeedback, edits, onEdits, sending }: AnswersProps) {
  const [isEditing, setEditing] = useState(Object.keys(edits).length > 0);
  const client = useClient();
  const id = useId();
  const choices = choicesFor(gate.reason);
  const { send } = sending;
  const decide = (verb: "approve" | "reject") => client[verb](run.id, { at: gate.address, feedback, seen });
  const isBusy = sending.label !== "";
  const canExtend = subject !== null && gate.reason !== "gate" && gate.reason !== "in_doubt";
  return (
    <>
      <section className="card" aria-label="your answer">
        <div className="form-field">
          <label htmlFor={id}>Feedback</label>
          <textarea id={id} rows={3} maxLength={FEEDBACK_MAX} value={feedback} onChange={(event) => onFeedback(event.target.value)} />
        </div>
        <div className="choices">
          {(["approve", "reject"] as const).map((verb) => {
            const choice = choices[verb];
            const tone = verb === "approve" ? "main" : choice.tone === "bad" ? "bad" : "plain";
            return (
              <div key={verb} className="choice">
                <button
                  type="button"
                  id={`answer-${verb}`}
                  className={`button button-${tone}`}
                  disabled={isBusy}
                  onClick={() => send(choice.label, () => decide(verb))}
                >
                  {sending.label === choice.label ? `${choice.label}…` : choice.label}
                </button>
                <p className="help">{choice.help}</p>
                <Command text={commands.answer(verb, run.id, feedback, gate.address)} />
                {verb === "approve" && canEdit(gate) && (
                  <button type="button" className="button" aria-expanded={isEditing} disabled={isBusy} onClick={() => setEditing(!isEditing)}>
                    {choice.label.split(" ")[0]} with edits…
                  </button>
                )}
                {verb === "approve" && canEdit(gate) && isEditing && (
                  <Edited
                    run={run.id}
                    gate={gate}
                    label={choice.label.split(" ")[0] ?? ""}
                    feedback={feedback}
                    edits={edits}
                    onEdits={onEdits}
                    isBusy={isBusy}
                    onSend={(value) => send(choice.label, () => client.approve(run.id, { at: gate.address, feedback, seen, value: value as never }))}
                  />
                )}
              </div>
            );
          })}
          <div className="choice">
            <CancelButton
              label={sending.label === CANCEL ? `${CANCEL}…` : CANCEL}
              isDisabled={isBusy}
              onCancel={() => send(CANCEL, () => client.cancel(run.id, { feedback, seen }))}
            />
            <p className="help">The run ends here. Its results so far are kept.</p>
            <Command text={commands.cancel(run.id, feedback)} />
          </div>
        </div>
        {sending.error !== null && <ErrorNotice error={sending.error} onRetry={sending.forget} />}
      </section>
      {canExtend && (
        <section className="card" aria-label="more">
          <h2>Continue the loop</h2>
          <ContinueForm run={run} seen={seen} loop={subject.loop} iterations={2} onDone={() => undefined} />
        </section>
      )}
    </>
  );
}
