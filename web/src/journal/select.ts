/** Questions to a journal that screens ask: pure, and cheap enough for every frame. */
import { iterationAddress, nameOf } from "./address";
import { findIteration } from "./places";
import type { GateState, Iteration, Journal, LoopState, Mark, NodeState, NodeStatus, Outside, RunState } from "./types";
import { tokensOf } from "./usage";
import { endWords } from "./words";

/** Which iteration of each loop is looked at, by the loop's address; where none is, the newest. */
export type Chosen = Readonly<Record<string, number>>;

/** The nodes of an iteration (or of the run, for ""), in order; `deep` goes into loops inside. */
export function nodesIn(journal: Journal, scope: string, deep = false): NodeState[] {
  const found: NodeState[] = [];
  const visit = (address: string): void => {
    const inside = journal.scopes.get(address);
    if (!inside) return;
    for (const place of inside.nodes) {
      const node = journal.nodes.get(place);
      if (node) found.push(node);
    }
    if (!deep) return;
    for (const loop of inside.loops) {
      const count = journal.items.get(loop) ?? 0;
      for (let number = 1; number <= count; number += 1) visit(iterationAddress(loop, number));
    }
  };
  visit(scope);
  return found;
}

/** The nodes of iteration `number` of the loop at an address. */
export function nodesOfIteration(
  journal: Journal,
  loop: string,
  number: number,
  deep = false,
): NodeState[] {
  return nodesIn(journal, iterationAddress(loop, number), deep);
}

/** The judge's calls of an iteration. */
export function judgesOf(journal: Journal, loop: string, number: number): NodeState[] {
  return nodesOfIteration(journal, loop, number).filter((node) => /\/:judge\d*$/.test(node.place));
}

export function iterationOf(loop: LoopState, number: number): Iteration | undefined {
  return findIteration(loop.iterations, number);
}

const WRITTEN_MAX = 240;

/** The end of what the steps of an iteration are writing: `code: def parse(s)…`; "" where nothing is. */
export function writtenIn(journal: Journal, scope: string): string {
  for (const place of [...journal.open].reverse()) {
    const text = place.startsWith(`${scope}/`) ? journal.nodes.get(place)?.attempts.at(-1)?.text : "";
    if (text) return `${nameOf(place)}: ${text.slice(-WRITTEN_MAX)}`;
  }
  return "";
}

/** Whether a fork took the iteration over from the run that it was made of, where it was paid for. */
export function isKept(run: RunState, iteration: Iteration): boolean {
  return run.forkedFrom !== "" && iteration.startedAt < (run.startedAt ?? 0);
}

export function finishedIterations(loop: LoopState): Iteration[] {
  return loop.iterations.filter((one) => one.status !== "running");
}

/** Scores by iteration, with null where one has none. */
export function scoresOf(loop: LoopState): (number | null)[] {
  return loop.iterations.map((one) => one.score);
}

/** Scores that their range does not allow, with the numbers of their iterations. */
export function outsideOf(loop: LoopState): (Outside & { number: number })[] {
  return loop.iterations.flatMap(({ number, outside }) => (outside ? [{ number, ...outside }] : []));
}

export interface Estimate {
  cost_usd: number;
  /** Whether it does not tell all of the cost. */
  unpriced: number;
  tokens: number;
  seconds: number;
}

/** What the next iteration will probably take: the median of those that are finished. */
export function estimateNext(loop: LoopState): Estimate | null {
  const past = finishedIterations(loop);
  if (past.length === 0) return null;
  return {
    cost_usd: median(past.map((one) => one.usage.cost_usd)),
    unpriced: Math.max(...past.map((one) => one.usage.unpriced)),
    tokens: median(past.map((one) => tokensOf(one.usage))),
    seconds: median(past.map((one) => one.seconds ?? 0)),
  };
}

