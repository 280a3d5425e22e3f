/** What another rule would have done in this run: the editor over its own iterations. */
import { useMemo, useState } from "react";
import { errorWords, Loading } from "../../app/Notice";
import { useLoad } from "../../app/session";
import { words, type LoopState } from "../../journal";
import { answerOf, isKnown, ruleWords, type Facts, type Rule } from "../experiments/answering";
import { endWords } from "../experiments/CaseAnswers";
import { RuleEditor } from "../experiments/RuleEditor";
import { firstRule } from "../experiments/rules";

/** Only of loops that have ended, and that no other loop is around. */
export function WhatIfPanel({ id, loop }: { id: string; loop: LoopState }) {
  const [isOpen, setOpen] = useState(false);
  if (loop.status !== "finished" || loop.address.includes("[")) return null;
  return (
    <details className="side-part what-if-panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What if the loop had another rule?</summary>
      {isOpen && <Asking id={id} address={loop.address} />}
    </details>
  );
}

function Asking({ id, address }: { id: string; address: string }) {
  const facts = useLoad((client, signal) => client.runFacts<Facts>(id, address, signal), [id, address]);
  if (facts.error) return <p className="faint">{words.visible(errorWords(facts.error).message)}</p>;
  if (!facts.value) return <Loading what="the facts of its conditions" />;
  return <Panel id={id} facts={facts.value} />;
}

function Panel({ id, facts }: { id: string; facts: Facts }) {
  const [rule, setRule] = useState<Rule>(() => firstRule(facts));
  const run = facts.runs[0];
  const answer = useMemo(() => run && answerOf(facts, run, rule), [facts, run, rule]);
  if (!run || !answer) return <p className="faint">There are no iterations.</p>;
  const isOwnUntil = rule.until === facts.own?.until;
  return (
    <>
      <RuleEditor facts={facts} rule={rule} onRule={setRule} />
      <p role="status" className="answer">
        {isKnown(answer) ? (
          <>
            {words.visible(ruleWords(rule))}: {answer.iterations === 1 ? "1 iteration" : `${answer.iterations} iterations`}, returns <strong>{answer.returned === null ? "nothing" : `#${answer.returned}`}</strong>, {endWords(answer)}, {run.is_priced ? words.dollars(answer.cost_usd) : "cost not known"}
          </>
        ) : (
          <>
            <span aria-hidden="true">◌</span> not known: {words.visible(answer.why)}
          </>
        )}
      </p>
      <p className="faint">
        As it was: {run.made} iterations, returned {run.returned === null ? "nothing" : `#${run.returned}`}. No call is made.
        {isOwnUntil && (
          <>
            {" "}
            <code>
              whorl experiment what-if {id} --at-most {rule.at_most} --return {rule.return}
            </code>
          </>
        )}
      </p>
    </>
  );
}
