/** The score curve of a loop: target line, a star at the best, a ring at the chosen iteration. */
import { memo, type MouseEvent } from "react";
import { pointsOf, rangeOf, sample, scale, type Point } from "./sampling";

export interface Curve {
  name: string;
  scores: readonly (number | null)[];
  /** The number of the first score. */
  first?: number;
}

interface ScoreCurveProps {
  scores: readonly (number | null)[];
  target?: number | null;
  best?: number | null;
  chosen?: number | null;
  onChoose?: (number: number) => void;
  /** Other curves behind this one, such as those of forks. */
  others?: readonly Curve[];
  width?: number;
  height?: number;
}

export const POINTS_MAX = 200;
const LABELS_MAX = 12;
// Room for the values at both ends.
const INSET = 14;
const PAD = { left: 30, right: 12, top: 16, bottom: 20 };

export const ScoreCurve = memo(function ScoreCurve(props: ScoreCurveProps) {
  const { scores, target = null, best = null, chosen = null, others = [], width = 330, height = 130 } = props;
  const all = pointsOf(scores);
  const marks = all.filter((point) => point.number === best || point.number === chosen);
  const points = withMarks(sample(all, POINTS_MAX), marks);
  const behind = others.map((curve) => ({ ...curve, points: sample(pointsOf(curve.scores, curve.first), POINTS_MAX) }));
  const shown = [...points, ...behind.flatMap((curve) => curve.points)];
  if (shown.length === 0) return <p className="faint">No scores: this loop is not scored.</p>;
  const values = shown.map((point) => point.score);
  const [low, high] = rangeOf([...values, ...(target === null ? [] : [target])]);
  const range: [number, number] = low >= 0 && high <= 1 ? [0, 1] : [low, high];
  const x = scale(rangeOf(shown.map((point) => point.number), [1, 2]), [PAD.left + INSET, width - PAD.right - INSET]);
  const y = scale(range, [height - PAD.bottom, PAD.top]);
  const labelled = points.length <= LABELS_MAX;
  return (
    <svg className="score-curve" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={told(all, target, best)}>
      <Axis range={range} y={y} width={width} />
      {target !== null && (
        <g className="target">
          <line x1={PAD.left} x2={width - PAD.right} y1={y(target)} y2={y(target)} />
          <text x={PAD.left + 2} y={y(target) - 4}>
            target {short(target)}
          </text>
        </g>
      )}
      {behind.map((curve) => (
        <polyline key={curve.name} className="line other" points={path(curve.points, x, y)}>
          <title>{curve.name}</title>
        </polyline>
      ))}
      <polyline className="line" points={path(points, x, y)} />
      {!labelled && props.onChoose && <Field points={all} x={x} width={width} height={height} onChoose={props.onChoose} />}
      {(labelled ? points : marks).map((point) => (
        <Mark
          key={point.number}
          point={point}
          at={[x(point.number), y(point.score)]}
          isBest={point.number === best}
          isChosen={point.number === chosen}
          isLabelled={labelled}
          onChoose={props.onChoose}
        />
      ))}
    </svg>
  );
});

interface FieldProps {
  points: readonly Point[];
  x: (number: number) => number;
  width: number;
  height: number;
  onChoose: (number: number) => void;
}

/** Where there are too many points for a mark each: a click chooses the nearest. */
function Field({ points, x, width, height, onChoose }: FieldProps) {
  const choose = (event: MouseEvent<SVGRectElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    const nearest = points.reduce((best, point) => (Math.abs(x(point.number) - at) < Math.abs(x(best.number) - at) ? point : best));
    onChoose(nearest.number);
  };
  return <rect className="hit mark-button" x="0" y="0" width={width} height={height} onClick={choose} />;
}

interface MarkProps {
  point: Point;
  at: [number, number];
  isBest: boolean;
  isChosen: boolean;
  isLabelled: boolean;
  onChoose: ((number: number) => void) | undefined;
}

function Mark({ point, at: [x, y], isBest, isChosen, isLabelled, onChoose }: MarkProps) {
  const choose = onChoose && (() => onChoose(point.number));
  return (
    <g className={choose ? "mark mark-button" : "mark"} onClick={choose} data-iteration={point.number}>
      <title>{`iteration ${point.number}: ${point.score.toFixed(3)}${isBest ? " (best)" : ""}`}</title>
      {choose && <circle className="hit" cx={x} cy={y} r="9" />}
      {isChosen && <circle className="ring" cx={x} cy={y} r="6.5" />}
      {isBest ? (
        <text className="star" x={x} y={y + 4.5} textAnchor="middle">
          ★
        </text>
      ) : (
        <circle className="dot" cx={x} cy={y} r={isLabelled ? 3.2 : 1.6} />
      )}
      {isLabelled && (
        <text className="value" x={x} y={y - 8} textAnchor="middle">
          {short(point.score)}
        </text>
      )}
    </g>
  );
}

function Axis({ range, y, width }: { range: [number, number]; y: (value: number) => number; width: number }) {
  const ticks = [range[0], (range[0] + range[1]) / 2, range[1]];
  return (
    <g className="axis">
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={PAD.left} x2={width - PAD.right} y1={y(tick)} y2={y(tick)} />
          <text x={PAD.left - 5} y={y(tick) + 3} textAnchor="end">
            {short(tick)}
          </text>
        </g>
      ))}
    </g>
  );
}

function withMarks(points: Point[], marks: readonly Point[]): Point[] {
  const missing = marks.filter((mark) => !points.some((point) => point.number === mark.number));
  return [...points, ...missing].sort((one, other) => one.number - other.number);
}

function path(points: readonly Point[], x: (n: number) => number, y: (n: number) => number): string {
  return points.map((point) => `${x(point.number).toFixed(1)},${y(point.score).toFixed(1)}`).join(" ");
}

function told(points: readonly Point[], target: number | null, best: number | null): string {
  const last = points.at(-1);
  const top = points.find((point) => point.number === best);
  const parts = [`score over ${points.length} iterations`];
  if (last) parts.push(`last ${short(last.score)}`);
  if (top) parts.push(`best ${short(top.score)} in iteration ${top.number}`);
  if (target !== null) parts.push(`target ${short(target)}`);
  return parts.join(", ");
}

const short = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));
