/** The score curve of a loop: target, star at the best, ↩ at the returned, ring at the chosen iteration. */
import { memo, type MouseEvent } from "react";
import type { Outside } from "../journal";
import { outsideWords, score as scoreWords } from "../journal/words";
import { pointsOf, rangeOf, sample, scale, type Point } from "./sampling";

export interface Curve {
  name: string;
  scores: readonly (number | null)[];
  /** The number of the first score. */
  first?: number;
  /** Between which limits each mean lies. */
  band?: readonly Limits[] | undefined;
}

type Limits = readonly [low: number, high: number];

type OutsidePoint = Outside & { number: number };

interface ScoreCurveProps {
  scores: readonly (number | null)[];
  target?: number | null;
  best?: number | null;
  returned?: number | null;
  /** Scores that do not count: they are marked at the edge that they lie beyond. */
  outside?: readonly OutsidePoint[];
  chosen?: number | null;
  onChoose?: (number: number) => void;
  band?: readonly Limits[] | undefined;
  /** Other curves behind this one, such as those of forks. */
  others?: readonly Curve[];
  width?: number;
  height?: number;
}

export const POINTS_MAX = 200;
const LABELS_MAX = 12;
// About the width of a digit of a value, and the room between two values.
const DIGIT = 5.6;
const BETWEEN = 4;
// Room for the values at both ends.
const INSET = 14;
const PAD = { left: 30, right: 12, top: 16, bottom: 20 };

