/** Iteration chips: one for each iteration, or one for several where there are too many. */
import type { Iteration, Outside } from "../journal";

export interface Chip {
  from: number;
  to: number;
  status: string;
  score: number | null;
  outside: Outside | null;
  hasBest: boolean;
  hasReturned: boolean;
  met: boolean;
}

export const CHIPS_MAX = 200;

/** At most `limit` chips; a bucket has the best score inside it, and is as bad as its worst. */
export function chipsOf(iterations: readonly Iteration[], marked: { best: number | null; returned: number | null }, limit = CHIPS_MAX): Chip[] {
  const size = Math.max(1, Math.ceil(iterations.length / limit));
  const chips: Chip[] = [];
  for (let index = 0; index < iterations.length; index += size) {
    const bucket = iterations.slice(index, index + size);
    const first = bucket[0] as Iteration;
    const last = bucket.at(-1) as Iteration;
    const scores = bucket.flatMap((one) => (one.score === null ? [] : [one.score]));
    const has = (number: number | null) => number !== null && first.number <= number && number <= last.number;
    chips.push({
      from: first.number,
      to: last.number,
      status: worst(bucket),
      score: scores.length ? Math.max(...scores) : null,
      outside: bucket.length === 1 ? first.outside : null,
      hasBest: has(marked.best),
      hasReturned: has(marked.returned),
      met: bucket.some((one) => one.met === true),
    });
  }
  return chips;
}

const ORDER = ["failed", "cut", "cancelled", "running", "succeeded"];

function worst(bucket: readonly Iteration[]): string {
  return ORDER.find((status) => bucket.some((one) => one.status === status)) ?? "succeeded";
}
