/** After an answer: what it was, whose it was, words that were not sent, and the way on. */
import { useEffect, useRef } from "react";
import { Link, runPath } from "../../app/router";
import { useRunState } from "../../app/run";
import { answererWords, answerWords } from "../../dialogs/gates";
import { words, type GateState } from "../../journal";

interface AnsweredProps {
  run: string;
  gate: GateState;
  /** Whether it was answered from this page. */
  isMine: boolean;
  /** Words that were written here and not sent. */
  unsent: string;
  onDiscard: () => void;
  /** Another question that waits. */
  next: GateState | undefined;
  onNext: () => void;
}

export function Answered({ run, gate, isMine, unsent, onDiscard, next, onNext }: AnsweredProps) {
  const { status } = useRunState();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus({ preventScroll: true }), []);
  const isAnswered = gate.decided !== null;
  return (
    <section className={isAnswered ? "card answered answered-good" : "card answered"} aria-label="answered">
      <h2 ref={title} tabIndex={-1}>
        {isAnswered ? "✓ answered" : `○ no answer is needed: ${gate.gone}`}
      </h2>
      {gate.decided && (
        <p>
          {answererWords(gate.decided.by, isMine)}: <strong>
            {answerWords(gate.reason, gate.decided.approved)}
            {gate.decided.isEdited && " with edits"}
          </strong>
          {gate.decided.feedback && <span className="pre"> “{words.visible(gate.decided.feedback)}”</span>}
        </p>
      )}
      <div key={next?.seq ?? 0} className="gate-next" role="group" aria-label="what comes next">
        {unsent && (
          <div className="unsent">
            <p role="status">
              <span aria-hidden="true">!</span> What you wrote was not sent. It is kept here:
            </p>
            <pre className="value" tabIndex={0} aria-label="what you wrote">
              {words.visible(unsent)}
            </pre>
            <button type="button" className="button button-small" onClick={onDiscard}>
              Discard it
            </button>
          </div>
        )}
        {next ? (
          <>
            <Link to={runPath(run, "/approvals")} query={{ at: next.address }} className="button button-main" onClick={onNext}>
              next approval →
            </Link>
            <p className="help">{words.visible(next.message)}</p>
          </>
        ) : (
          <p>
            {AFTER[status] ?? "The run continues."} <Link to={runPath(run)}>To the run</Link>
          </p>
        )}
      </div>
    </section>
  );
}

const AFTER: Record<string, string> = {
  succeeded: "The run has succeeded.",
  failed: "The run has failed.",
  cancelled: "The run was cancelled.",
  paused: "The run is paused.",
};
