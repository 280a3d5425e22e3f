/** The answers: each is one call, with the command that does the same under it. */
import { useId, useRef, useState } from "react";
import type { RunDetail } from "../../api";
import { ErrorNotice } from "../../app/Notice";
import { useClient } from "../../app/session";
import { Command } from "../../dialogs/ActionForm";
import { commands } from "../../dialogs/commands";
import { ContinueForm } from "../../dialogs/ContinueDialog";
import { choicesFor } from "../../dialogs/gates";
import type { GateState } from "../../journal";

interface AnswersProps {
  run: RunDetail;
  gate: GateState;
  subject: { loop: string; number: number } | null;
  seen: number;
  hasOthers: boolean;
}

export function Answers({ run, gate, subject, seen, hasOthers }: AnswersProps) {
  const client = useClient();
  const id = useId();
  const [feedback, setFeedback] = useState("");
  const [sent, setSent] = useState<{ label: string; error: unknown } | null>(null);
  const isSent = useRef(false);
  const choices = choicesFor(gate.reason);
  const address = hasOthers ? gate.address : undefined;
  const send = (label: string, call: () => Promise<unknown>) => {
    if (isSent.current) return;
    isSent.current = true;
    setSent({ label, error: null });
    call().catch((error: unknown) => {
      isSent.current = false;
      setSent({ label: "", error });
    });
  };
  const decide = (verb: "approve" | "reject") => client[verb](run.id, { address: gate.address, feedback, seen });
  const isBusy = sent !== null && sent.error === null;
  const canExtend = subject !== null && gate.reason !== "gate" && gate.reason !== "in_doubt";
  return (
    <>
      <section className="card" aria-label="your answer">
        <div className="form-field">
          <label htmlFor={id}>Feedback</label>
          <textarea id={id} rows={3} value={feedback} onChange={(event) => setFeedback(event.target.value)} />
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
                  {sent?.label === choice.label ? `${choice.label}…` : choice.label}
                </button>
                <p className="help">{choice.help}</p>
                <Command text={commands.decide(verb, run.id, feedback, address)} />
              </div>
            );
          })}
          <div className="choice">
            <button
              type="button"
              className="button button-bad"
              disabled={isBusy}
              onClick={() => send("Cancel the run", () => client.cancel(run.id, { feedback, seen }))}
            >
              {sent?.label === "Cancel the run" ? "Cancel the run…" : "Cancel the run"}
            </button>
            <p className="help">It ends here; what it has made stays.</p>
            <Command text={commands.cancel(run.id, feedback)} />
          </div>
        </div>
        {sent?.error != null && <ErrorNotice error={sent.error} onRetry={() => setSent(null)} />}
      </section>
      {canExtend && (
        <section className="card" aria-label="more">
          <h2>Give it more</h2>
          <ContinueForm run={run} seen={seen} loop={subject.loop} iterations={2} onDone={() => undefined} />
        </section>
      )}
    </>
  );
}
