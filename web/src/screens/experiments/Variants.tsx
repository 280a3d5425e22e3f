/** The variants side by side, and each case under each of them. */
import { useState } from "react";
import type { CaseList, ExperimentDetail, Span } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { Link, runPath } from "../../app/router";
import { useLoad } from "../../app/session";
import { rangeOf, scale } from "../../charts/sampling";
import { quoted } from "../../dialogs/commands";
import { words } from "../../journal";
import { countWords, NOTHING_YET, differenceWords, failureWords, gradeWords, intervalWords, percentWords, perSolvedWords, type Report } from "./documents";
import { Pair } from "./Pair";

const CASES_MAX = 500;

export function Variants({ detail }: { detail: ExperimentDetail }) {
  const { name, done, graded } = detail;
  const report = useLoad((client, signal) => client.report<Report>(name, signal), [name], [done, graded]);
  const cases = useLoad((client, signal) => client.cases(name, signal), [name], [done, graded]);
  if (report.error) return <ErrorNotice error={report.error} onRetry={report.reload} />;
  if (!report.value) return <Loading what="the results" />;
  if (done === 0) return <p className="faint">{report.value.others > 0 ? `No run of it as its files are now has ended. ${othersWords(report.value)}` : NOTHING_YET}</p>;
  return (
    <>
      <VariantTable report={report.value} />
      <Notes report={report.value} detail={detail} />
      {cases.value && <Cases list={cases.value} />}
    </>
  );
}

