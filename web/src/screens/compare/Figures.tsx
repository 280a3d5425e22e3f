/** Score, cost, tokens and time of two iterations, their verdicts, and what was fed back. */
import type { CompareSide, Comparison } from "../../api";
import { Value } from "../../app/Value";
import { words } from "../../journal";
import { numberChanges, sideName } from "./choices";

interface Row {
  name: string;
  before: number | null;
  after: number | null;
  /** The value in words, told apart from another one where they differ. */
  format: (value: number, against?: number | null) => string;
}

export function Figures({ runs, pair }: { runs: readonly [string, string]; pair: Comparison }) {
  const { one, other } = pair;
  const names = [one, other].map((side, index) => sideName(side.number, runs, index));
  const rows: Row[] = [
    { name: "score", before: one.score, after: other.score, format: (value, against) => words.score(value, against) },
    { name: "cost", before: one.cost_usd, after: other.cost_usd, format: words.dollars },
    { name: "tokens", before: one.tokens, after: other.tokens, format: words.tokens },
    { name: "time", before: one.seconds, after: other.seconds, format: words.duration },
    ...numberChanges(one.results, other.results)
      .filter((change) => change.before !== one.score || change.after !== other.score)
      .map(({ name, before, after }) => ({ name, before, after, format: plain })),
  ];
  const later = runs[0] !== runs[1] || other.number >= one.number ? names[1] : names[0];
  const fed = Object.entries(pair.feedback);
  return (
    <>
      <table className="figures">
        <caption className="sr-only">figures</caption>
        <thead>
          <tr>
            <td />
            {names.map((name, index) => (
              <th key={index} scope="col">
                {name}
              </th>
            ))}
            <th scope="col">
              <span aria-hidden="true">Δ</span>
              <span className="sr-only">difference</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td>{row.before === null ? "–" : row.format(row.before, row.after)}</td>
              <td>{row.after === null ? "–" : row.format(row.after, row.before)}</td>
              <td>{difference(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {[one, other].map((side, index) => (
        <Verdicts key={index} side={side} name={names[index] ?? ""} />
      ))}
      <h2>Given to {later}</h2>
      {fed.length === 0 && <p className="faint">Nothing was carried into this iteration.</p>}
      {fed.map(([name, value]) => (
        <div key={name} className="fed">
          <h3>{name}</h3>
          <Value key={later} run={runs[1]} value={value} />
        </div>
      ))}
    </>
  );
}

/** The signed difference; "" where there is none to tell. */
export function difference({ before, after, format }: Row): string {
  if (before === null || after === null) return "";
  // Differences of decimals must not show as 0.30000000000000004.
  const by = Math.round((after - before) * 1e12) / 1e12;
  const text = format(Math.abs(by), 0);
  if (text === format(0)) return "±0";
  return `${by > 0 ? "+" : "−"}${text}`;
}

const plain = (value: number): string => String(Number(value.toPrecision(12)));

function Verdicts({ side, name }: { side: CompareSide; name: string }) {
  return (
    <>
      <h2>Verdict of {name}</h2>
      {side.verdicts.length === 0 && <p className="faint">No condition was checked.</p>}
      <ul className="verdicts">
        {side.verdicts.map((verdict, index) => (
          <li key={index} className={verdict.met ? "tone-good" : "tone-idle"}>
            <span aria-hidden="true">{verdict.met === null ? "?" : verdict.met ? "✓" : "✗"}</span>
            <span className="sr-only">{verdict.met === null ? "not clear:" : verdict.met ? "met:" : "not met:"}</span> {words.visible(verdict.words || verdict.by)}
          </li>
        ))}
      </ul>
    </>
  );
}
