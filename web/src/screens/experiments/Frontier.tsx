/** Cost against grade: every rule a point, the frontier a line, yours, the recommended and the asked one marked. */
import { rangeOf, scale } from "../../charts/sampling";
import { words } from "../../journal";
import type { RuleAnswer } from "./answering";
import { gradeWords, type RuleRow, type Sweep } from "./documents";

const [WIDTH, HEIGHT] = [640, 300];
const PAD = { left: 44, right: 16, top: 14, bottom: 34 };

interface Placed {
  rule: string;
  grade: number;
  cost_usd: number;
}

type Known = RuleRow & Placed;

const isKnown = (row: RuleRow): row is Known => row.grade !== null && row.cost_usd !== null;

/** Where a rule that not all runs answer may lie: between its bounds, for what the known runs cost. */
const hollow = (row: RuleRow): (Placed & { row: RuleRow })[] =>
  row.cost_usd === null || !row.bounds ? [] : [{ row, rule: row.rule, cost_usd: row.cost_usd, grade: (row.bounds[0] + row.bounds[1]) / 2 }];

interface FrontierProps {
  sweep: Sweep;
  asked: RuleAnswer | null;
  onChoose: (row: RuleRow) => void;
}

export function Frontier({ sweep, asked, onChoose }: FrontierProps) {
  const rows = sweep.rules.filter(isKnown);
  const unknown = sweep.not_ranked.flatMap(hollow);
  const tried: Placed | null = asked && asked.grade !== null && asked.cost_usd !== null ? { rule: asked.words, grade: asked.grade, cost_usd: asked.cost_usd } : null;
  const all: Placed[] = [...rows, ...unknown, ...(tried ? [tried] : [])];
  if (all.length === 0) return <p className="faint">{sweep.rules.length > 0 ? "There is no picture, since the cost of these runs is not known: a model has no price." : "No rule is known for all runs."}</p>;
  const x = scale(rangeOf([0, ...all.map((row) => row.cost_usd)]), [PAD.left, WIDTH - PAD.right]);
  const isFlat = new Set(all.map((row) => row.grade)).size < 2;
  // A grade lies between 0 and 1.
  const grades: [number, number] = isFlat ? [0, 1] : rangeOf(all.map((row) => row.grade));
  const y = scale(grades, [HEIGHT - PAD.bottom, PAD.top]);
  const frontier = rows.filter((row) => row.is_frontier).sort((one, other) => one.cost_usd - other.cost_usd);
  const own = rows.find((row) => row.rule === sweep.own);
  const best = rows.find((row) => row.rule === sweep.recommended);
  const told = [`grade against cost of ${rows.length} rules`, unknown.length > 0 ? `${unknown.length} not known for all runs` : "", own ? `yours ${gradeWords(own.grade)} for ${words.dollars(own.cost_usd)}` : "", best ? `recommended ${gradeWords(best.grade)} for ${words.dollars(best.cost_usd)}` : ""];
  const most = Math.max(...all.map((row) => row.cost_usd));
  return (
    <svg className="frontier" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={told.filter(Boolean).join(", ")}>
      {[grades[0], (grades[0] + grades[1]) / 2, grades[1]].map((tick) => (
        <g key={tick} className="axis">
          <line x1={PAD.left} x2={WIDTH - PAD.right} y1={y(tick)} y2={y(tick)} />
          <text x={PAD.left - 6} y={y(tick) + 3} textAnchor="end">
            {tick.toFixed(2)}
          </text>
        </g>
      ))}
      {[0, most / 2, most].map((tick) => (
        <text key={tick} x={x(tick)} y={HEIGHT - 18} textAnchor={tick === most ? "end" : "middle"}>
          {words.dollars(tick)}
        </text>
      ))}
      <text x={WIDTH - PAD.right} y={HEIGHT - 4} textAnchor="end">
        dollars a run
      </text>
      <polyline className="frontier-line" points={frontier.map((row) => `${x(row.cost_usd).toFixed(1)},${y(row.grade).toFixed(1)}`).join(" ")} />
      {unknown.map(({ row, ...place }, index) => (
        <circle key={`hollow ${index}`} className="rule is-hollow rule-choice" cx={x(place.cost_usd)} cy={y(place.grade)} r="3" onClick={() => onChoose(row)}>
          <title>{`${row.rule}: not known for ${row.unknown} of ${sweep.runs} runs: ${row.why}; grade ${gradeWords(row.bounds?.[0])} to ${gradeWords(row.bounds?.[1])} for at least ${words.dollars(place.cost_usd)}`}</title>
        </circle>
      ))}
      {[...rows.filter((row) => !row.is_frontier), ...frontier].map((row, index) => (
        <circle key={index} onClick={() => onChoose(row)} className={row.is_frontier ? "rule is-frontier rule-choice" : "rule rule-choice"} cx={x(row.cost_usd)} cy={y(row.grade)} r={row.is_frontier ? 3.6 : 2.4}>
          <title>{`${row.rule}: ${gradeWords(row.grade)} for ${words.dollars(row.cost_usd)}`}</title>
        </circle>
      ))}
      {own && <Mark row={own} glyph="◆" name="yours" at={[x(own.cost_usd), y(own.grade)]} />}
      {best && <Mark row={best} glyph="★" name="recommended" at={[x(best.cost_usd), y(best.grade)]} />}
      {tried && <Mark row={tried} glyph="◎" name="asked" at={[x(tried.cost_usd), y(tried.grade)]} />}
    </svg>
  );
}

function Mark({ row, glyph, name, at: [x, y] }: { row: Placed; glyph: string; name: string; at: [number, number] }) {
  const isRight = x > WIDTH - 120;
  return (
    <g className={`rule-mark rule-${name}`}>
      <title>{`${name}: ${row.rule}`}</title>
      <text x={x} y={y + 5} textAnchor="middle" className="rule-glyph">
        {glyph}
      </text>
      <text x={isRight ? x - 10 : x + 10} y={y + (name === "asked" ? 16 : -6)} textAnchor={isRight ? "end" : "start"}>
        {name}
      </text>
    </g>
  );
}
