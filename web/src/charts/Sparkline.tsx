/** The scores of a loop in one word's height. */
import { score as scoreWords } from "../journal/words";
import { pointsOf, rangeOf, sample, scale } from "./sampling";

interface SparklineProps {
  scores: readonly (number | null)[];
  target?: number | null;
  width?: number;
  height?: number;
}

export function Sparkline({ scores, target = null, width = 72, height = 18 }: SparklineProps) {
  const points = sample(pointsOf(scores), Math.max(2, Math.floor(width / 2)));
  const last = points.at(-1);
  if (!last) return <span className="faint">–</span>;
  const goal = target === null ? [] : [target];
  const x = scale(rangeOf(points.map((point) => point.number)), [2, width - 2]);
  const y = scale(rangeOf([...points.map((point) => point.score), ...goal]), [height - 3, 3]);
  const line = points.map((point) => `${round(x(point.number))},${round(y(point.score))}`).join(" ");
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label(points, target)}>
      {target !== null && <line className="target" x1="0" x2={width} y1={round(y(target))} y2={round(y(target))} />}
      <polyline className="line" points={line} />
      <circle className="dot" cx={round(x(last.number))} cy={round(y(last.score))} r="2.2" />
    </svg>
  );
}

function label(points: readonly { score: number }[], target: number | null): string {
  const told = points.slice(-5).map((point) => scoreWords(point.score, target));
  return `scores ${told.join(", ")}${target === null ? "" : `, target ${scoreWords(target)}`}`;
}

const round = (value: number) => Math.round(value * 10) / 10;