/** How many more iterations the budget of the loop or the run probably allows; null: no budget. */
export function iterationsLeft(journal: Journal, loop: LoopState): number | null {
  const next = estimateNext(loop);
  const rests = [
    [loop.limits.cost_usd, loop.usage.cost_usd],
    [journal.run.limits.cost_usd, journal.run.usage.cost_usd],
  ].flatMap(([limit, used]) => (limit === undefined ? [] : [limit - (used ?? 0)]));
  if (!next || next.cost_usd <= 0 || rests.length === 0) return null;
  return Math.max(0, Math.floor(Math.min(...rests) / next.cost_usd + 1e-9));
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** Gates that wait for an answer, oldest first. */
export function openGates(journal: Journal): GateState[] {
  return [...journal.asking].flatMap((address) => journal.gates.get(address) ?? []);
}

/** Where a node of the workflow is, for the chosen iterations of the loops around it. */
export function addressOf(journal: Journal, path: string, chosen: Chosen = {}): string {
  let address = "";
  const parts = path.split("/");
  parts.forEach((part, index) => {
    address = address ? `${address}/${part}` : part;
    const newest = journal.loops.get(address)?.number ?? journal.items.get(address);
    if (index === parts.length - 1 || newest === undefined) return;
    address = iterationAddress(address, chosen[address] ?? Math.max(1, newest));
  });
  return address;
}

/** The mark of a run that succeeded, as far as its outermost loops tell; a limit comes before a budget. */
export function markOfLoops(journal: Journal): Mark | null {
  const marks = outerLoops(journal).map((loop) => loop.mark);
  return marks.find((mark) => mark === "limit") ?? marks.find((mark) => mark !== null) ?? null;
}

/** The loops of one path: more than one where it runs for each item of a list, or in an outer loop. */
export function siblingsOf(journal: Journal, path: string): LoopState[] {
  const all = [...journal.loops.values()].filter((loop) => loop.path === path);
  // In an outer loop each iteration has one, and the page shows that of the iteration that is looked at.
  const isOfList = (loop: LoopState) => loop.scope !== "" && !journal.loops.has(journal.scopes.get(loop.scope)?.loop ?? "");
  return all.filter(isOfList);
}

/** `30 condition met, 20 budget, 1 running`. */
export function endCounts(loops: readonly LoopState[]): string {
  const counts = new Map<string, number>();
  for (const loop of loops) {
    const end = loop.exitReason ? endWords(loop.exitReason) : "running";
    counts.set(end, (counts.get(end) ?? 0) + 1);
  }
  return [...counts].map(([end, count]) => `${count} ${end}`).join(", ");
}

/** The loops directly inside an iteration (or the run, for ""), in order. */
export function loopsIn(journal: Journal, scope: string): LoopState[] {
  return (journal.scopes.get(scope)?.loops ?? []).flatMap((address) => journal.loops.get(address) ?? []);
}

/** The outermost loops of a run, in order. */
export function outerLoops(journal: Journal): LoopState[] {
  return loopsIn(journal, "");
}

export interface Tally {
  counts: Partial<Record<NodeStatus, number>>;
  total: number;
  cost_usd: number;
  unpriced: number;
  tokens: number;
  seconds: number;
}

/** A node of the workflow over all its iterations: the aggregated view. */
export function tally(journal: Journal, path: string): Tally {
  const sum: Tally = { counts: {}, total: 0, cost_usd: 0, unpriced: 0, tokens: 0, seconds: 0 };
  for (const place of journal.places.get(path) ?? []) {
    const node = journal.nodes.get(place);
    if (!node) continue;
    sum.total += 1;
    sum.counts[node.status] = (sum.counts[node.status] ?? 0) + 1;
    for (const attempt of node.attempts) {
      sum.cost_usd += attempt.usage.cost_usd;
      sum.unpriced += attempt.usage.unpriced;
      sum.tokens += tokensOf(attempt.usage);
      sum.seconds += (attempt.endedAt ?? journal.lastAt) - attempt.startedAt;
    }
  }
  return sum;
}
