/** What other stop rules would have given and cost, from the recorded iterations: no call is made. */
import { useState } from "react";
import type { AskedRule, ExperimentDetail } from "../../api";
import { ErrorNotice, errorWords, Loading } from "../../app/Notice";
import { useLoad } from "../../app/session";
import { ScoreCurve } from "../../charts";
import { words } from "../../journal";
import { gradeWords, intervalWords, scoreSource, shownRules, type RuleRow, type Sweep } from "./documents";
import { Frontier } from "./Frontier";

export function WhatIf({ detail }: { detail: ExperimentDetail }) {
  const { name, done, graded } = detail;
  const sweep = useLoad((client) => client.whatIf<Sweep>(name), [name], [done, graded]);
  const [asked, setAsked] = useState<AskedRule | null>(null);
  const answer = useLoad((client) => (asked ? client.whatIf<Sweep>(name, asked) : Promise.resolve(null)), [name, asked]);
  if (sweep.error) return <ErrorNotice error={sweep.error} onRetry={sweep.reload} />;
  if (!sweep.value) return <Loading what="other rules" />;
  const row = asked ? (answer.value?.rules[0] ?? answer.value?.not_ranked[0] ?? null) : null;
  return (
    <div className="what-if">
      <section aria-label="grade by iteration">
        <h2>
          Grade by iteration <span className="faint side-note">loop {words.visible(sweep.value.loop)}, {sweep.value.runs} runs</span>
        </h2>
        <GradeCurve sweep={sweep.value} />
        <ul className="experiment-notes">
          {sweep.value.words.map((line) => (
            <li key={line}>{words.visible(line)}</li>
          ))}
        </ul>
      </section>
      <section aria-label="rules">
        <h2>
          Cost against grade <span className="faint side-note">{sweep.value.rules.length} rules, no call was made</span>
        </h2>
        <Frontier sweep={sweep.value} asked={row} />
        <Asking key={name} sweep={sweep.value} most={Math.max(...Object.values(detail.explore), 1)} onAsk={setAsked} />
        {answer.error !== null && <p className="problem">{words.visible(errorWords(answer.error).message)}</p>}
        {row && <Answer row={row} />}
        <RuleTable sweep={sweep.value} />
        <Recommended sweep={sweep.value} name={name} />
      </section>
    </div>
  );
}

function GradeCurve({ sweep }: { sweep: Sweep }) {
  const names = Object.keys(sweep.curve);
  const [first, ...others] = names;
  const rounded = (name: string) => (sweep.curve[name] ?? []).map((grade) => Math.round(grade * 100) / 100);
  if (first === undefined) return null;
  return (
    <>
      <ScoreCurve scores={rounded(first)} others={others.map((name) => ({ name, scores: rounded(name) }))} width={560} height={170} />
      <table className="figures curve-table">
        <thead>
          <tr>
            <th scope="col">iteration</th>
            {(sweep.curve[first] ?? []).map((_, index) => (
              <th key={index} scope="col">
                {index + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name, index) => (
            <tr key={name}>
              <th scope="row">
                <span aria-hidden="true">{index === 0 ? "──" : "┄┄"}</span> {words.visible(name)}
              </th>
              {(sweep.curve[name] ?? []).map((grade, number) => (
                <td key={number}>{gradeWords(grade)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** A rule of one's own: its point stands in the chart as soon as the answer is there. */
function Asking({ sweep, most, onAsk }: { sweep: Sweep; most: number; onAsk: (rule: AskedRule) => void }) {
  const from = scoreSource(sweep.use);
  const [rule, setRule] = useState({ at_most: most, score: 0.8, returns: "best" });
  const change = (more: Partial<typeof rule>) => {
    const next = { ...rule, ...more };
    setRule(next);
    const until = from ? JSON.stringify({ score: { from, at_least: next.score } }) : "";
    onAsk({ loop: sweep.loop, at_most: next.at_most, returns: next.returns, until });
  };
  return (
    <div className="asking" role="group" aria-label="ask for a rule">
      <strong>What if</strong>
      {from && (
        <label>
          score from <span className="figure">{rule.score.toFixed(2)}</span>
          <input type="range" min="0" max="1" step="0.01" value={rule.score} onChange={(event) => change({ score: Number(event.target.value) })} />
        </label>
      )}
      <label>
        at most <span className="figure">{rule.at_most}</span>
        <input type="range" min="1" max={most} step="1" value={rule.at_most} onChange={(event) => change({ at_most: Number(event.target.value) })} />
      </label>
      <label>
        return{" "}
        <select value={rule.returns} onChange={(event) => change({ returns: event.target.value })}>
          {["last", "best", "first"].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Answer({ row }: { row: RuleRow }) {
  if (row.grade === null || row.unknown > 0) {
    return (
      <p className="faint" role="status">
        <span aria-hidden="true">◌</span> {words.visible(row.rule)}: not known for {row.unknown} runs{row.why ? `: ${words.visible(row.why)}` : ""}
      </p>
    );
  }
  return (
    <p role="status" className="answer">
      <span aria-hidden="true">◎</span> {words.visible(row.rule)}: grade <strong>{gradeWords(row.grade)}</strong> for <strong>{words.dollars(row.cost_usd ?? 0)}</strong> a run, {(row.iterations ?? 0).toFixed(1)} iterations
    </p>
  );
}

function RuleTable({ sweep }: { sweep: Sweep }) {
  return (
    <div className="table-frame" tabIndex={0} role="region" aria-label="rules on the frontier">
      <table className="table experiment-table">
        <thead>
          <tr>
            {["rule", "grade", "cost", "iterations", "to the best"].map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shownRules(sweep).map((row) => (
            <tr key={row.rule}>
              <th scope="row">
                {row.rule === sweep.recommended && <span>★ </span>}
                {row.rule === sweep.own && <span>◆ yours: </span>}
                {words.visible(row.rule)}
              </th>
              <td className="figure">{gradeWords(row.grade)}</td>
              <td className="figure">{words.dollars(row.cost_usd ?? 0)}</td>
              <td className="figure">{(row.iterations ?? 0).toFixed(1)}</td>
              <td className="figure">{row.to_best?.value == null ? "–" : `${row.to_best.value.toFixed(2)} (${intervalWords(row.to_best)})`}</td>
            </tr>
          ))}
          {Object.entries(sweep.ideal).map(([name, ideal]) => (
            <tr key={name} className="faint">
              <th scope="row">{words.visible(name)}</th>
              <td className="figure">{gradeWords(ideal.grade)}</td>
              <td className="figure">{words.dollars(ideal.cost_usd)}</td>
              <td className="figure">{ideal.iterations.toFixed(1)}</td>
              <td />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Recommended({ sweep, name }: { sweep: Sweep; name: string }) {
  return (
    <div className="experiment-notes">
      {sweep.recommended && sweep.honest && (
        <p>
          Recommended: {words.visible(sweep.recommended)}. On cases that it was not chosen with: grade {gradeWords(sweep.honest.grade)}, {words.dollars(sweep.honest.cost_usd)}; chosen {sweep.honest.times} times of {sweep.honest.of}.
        </p>
      )}
      {sweep.use.length > 0 && <pre className="value" tabIndex={0} aria-label="to use it">{words.visible(sweep.use.join("\n"))}</pre>}
      {sweep.not_ranked.length > 0 && <p className="faint">{sweep.not_ranked.length} rules are not known for all runs, so they are not ranked.</p>}
      <p>
        The same in a terminal: <code>whorl what-if {name}</code>
      </p>
    </div>
  );
}
