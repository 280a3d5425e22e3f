/** Fewer points where there are too many to see: pure, and without losing peaks. */

export interface Point {
  number: number;
  score: number;
}

/** At most `limit` points: of each stretch the lowest and the highest, and always first and last. */
export function sample(points: readonly Point[], limit: number): Point[] {
  if (points.length <= limit) return [...points];
  const inner = points.slice(1, -1);
  const stretches = Math.max(1, Math.floor((limit - 2) / 2));
  const kept = new Set<Point>([points[0] as Point]);
  for (let index = 0; index < stretches; index += 1) {
    const from = Math.floor((index * inner.length) / stretches);
    const to = Math.floor(((index + 1) * inner.length) / stretches);
    const stretch = inner.slice(from, to);
    const low = extreme(stretch, (one, other) => one.score < other.score);
    const high = extreme(stretch, (one, other) => one.score > other.score);
    for (const point of stretch) if (point === low || point === high) kept.add(point);
  }
  kept.add(points.at(-1) as Point);
  return [...kept];
}

function extreme(points: readonly Point[], isBetter: (one: Point, other: Point) => boolean) {
  return points.reduce<Point | undefined>(
    (best, point) => (best === undefined || isBetter(point, best) ? point : best),
    undefined,
  );
}

/** The numbers that have a score, as points; iterations count from `first`. */
export function pointsOf(scores: readonly (number | null)[], first = 1): Point[] {
  return scores.flatMap((score, index) => (score === null ? [] : [{ number: first + index, score }]));
}

/** A range that holds all values and is never empty. */
export function rangeOf(values: readonly number[], fallback: [number, number] = [0, 1]): [number, number] {
  if (values.length === 0) return fallback;
  const [low, high] = values.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Infinity, -Infinity],
  );
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

export const scale = (from: [number, number], to: [number, number]) => (value: number) =>
  to[0] + ((value - from[0]) / (from[1] - from[0])) * (to[1] - to[0]);
