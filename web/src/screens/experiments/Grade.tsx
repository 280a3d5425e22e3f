/** What people grade, one result after the other; which variant made it is not told. */
import { useState } from "react";
import type { ExperimentDetail } from "../../api";
import { ErrorNotice, errorWords, Loading } from "../../app/Notice";
import { useKeys } from "../../app/keys";
import { useClient, useLoad, useMay } from "../../app/session";
import { Value } from "../../app/Value";
import { words, type Json } from "../../journal";

export function Grade({ detail }: { detail: ExperimentDetail }) {
  const queue = useLoad((client, signal) => client.gradings(detail.name, signal), [detail.name], [detail.people]);
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const [skipped, setSkipped] = useState<readonly string[]>([]);
  if (queue.error) return <ErrorNotice error={queue.error} onRetry={queue.reload} />;
  if (!queue.value) return <Loading what="the results to grade" />;
  const keyOf = (one: { run: string; address: string }) => `${one.run} ${one.address}`;
  const left = queue.value.gradings.filter((one) => !answered.has(keyOf(one)));
  // What was skipped comes again after the others.
  const turns = left.toSorted((one, other) => skipped.lastIndexOf(keyOf(one)) - skipped.lastIndexOf(keyOf(other)));
  const first = turns[0];
  if (!first) return <p className="faint">There are no results for a person to grade.</p>;
  return (
    <Grading
      key={keyOf(first)}
      item={first}
      left={left.length}
      onAnswered={() => setAnswered((before) => new Set(before).add(keyOf(first)))}
      onSkip={() => setSkipped((before) => [...before, keyOf(first)])}
    />
  );
}

interface GradingProps {
  item: { run: string; grader: string; address: string; message: string; show?: unknown };
  left: number;
  onAnswered: () => void;
  onSkip: () => void;
}

function Grading({ item, left, onAnswered, onSkip }: GradingProps) {
  const client = useClient();
  const { may, why } = useMay("approve");
  const [feedback, setFeedback] = useState("");
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null });
  const answer = (isYes: boolean) => {
    if (state.isBusy || !may) return;
    setState({ isBusy: true, error: null });
    const call = isYes ? client.approve : client.reject;
    call(item.run, { at: item.address, feedback }).then(onAnswered, (error: unknown) => setState({ isBusy: false, error }));
  };
  useKeys({
    y: { label: "yes", run: () => answer(true) },
    n: { label: "no", run: () => answer(false) },
    s: { label: "skip", run: onSkip },
  });
  return (
    <section className="grading" aria-label="a result to grade">
      <p className="faint">
        {left === 1 ? "1 result waits" : `${left} results wait`} · grader {words.visible(item.grader)}
      </p>
      <h2>{words.visible(item.message)}</h2>
      <Value run={item.run} value={(item.show ?? null) as Json} empty="There is nothing to show." />
      <label htmlFor="grading-feedback">Feedback</label>
      <textarea id="grading-feedback" rows={3} value={feedback} onChange={(event) => setFeedback(event.target.value)} />
      <div className="grading-answers">
        <button type="button" className="button button-main" title={why || `whorl runs approve ${item.run}`} disabled={state.isBusy || !may} onClick={() => answer(true)}>
          Yes <kbd>y</kbd>
        </button>
        <button type="button" className="button" title={why || `whorl runs reject ${item.run}`} disabled={state.isBusy || !may} onClick={() => answer(false)}>
          No <kbd>n</kbd>
        </button>
        <button type="button" className="button button-quiet" onClick={onSkip}>
          Skip <kbd>s</kbd>
        </button>
      </div>
      {state.error !== null && <p className="problem">{words.visible(errorWords(state.error).message)}</p>}
    </section>
  );
}
