/** What the page of a run looks at: which loop, which iteration, which node. Pure. */
import type { Graph } from "../../api";
import { addressOf, iterationOf, outerLoops, words, type Chosen, type Iteration, type Journal, type LoopState } from "../../journal";

/** The loop of a path where the chosen iterations put it; without one, the outermost that runs or ran last. */
export function loopLookedAt(journal: Journal, path: string, chosen: Chosen): LoopState | undefined {
  const wanted = path ? journal.loops.get(addressOf(journal, path, chosen)) : undefined;
  if (wanted) return wanted;
  const outer = outerLoops(journal);
  // Loops may all lie inside of lists.
  const candidates = outer.length > 0 ? outer : [...journal.loops.values()];
  return candidates.findLast((loop) => loop.status === "running") ?? candidates.at(-1);
}

/** The number of the iteration that is looked at; 0 where none has begun. */
export function numberLookedAt(loop: LoopState, chosen: Chosen): number {
  return chosen[loop.address] ?? loop.number;
}

export function iterationLookedAt(loop: LoopState, chosen: Chosen): Iteration | undefined {
  return iterationOf(loop, numberLookedAt(loop, chosen));
}

/** The number some steps further on, within those that there are; null where that is the same. */
export function stepped(loop: LoopState, chosen: Chosen, step: number): number | null {
  const first = loop.iterations[0]?.number ?? 1;
  const now = numberLookedAt(loop, chosen);
  const next = Math.min(loop.number, Math.max(first, now + step));
  return next === now ? null : next;
}

/** The nodes in the order in which people read them: as the graph gives them, without containers. */
export function readingOrder(graph: Graph): string[] {
  const containers = new Set(graph.nodes.map((node) => node.parent));
  return graph.nodes.filter((node) => !containers.has(node.path)).map((node) => node.path);
}

export function neighbour(order: readonly string[], path: string, step: 1 | -1): string {
  const index = order.indexOf(path);
  if (index < 0) return (step > 0 ? order[0] : order.at(-1)) ?? "";
  return order[index + step] ?? path;
}

/** Which iteration "return another one" means: the one looked at, else the last, else the best. */
export function otherToReturn(loop: LoopState, chosen: Chosen): number | null {
  const candidates = [numberLookedAt(loop, chosen), loop.number, loop.best];
  const isWhole = (number: number) => iterationOf(loop, number)?.status === "succeeded";
  return candidates.find((one): one is number => one !== null && one > 0 && one !== loop.returned && isWhole(one)) ?? null;
}

/** The difference to the score before: of the newest earlier iteration that has one. */
export function gainOf(loop: LoopState, iteration: Iteration): number | null {
  if (iteration.score === null) return null;
  for (let number = iteration.number - 1; number >= (loop.iterations[0]?.number ?? 1); number -= 1) {
    const before = iterationOf(loop, number)?.score ?? null;
    // Differences of decimals must not show as 0.30000000000000004.
    if (before !== null) return Math.round((iteration.score - before) * 1e12) / 1e12;
  }
  return null;
}

export function gainWords(gain: number | null): string {
  if (gain === null) return "";
  if (gain === 0) return "0";
  return `${gain > 0 ? "+" : "−"}${words.score(Math.abs(gain), 0)}`;
}