function VariantTable({ report }: { report: Report }) {
  const variants = Object.values(report.variants);
  const grades = variants.flatMap(({ grade }) => [grade.value, grade.low, grade.high].filter((one) => one != null));
  const range = rangeOf(grades);
  return (
    <div className="table-frame" tabIndex={0} role="region" aria-label="variants">
      <table className="table experiment-table">
        <thead>
          <tr>
            {["variant", report.is_complete ? "grade" : "grade so far", "95 %", "to the baseline", "solved", "cost", "per solved case", "iterations"].map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {variants.map((one) => (
            <tr key={one.name}>
              <th scope="row">
                {words.visible(one.name)}
                {one.name === report.baseline && <span className="faint"> baseline</span>}
              </th>
              <td className="figure">{gradeWords(one.grade.value)}</td>
              <td>
                <IntervalBar span={one.grade} range={range} />
              </td>
              <td>{words.visible(differenceWords(one))}</td>
              <td className="figure">{one.solved === null ? "–" : percentWords(one.solved)}</td>
              <td className="figure" title={intervalWords(one.cost_usd, words.dollars)}>
                {one.unpriced > 0 ? "not known" : one.cost_usd.value === null ? "–" : words.dollars(one.cost_usd.value)}
              </td>
              <td className="figure">{one.unpriced > 0 ? "not known" : one.cases === 0 ? "–" : perSolvedWords(one.per_solved)}</td>
              <td className="figure">{one.cases === 0 ? "–" : one.iterations.toFixed(1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const BAR = { width: 150, height: 18 };

/** The mean with its interval, on one scale for all. */
function IntervalBar({ span, range }: { span: Span; range: [number, number] }) {
  const x = scale(range, [6, BAR.width - 6]);
  const told = intervalWords(span);
  if (span.value === null) return <span className="faint">–</span>;
  return (
    <span className="interval">
      <svg width={BAR.width} height={BAR.height} role="img" aria-label={`${gradeWords(span.value)}${told ? `, 95 %: ${told}` : ""}`}>
        <line className="interval-scale" x1="0" x2={BAR.width} y1="9" y2="9" />
        {span.low != null && span.high != null && <rect x={x(span.low)} y="5" width={Math.max(1, x(span.high) - x(span.low))} height="8" rx="3" />}
        <circle cx={x(span.value)} cy="9" r="4" />
      </svg>
      <span className="figure faint">{told || "too few cases"}</span>
    </span>
  );
}

const othersWords = ({ others }: Report): string => (others === 0 ? "" : `${countWords(others, "run is", "runs are")} of removed cases or variants, or of other versions, and not compared.`);

function Notes({ report, detail }: { report: Report; detail: ExperimentDetail }) {
  const notes = [...failureWords(report), ...report.notes, ...report.left_out, ...report.fewer, ...Object.entries(report.people).map(([name, [graded, of]]) => `${graded} of ${of} graded by a person (${name})`)];
  const [fault] = report.faults;
  return (
    <ul className="experiment-notes">
      {report.extra_usd > 0 && <li>Cost and iterations are those of each variant’s own rule; exploring cost {words.dollars(report.extra_usd)} more.</li>}
      {report.rho !== null && <li>Correlation of the loop’s score with the grade: rho {report.rho.toFixed(2)}.</li>}
      {notes.map((note) => (
        <li key={note}>{words.visible(note)}</li>
      ))}
      {report.others > 0 && <li>{othersWords(report)}</li>}
      {fault !== undefined && (
        <li>
          {countWords(report.faults.length, "grade is", "grades are")} missing: {words.visible(fault)}
        </li>
      )}
      <li>
        The same in a terminal: <code>whorl experiment report {words.visible(quoted(detail.file ?? detail.name))}</code>
      </li>
    </ul>
  );
}

/** A row for each case, the largest differences first; cells lead to the runs. */
function Cases({ list }: { list: CaseList }) {
  const [opened, setOpened] = useState<{ case: string; variant: string } | null>(null);
  const chosen = list.cases.find((one) => one.case === opened?.case);
  return (
    <section aria-label="cases">
      <h2>Cases</h2>
      <div className="table-frame case-frame" tabIndex={0} role="region" aria-label="cases by variant">
        <table className="table experiment-table">
          <thead>
            <tr>
              <th scope="col">case</th>
              {list.variants.map((variant) => (
                <th key={variant} scope="col">
                  {words.visible(variant)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {list.cases.slice(0, CASES_MAX).map((one) => (
              <tr key={one.case}>
                <th scope="row">{words.visible(one.case)}</th>
                {list.variants.map((variant) => (
                  <Cell key={variant} cell={one.cells[variant]} onOpen={variant === list.baseline || !isPair(one, list.baseline, variant) ? null : () => setOpened({ case: one.case, variant })} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {chosen && opened && <Pair one={chosen} baseline={list.baseline} variant={opened.variant} onClose={() => setOpened(null)} />}
      {list.cases.length > CASES_MAX && <p className="faint">and {list.cases.length - CASES_MAX} more</p>}
    </section>
  );
}

/** Whether both have a result that can be shown. */
const isPair = ({ cells }: CaseList["cases"][number], ...names: string[]): boolean => names.every((name) => cells[name]?.trials[0]?.status === "succeeded");

interface CellProps {
  cell: CaseList["cases"][number]["cells"][string] | undefined;
  onOpen: (() => void) | null;
}

function Cell({ cell, onOpen }: CellProps) {
  if (!cell) return <td className="faint">–</td>;
  const share = cell.grade === null ? 0 : Math.round(cell.grade * 5);
  return (
    <td className={`case-cell grade-${share}`}>
      <span className="figure strong">{gradeWords(cell.grade)}</span>{" "}
      {cell.difference ? <span className={cell.difference > 0 ? "gain-up" : "gain-down"}>{`${cell.difference > 0 ? "+" : ""}${cell.difference.toFixed(2)}`}</span> : null}{" "}
      {cell.trials.map((trial) => (
        <Link key={trial.run} to={runPath(trial.run)} title={`${trial.status}, ${trial.cost_usd === null ? "cost not known" : words.dollars(trial.cost_usd)}${trial.error ? `, ${trial.error}` : ""}`}>
          {trial.returned === null || trial.status !== "succeeded" ? trial.status : `#${trial.returned} of ${trial.iterations}`}
        </Link>
      ))}
      {onOpen && (
        <button type="button" className="link" title="both results side by side" onClick={onOpen}>
          compare
        </button>
      )}
    </td>
  );
}
