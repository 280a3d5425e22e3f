/** How far a judge, of a loop or of a grader, can be trusted. */
import { useState } from "react";
import type { ExperimentDetail } from "../../api";
import { errorWords, Loading } from "../../app/Notice";
import { Link, runPath } from "../../app/router";
import { useLoad } from "../../app/session";
import { quoted } from "../../dialogs/commands";
import { words } from "../../journal";
import { costWords, countWords, gradeWords, limitsWords, NOTHING_YET, percentWords, type JudgeReport } from "./documents";

export function Judge({ detail }: { detail: ExperimentDetail }) {
  const judges = [...detail.loops, ...detail.graders.filter((one) => one.kind === "judge").map((one) => one.name)];
  const [of, setOf] = useState(judges[0] ?? "");
  const labels = detail.graders.map((one) => one.name).filter((name) => name !== of);
  const [wanted, setAgainst] = useState("");
  const against = labels.includes(wanted) ? wanted : (labels[0] ?? "");
  if (detail.done === 0) return <p className="faint">{NOTHING_YET}</p>;
  if (!against) return <p className="faint">A judge is compared with the grades of another grader: this experiment has none.</p>;
  return (
    <section className="judge-tab" aria-label="judge">
      <div className="toolbar">
        <label className="picker">
          Judge of
          <select value={of} onChange={(event) => setOf(event.target.value)}>
            {judges.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label className="picker">
          against
          <select value={against} onChange={(event) => setAgainst(event.target.value)}>
            {labels.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </div>
      <Reliability key={`${of} ${against}`} detail={detail} of={of} against={against} />
    </section>
  );
}

function Reliability({ detail: { name, file }, of, against }: { detail: ExperimentDetail; of: string; against: string }) {
  const found = useLoad((client, signal) => client.judge<JudgeReport>(name, { of, against }, signal), [name, of, against]);
  if (found.error) {
    const { message, help } = errorWords(found.error);
    return (
      <p>
        {words.visible(message)} <span className="faint">{words.visible(help)}</span>
      </p>
    );
  }
  if (!found.value) return <Loading what="the judge" />;
  const judge = found.value;
  const [wrongYes, allNo] = judge.wrong_yes;
  const [wrongNo, allYes] = judge.wrong_no;
  return (
    <>
      <p>
        “{words.visible(judge.question)}”: {countWords(judge.results, "result")} of {countWords(judge.cases, "case")} that have a label, each verdict by {countWords(judge.verdict_votes, "vote")}.
      </p>
      <ul className="experiment-notes">
        <li>
          It agrees in {judge.agreed} of {countWords(judge.results, "result")}, <strong>{percentWords(judge.accuracy.value ?? 0)}</strong>
          {limitsWords(judge.accuracy, (share) => percentWords(Math.min(1, Math.max(0, share))))}; always saying {judge.usual_label ? "yes" : "no"} would agree in {Math.round(judge.usual * judge.results)}, {percentWords(judge.usual)}.
        </li>
        <li>
          Kappa{judge.kappa?.value == null ? "" : ` ${gradeWords(judge.kappa.value)}${limitsWords(judge.kappa)}`}: {words.visible(judge.words)}
        </li>
        {judge.notes.map((note) => (
          <li key={note}>{words.visible(note)}</li>
        ))}
        {judge.unclear > 0 && <li>{judge.unclear} of {countWords(judge.results, "result")} have unclear answers, which count as no.</li>}
        {judge.voted && (
          <li>
            The votes differ in {judge.voted.differing} of {countWords(judge.voted.results, "result")} with {judge.voted.votes} votes, {percentWords(judge.not_unanimous ?? 0)}.
          </li>
        )}
      </ul>
      <table className="figures judge-table">
        <caption>What it said, and what the label says</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">judge: yes</th>
            <th scope="col">judge: no</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">label: yes</th>
            <td>{allYes - wrongNo}</td>
            <td>
              {wrongNo} <span className="faint">runs an extra iteration</span>
            </td>
          </tr>
          <tr>
            <th scope="row">label: no</th>
            <td>
              {wrongYes} <span className="faint">stops too early</span>
            </td>
            <td>{allNo - wrongYes}</td>
          </tr>
        </tbody>
      </table>
      {Object.keys(judge.votes).length > 0 && (
        <table className="figures judge-table">
          <caption>{judge.voted ? `Fewer of the ${judge.voted.votes} votes, over ${countWords(judge.voted.results, "result")}` : "Fewer votes"}</caption>
          <thead>
            <tr>
              <th scope="col">votes</th>
              <th scope="col">accuracy</th>
              <th scope="col">calls a verdict</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(judge.votes).map(([votes, [accuracy, calls]]) => (
              <tr key={votes}>
                <th scope="row">{votes}</th>
                <td>{percentWords(accuracy)}</td>
                <td>{calls.toFixed(1)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Effect judge={judge} />
      <Disagreements judge={judge} />
      <p className="experiment-notes">
        The same in a terminal: <code>{words.visible(`whorl experiment judge ${quoted(file ?? name)} ${quoted(of)} --against ${quoted(against)}`)}</code>
      </p>
    </>
  );
}

/** What the judge costs its loop: more or fewer votes, and one that is always right. */
function Effect({ judge }: { judge: JudgeReport }) {
  const rows = Object.entries(judge.loop);
  if (rows.length === 0) return null;
  return (
    <table className="figures judge-table">
      <caption>The loop over {countWords(judge.loop_runs, "run")} with</caption>
      <thead>
        <tr>
          <td />
          <th scope="col">grade</th>
          <th scope="col">cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, [grade, cost]]) => (
          <tr key={name}>
            <th scope="row">{/^[0-9]+$/.test(name) ? `${name} ${name === "1" ? "vote" : "votes"}` : name}</th>
            <td>{gradeWords(grade)}</td>
            <td>{costWords(cost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Where the judge and the label differ, with the judge's words. */
function Disagreements({ judge }: { judge: JudgeReport }) {
  if (judge.disagreements.length === 0) return null;
  return (
    <section aria-label="where they differ">
      <h2>Where they differ</h2>
      <ul className="disagreements">
        {judge.disagreements.map((one) => (
          <li key={`${one.run} ${one.iteration}`}>
            <Link to={runPath(one.run)}>{words.visible(one.case)}</Link>
            {one.iteration !== null && ` #${one.iteration}`}: the judge says <strong>{one.verdict ? "yes" : "no"}</strong>, the label <strong>{one.label ? "yes" : "no"}</strong>
            {one.words.map((said, index) => (
              <blockquote key={index}>{words.visible(said)}</blockquote>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}
