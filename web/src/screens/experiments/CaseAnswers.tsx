/** Which iteration each case would have returned under a rule. */
import { Link, runPath } from "../../app/router";
import { words } from "../../journal";
import { isKnown, type CaseAnswer, type RuleAnswer } from "./answering";
import { costWords, gradeWords } from "./documents";

const ROWS_MAX = 500;

export function CaseAnswers({ found }: { found: RuleAnswer }) {
  const rows = found.cases.slice(0, ROWS_MAX);
  return (
    <details className="case-answers" open>
      <summary>Which iteration each case would have returned</summary>
      <div className="table-frame case-frame" tabIndex={0} role="region" aria-label="iterations by case">
        <table className="table experiment-table">
          <thead>
            <tr>
              {["case", "returns", "as it was", "grade", "cost", "ends by"].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <Row key={one.run.run} one={one} />
            ))}
          </tbody>
        </table>
      </div>
      {found.cases.length > ROWS_MAX && <p className="faint">and {found.cases.length - ROWS_MAX} more</p>}
    </details>
  );
}

function Row({ one: { run, answer, grade } }: { one: CaseAnswer }) {
  const was = run.exit_reason === "failed" ? "failed" : run.returned === null ? "–" : `#${run.returned} of ${run.made}`;
  return (
    <tr>
      <th scope="row">
        <Link to={runPath(run.run)}>{words.visible(run.case || run.run)}</Link>
      </th>
      {isKnown(answer) ? (
        <>
          <td className="figure">{answer.returned === null || answer.exit_reason === "failed" ? "–" : `#${answer.returned} of ${answer.iterations}`}</td>
          <td className="figure faint">{was}</td>
          <td className="figure">{gradeWords(grade)}</td>
          <td className="figure">{costWords(run.is_priced ? answer.cost_usd + run.outside_usd : null)}</td>
          <td>{endWords(answer)}</td>
        </>
      ) : (
        <>
          <td className="faint">◌</td>
          <td className="figure faint">{was}</td>
          <td colSpan={3}>not known: {words.visible(answer.why)}</td>
        </>
      )}
    </tr>
  );
}

export const endWords = (answer: { exit_reason: string; stopped_by: string }): string => answer.exit_reason.replaceAll("_", " ") + (answer.stopped_by ? ` (${answer.stopped_by})` : "");
