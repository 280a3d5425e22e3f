/** Which iteration of a loop is the best one, and which one it has returned. */
import type { Client, IterationItem, LoopItem } from "../api";

export interface Marked {
  best: number | null;
  returned: number | null;
}

/** As the loop told at its end; while it goes on, the newest that was the best so far. */
export function markedOf(
  loop: Pick<LoopItem, "state" | "best_iteration" | "returned_iteration"> | undefined,
  iterations: readonly Pick<IterationItem, "number" | "best">[],
): Marked {
  if (loop?.state === "finished") return { best: loop.best_iteration, returned: loop.returned_iteration };
  return { best: iterations.findLast((one) => one.best)?.number ?? null, returned: null };
}

const ITERATIONS_MAX = 500;

/** The iterations of a loop that can be chosen, and the marks of two of them. */
export async function loadChoices(client: Client, run: string, loop: string, signal: AbortSignal) {
  const [page, all] = await Promise.all([client.iterations(run, loop, 0, ITERATIONS_MAX, signal), client.loops(run, signal)]);
  const { iterations } = page;
  return { iterations, marked: markedOf(all.loops.find((one) => one.address === loop), iterations) };
}
