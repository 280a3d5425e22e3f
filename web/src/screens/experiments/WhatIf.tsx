/** What other stop rules would have given and cost, from the recorded iterations: no call is made. */
import { useMemo, useState } from "react";
import type { ExperimentDetail } from "../../api";
import { ErrorNotice, errorWords, Loading } from "../../app/Notice";
import { useLoad } from "../../app/session";
import { ScoreCurve } from "../../charts";
import { quoted } from "../../dialogs/commands";
import { words } from "../../journal";
import { answerAll, type Facts, type Rule, type RuleAnswer } from "./answering";
import { CaseAnswers } from "./CaseAnswers";
import { costWords, countWords, gradeWords, limitsWords, NOTHING_YET, shownRules, type RuleRow, type Sweep } from "./documents";
import { Frontier } from "./Frontier";
import { RuleEditor } from "./RuleEditor";
import { firstRule } from "./rules";

export function WhatIf({ detail }: { detail: ExperimentDetail }) {
  return detail.done === 0 ? <p className="faint">{NOTHING_YET}</p> : <Rules detail={detail} />;
}

function Rules({ detail }: { detail: ExperimentDetail }) {
  const { name, done, graded } = detail;
  const sweep = useLoad((client) => client.whatIf<Sweep>(name), [name], [done, graded]);
  const facts = useLoad((client, signal) => client.facts<Facts>(name, "", signal), [name], [done, graded]);
  const [asked, setAsked] = useState<Rule | null>(null);
  const answer = useMemo(() => (asked && facts.value ? answerAll(facts.value, asked) : null), [asked, facts.value]);
  if (sweep.error) return <ErrorNotice error={sweep.error} onRetry={sweep.reload} />;
  if (!sweep.value) return <Loading what="other rules" />;
  const choose = (row: RuleRow) => setAsked(row.asked);
  return (
    <div className="what-if">
      <section aria-label="grade by iteration">
        <h2>
          Grade by iteration <span className="faint side-note">loop {words.visible(sweep.value.loop)}, {sweep.value.runs} of {countWords(sweep.value.trials, "trial")}</span>
        </h2>
        <GradeCurve sweep={sweep.value} />
        <ul className="experiment-notes">
          {sweep.value.words.map((line) => (
            <li key={line}>{words.visible(line)}</li>
          ))}
        </ul>
        {answer && <CaseAnswers found={answer} />}
      </section>
      <section aria-label="rules">
        <h2>
          Cost against grade <span className="faint side-note">{sweep.value.rules.length + sweep.value.not_ranked.length} rules, no call was made</span>
        </h2>
        <Frontier sweep={sweep.value} asked={answer} onChoose={choose} />
        {facts.error !== null && <p className="problem">{words.visible(errorWords(facts.error).message)}</p>}
        {facts.value && <RuleEditor key={name} facts={facts.value} rule={asked ?? firstRule(facts.value)} onRule={setAsked} />}
        {answer && <Answer found={answer} />}
        <RuleTable sweep={sweep.value} onChoose={choose} />
        <Recommended sweep={sweep.value} file={detail.file ?? name} />
      </section>
    </div>
  );
}

function GradeCurve({ sweep }: { sweep: Sweep }) {
  const names = Object.keys(sweep.curve);
  const [first, ...others] = names;
  const rounded = (name: string) => (sweep.curve[name] ?? []).map((grade) => (grade === null ? null : Math.round(grade * 100) / 100));
  if (first === undefined) return null;
  return (
    <>
      <ScoreCurve scores={rounded(first)} band={sweep.bands[first]} others={others.map((name) => ({ name, scores: rounded(name), band: name.includes("made") ? undefined : sweep.bands[name] }))} width={560} height={170} />
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
                <td key={number} title={bandWords(sweep.bands[name]?.[number])}>
                  {gradeWords(grade)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const bandWords = (limits: [number, number] | undefined): string => (limits ? `95 %: ${gradeWords(limits[0])} to ${gradeWords(limits[1])}` : "");

function Answer({ found }: { found: RuleAnswer }) {
  if (found.grade === null) {
    return (
      <p className="faint" role="status">
        <span aria-hidden="true">◌</span> {words.visible(found.words)}: not known for {found.unknown} of {found.cases.length} runs{found.why ? `: ${words.visible(found.why)}` : ""}
      </p>
    );
  }
  return (
    <p role="status" className="answer">
      <span aria-hidden="true">◎</span> {words.visible(found.words)}: grade <strong>{gradeWords(found.grade)}</strong> for <strong>{found.cost_usd === null ? "a cost that is not known" : `${words.dollars(found.cost_usd)} a run`}</strong>, {(found.iterations ?? 0).toFixed(1)} iterations
    </p>
  );
}

function RuleTable({ sweep, onChoose }: { sweep: Sweep; onChoose: (row: RuleRow) => void }) {
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
                <button type="button" className="link" title="which iteration each case would have returned" onClick={() => onChoose(row)}>
                  {words.visible(row.rule)}
                </button>
              </th>
              <td className="figure">{gradeWords(row.grade)}</td>
              <td className="figure">{costWords(row.cost_usd)}</td>
              <td className="figure">{(row.iterations ?? 0).toFixed(1)}</td>
              <td className="figure">{row.to_best?.value == null ? "–" : `${row.to_best.value.toFixed(2)}${limitsWords(row.to_best)}`}</td>
            </tr>
          ))}
          {Object.entries(sweep.ideal).map(([name, ideal]) => (
            <tr key={name} className="faint">
              <th scope="row">{words.visible(name)}</th>
              <td className="figure">{gradeWords(ideal.grade)}</td>
              <td className="figure">{costWords(ideal.cost_usd)}</td>
              <td className="figure">{ideal.iterations?.toFixed(1) ?? "–"}</td>
              <td />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Recommended({ sweep, file }: { sweep: Sweep; file: string }) {
  return (
    <div className="experiment-notes">
      {sweep.recommended && sweep.honest && (
        <p>
          Recommended: {words.visible(sweep.recommended)}. On cases that were not used to choose it: grade {gradeWords(sweep.honest.grade)}, {words.dollars(sweep.honest.cost_usd)}; chosen {sweep.honest.times} times of {sweep.honest.of}; {sweep.runs} of {countWords(sweep.trials, "trial")} stand behind it.
        </p>
      )}
      {sweep.not_recommended && <p>{words.visible(sweep.not_recommended)}.</p>}
      {sweep.use.length > 0 && <pre className="value" tabIndex={0} aria-label="to use it">{words.visible(sweep.use.join("\n"))}</pre>}
      {sweep.not_ranked.length > 0 && (
        <p className="faint">
          {sweep.not_ranked.length} rules are not known for all runs, so they are not ranked (hollow points): {words.visible(sweep.not_ranked[0]?.why ?? "")}.
        </p>
      )}
      <p>
        The same in a terminal: <code>whorl experiment what-if {words.visible(quoted(file))}</code>
      </p>
    </div>
  );
}
