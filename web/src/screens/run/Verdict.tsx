/** The verdict on an iteration: each condition, the judge's words and price, what was fed back. */
import { useState } from "react";
import { Link, runPath } from "../../app/router";
import { useJournal, useRunView } from "../../app/run";
import { useLoad, useMay } from "../../app/session";
import { Value } from "../../app/Value";
import { StatusBadge } from "../../charts";
import { openDialog } from "../../dialogs";
import { Facts } from "./Facts";
import { iterationOf, judgesOf, reviewOf, words, type Iteration, type LoopState, type NodeState, type Outside } from "../../journal";

interface VerdictProps {
  id: string;
  loop: LoopState;
  number: number;
}

export function Verdict({ id, loop, number }: VerdictProps) {
  const iteration = iterationOf(loop, number);
  const judges = useJournal((journal) => judgesOf(journal, loop.address, number), [loop.address, number]);
  const { may } = useMay("fork");
  if (!iteration) return null;
  return (
    <section className="side-part" aria-label="verdict">
      <h2>
        Verdict <span className="faint side-note figure">#{number}</span> <Outcome iteration={iteration} isJudging={judges.some((node) => node.status === "running")} />
      </h2>
      {iteration.error && <p className="problem">{words.visible(iteration.error.message)}</p>}
      {iteration.outside && <OutsideNote outside={iteration.outside} />}
      <Facts iteration={iteration} />
      <Review iteration={iteration} loop={loop.address} />
      {judges.map((node) => (
        <Judge key={node.place} id={id} node={node} />
      ))}
      <Carried id={id} loop={loop} number={number} />
      <p className="side-actions">
        {number > (loop.iterations[0]?.number ?? 1) && (
          <Link to={runPath(id, "/diff")} query={{ loop: loop.address, one: number - 1, other: number }}>
            Diff #{number - 1} ↔ #{number}
          </Link>
        )}
        {may && (
          <button type="button" className="link" onClick={() => openDialog({ kind: "fork", run: id, loop: loop.address, iteration: number })}>
            Fork from #{number}
          </button>
        )}
      </p>
    </section>
  );
}

/** What a reviewer said, where no judge gives a reason. */
function Review({ iteration, loop }: { iteration: Iteration; loop: string }) {
  const records = useRunView((view) => view.records);
  const said = iteration.status === "running" || iteration.facts.some((fact) => fact.reason) ? "" : reviewOf(iteration, loop, records);
  return said ? <blockquote className="evidence">{words.visible(said)}</blockquote> : null;
}

function Outcome({ iteration, isJudging }: { iteration: Iteration; isJudging: boolean }) {
  if (isJudging) return <StatusBadge status="judging" />;
  if (iteration.status !== "succeeded") return <StatusBadge status={iteration.status} />;
  if (iteration.met || iteration.approved) {
    return (
      <span className="badge tone-good">
        <span aria-hidden="true">✓</span> {iteration.approved ? "approved" : "met"}
      </span>
    );
  }
  if (iteration.facts.length === 0) return null;
  return (
    <span className="badge tone-idle">
      <span aria-hidden="true">✗</span> not met
    </span>
  );
}

/** A score that does not count, and why. */
export function OutsideNote({ outside }: { outside: Outside }) {
  return (
    <p className="outside">
      <span aria-hidden="true">!</span> Score {words.outsideWords(outside)}: it does not count.
    </p>
  );
}

function Judge({ id, node }: { id: string; node: NodeState }) {
  const [isOpen, setOpen] = useState(false);
  const last = node.attempts.at(-1);
  if (!last) return null;
  const facts = [last.model, words.cost(last.usage), words.tokens(last.usage.input_tokens + last.usage.output_tokens) + " tokens"];
  return (
    <div className="judge">
      <p className="judge-head">
        <span aria-hidden="true">⚖</span> <strong>Judge</strong> <span className="faint figure">{words.visible(facts.filter(Boolean).join(" · "))}</span>
      </p>
      {last.text ? <pre className="value" tabIndex={0}>{words.visible(last.text)}</pre> : <Value run={id} value={last.value} empty={last.error ? last.error.message : "No answer yet."} />}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Judge’s prompt</summary>
        {isOpen && <Value run={id} value={last.inputs} />}
      </details>
    </div>
  );
}

/** What the iteration was given by the one before, fetched when somebody looks. */
function Carried({ id, loop, number }: VerdictProps) {
  const [isOpen, setOpen] = useState(false);
  if (number <= 1) return null;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Fed back into #{number}</summary>
      {isOpen && <CarriedValues id={id} loop={loop.address} number={number} />}
    </details>
  );
}

function CarriedValues({ id, loop, number }: { id: string; loop: string; number: number }) {
  const found = useLoad((client, signal) => client.iteration(id, loop, number, signal), [id, loop, number]);
  if (found.error) return <p className="problem">It cannot be loaded yet.</p>;
  if (!found.value) return <p className="faint">Loading…</p>;
  const carried = found.value.carried;
  return <Value run={id} value={Object.keys(carried).length ? carried : null} empty="Nothing is carried into it." />;
}