export const ScoreCurve = memo(function ScoreCurve(props: ScoreCurveProps) {
  const { scores, target = null, best = null, returned = null, chosen = null, others = [], width = 330, height = 130 } = props;
  const all = pointsOf(scores);
  const marked = [best, returned, chosen];
  const marks = all.filter((point) => marked.includes(point.number));
  const outside = (props.outside ?? []).slice(-POINTS_MAX);
  const points = withMarks(sample(all, POINTS_MAX), marks);
  const behind = others.map((curve) => ({ ...curve, points: sample(pointsOf(curve.scores, curve.first), POINTS_MAX) }));
  const shown = [...points, ...behind.flatMap((curve) => curve.points)];
  if (shown.length + outside.length === 0) return <p className="faint">This loop has no scores.</p>;
  const allowed = shown.length === 0 ? outside.flatMap((one) => [one.low, one.high]) : [];
  const values = [...shown.map((point) => point.score), ...allowed, ...(target === null ? [] : [target])];
  const range: [number, number] = values.every((value) => value >= 0 && value <= 1) ? [0, 1] : rangeOf(values);
  const x = scale(rangeOf([...shown, ...outside].map((point) => point.number), [1, 2]), [PAD.left + INSET, width - PAD.right - INSET]);
  const y = scale(range, [height - PAD.bottom, PAD.top]);
  const labelled = points.length <= LABELS_MAX;
  const labels = new Map(points.map((point) => [point.number, scoreWords(point.score, target)]));
  const hasRoom = points.length * (longest(labels.values()) * DIGIT + BETWEEN) <= width - PAD.left - PAD.right;
  return (
    <svg className="score-curve" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={told(all, outside, target, { best, returned })}>
      <Axis range={range} y={y} width={width} />
      {target !== null && (
        <g className="target">
          <line x1={PAD.left} x2={width - PAD.right} y1={y(target)} y2={y(target)} />
          <text x={PAD.left + 2} y={y(target) + (isNear(points[0], target, y) ? 11 : -4)}>
            target {scoreWords(target)}
          </text>
        </g>
      )}
      {props.band && <polygon className="band" points={around(props.band, x, y)} />}
      {behind.map((curve) => curve.band && <polygon key={curve.name} className="band other" points={around(curve.band, x, y)} />)}
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
          label={labelled && (hasRoom || marked.includes(point.number)) ? (labels.get(point.number) ?? "") : ""}
          isBest={point.number === best}
          isReturned={point.number === returned}
          isChosen={point.number === chosen}
          isLarge={labelled}
          isUnder={target !== null && crosses(y(point.score), y(target))}
          onChoose={props.onChoose}
        />
      ))}
      {outside.map((one) => (
        <Edge key={one.number} point={one} x={x(one.number)} height={height} isChosen={one.number === chosen} onChoose={props.onChoose} />
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
  label: string;
  isBest: boolean;
  isReturned: boolean;
  isChosen: boolean;
  isLarge: boolean;
  /** Whether the value stands under the point, because the target's line runs where it would be. */
  isUnder: boolean;
  onChoose: ((number: number) => void) | undefined;
}

function Mark({ point, at: [x, y], label, isBest, isReturned, isChosen, isLarge, isUnder, onChoose }: MarkProps) {
  const choose = onChoose && (() => onChoose(point.number));
  const marks = [isBest ? " (best)" : "", isReturned ? " (returned)" : ""].join("");
  return (
    <g className={choose ? "mark mark-button" : "mark"} onClick={choose} data-iteration={point.number}>
      <title>{`iteration ${point.number}: ${scoreWords(point.score)}${marks}`}</title>
      {choose && <circle className="hit" cx={x} cy={y} r="9" />}
      {isChosen && <circle className="ring" cx={x} cy={y} r="6.5" />}
      {isBest ? (
        <text className="star" x={x} y={y + 4.5} textAnchor="middle">
          ★
        </text>
      ) : (
        <circle className="dot" cx={x} cy={y} r={isLarge ? 3.2 : 1.6} />
      )}
      {isReturned && (
        <text className="returned" x={x} y={y + (isUnder && label ? 30 : 18)} textAnchor="middle">
          ↩
        </text>
      )}
      {label && (
        <text className="value" x={x} y={y + (isUnder ? 18 : -8)} textAnchor="middle">
          {label}
        </text>
      )}
    </g>
  );
}

interface EdgeProps {
  point: OutsidePoint;
  x: number;
  height: number;
  isChosen: boolean;
  onChoose: ((number: number) => void) | undefined;
}

/** A score outside its range stands at the edge, not on the curve. */
function Edge({ point, x, height, isChosen, onChoose }: EdgeProps) {
  const choose = onChoose && (() => onChoose(point.number));
  const isAbove = point.score > point.high;
  const y = isAbove ? PAD.top - 5 : height - PAD.bottom + 13;
  return (
    <g className={choose ? "mark mark-button" : "mark"} onClick={choose} data-outside={point.number}>
      <title>{`iteration ${point.number}: ${outsideWords(point)}`}</title>
      {choose && <circle className="hit" cx={x} cy={y - 4} r="9" />}
      <text className={isChosen ? "outside is-chosen" : "outside"} x={x} y={y} textAnchor="middle">
        {isAbove ? "▲" : "▼"} {String(point.score)}
      </text>
    </g>
  );
}

function Axis({ range, y, width }: { range: [number, number]; y: (value: number) => number; width: number }) {
  const ticks = [range[0], (range[0] + range[1]) / 2, range[1]];
  const digits = Math.abs(range[1]) >= 100 ? 0 : range[1] - range[0] < 0.05 ? 3 : 2;
  return (
    <g className="axis">
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={PAD.left} x2={width - PAD.right} y1={y(tick)} y2={y(tick)} />
          <text x={PAD.left - 5} y={y(tick) + 3} textAnchor="end">
            {tick.toFixed(digits)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Whether the line of the target runs through the value above a point. */
const crosses = (point: number, target: number): boolean => point - target > 5 && point - target < 19;

/** Whether the first point or its value would stand where the word of the target does. */
const isNear = (first: Point | undefined, target: number, y: (value: number) => number): boolean =>
  first !== undefined && y(target) - y(first.score) >= -2 && y(target) - y(first.score) < 26;

function withMarks(points: Point[], marks: readonly Point[]): Point[] {
  const missing = marks.filter((mark) => !points.some((point) => point.number === mark.number));
  return [...points, ...missing].sort((one, other) => one.number - other.number);
}

function path(points: readonly Point[], x: (n: number) => number, y: (n: number) => number): string {
  return points.map((point) => `${x(point.number).toFixed(1)},${y(point.score).toFixed(1)}`).join(" ");
}

function around(band: readonly Limits[], x: (n: number) => number, y: (n: number) => number): string {
  const places = band.map(([low, high], index) => ({ at: x(index + 1).toFixed(1), low: y(low).toFixed(1), high: y(high).toFixed(1) }));
  return [...places.map((one) => `${one.at},${one.low}`), ...places.toReversed().map((one) => `${one.at},${one.high}`)].join(" ");
}

const longest = (texts: Iterable<string>): number => Math.max(0, ...[...texts].map((text) => text.length));

type Marked = { best: number | null; returned: number | null };

function told(points: readonly Point[], outside: readonly OutsidePoint[], target: number | null, { best, returned }: Marked): string {
  const last = points.at(-1);
  const top = points.find((point) => point.number === best);
  const parts = [`score over ${points.length} iterations`];
  if (last) parts.push(`last ${scoreWords(last.score, target)}`);
  if (top) parts.push(`best ${scoreWords(top.score, target)} in iteration ${top.number}`);
  if (returned !== null) parts.push(`iteration ${returned} returned`);
  if (target !== null) parts.push(`target ${scoreWords(target)}`);
  for (const one of outside.slice(-3)) parts.push(`iteration ${one.number}: ${outsideWords(one)}`);
  return parts.join(", ");
}
