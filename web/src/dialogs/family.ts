/** The runs that belong together: the one that a run is a fork of, and its own forks. */
import { useMemo } from "react";
import type { Client, IterationItem, RunDetail } from "../api";
import { useLoad } from "../app/session";
import type { Curve } from "../charts";

const FAMILY_MAX = 6;

/** Scores by number, with null where an iteration has none or is missing. */
export function scoresBy(iterations: readonly Pick<IterationItem, "number" | "score">[]): (number | null)[] {
  const last = iterations.reduce((most, one) => Math.max(most, one.number), 0);
  const scores = Array<number | null>(last).fill(null);
  for (const one of iterations) scores[one.number - 1] = one.score;
  return scores;
}

async function curveOf(client: Client, run: string, name: string, loop: string, signal: AbortSignal): Promise<Curve> {
  try {
    const page = await client.iterations(run, loop, 0, 500, signal);
    return { name, scores: scoresBy(page.iterations) };
  } catch {
    // A relative that never came to this loop, or is gone, has no curve.
    return { name, scores: [] };
  }
}

/**
 * The curves of a loop in the run that this one was forked from and in its forks, to be drawn behind
 * its own. They are loaded again when `run.forks` or `run.parent` changes.
 */
export function useFamilyCurves(run: Pick<RunDetail, "parent" | "forks"> | null, loop: string): Curve[] {
  const parent = run?.parent ?? "";
  const forks = (run?.forks ?? []).slice(0, FAMILY_MAX).join(" ");
  const loaded = useLoad(
    (client, signal) => {
      const before = parent ? [curveOf(client, parent, `forked from ${parent}`, loop, signal)] : [];
      return Promise.all([...before, ...forks.split(" ").filter(Boolean).map((id) => curveOf(client, id, `fork ${id}`, loop, signal))]);
    },
    [parent, forks, loop],
  );
  return useMemo(() => (loaded.value ?? []).filter((curve) => curve.scores.length > 0), [loaded.value]);
}
