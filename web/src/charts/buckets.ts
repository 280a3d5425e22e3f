/** Iteration chips: one for each iteration, or one for several where there are too many. */
import type { Iteration } from "../journal";

export interface Chip {
  from: number;
  to: number;
  status: string;
  score: number | null;
  hasBest: boolean;
  met: boolean;
}

export const CHIPS_MAX = 200;

/** At most `limit` chips; a bucket has the best score inside it, and is as bad as its worst. */
export function chipsOf(iterations: readonly Iteration[], best: number | null, limit = CHIPS_MAX): Chip[] {
  const size = Math.max(1, Math.ceil(iterations.length / limit));
  const chips: Chip[] = [];
  for (let index = 0; index < iterations.length; index += size) {
    const bucket = iterations.slice(index, index + size);
    const first = bucket[0] as Iteration;
    const last = bucket.at(-1) as Iteration;
    const scores = bucket.flatMap((one) => (one.score === null ? [] : [one.score]));
    chips.push({
      from: first.number,
      to: last.number,
      status: worst(bucket),
      score: scores.length ? Math.max(...scores) : null,
      hasBest: best !== null && first.number <= best && best <= last.number,
      met: bucket.some((one) => one.met === true),
    });
  }
  return chips;
}

const ORDER = ["failed", "cut", "cancelled", "running", "succeeded"];

function worst(bucket: readonly Iteration[]): string {
  return ORDER.find((status) => bucket.some((one) => one.status === status)) ?? "succeeded";
}
