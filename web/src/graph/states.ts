/** What the canvas shows of each node, for the chosen iterations. */
import type { Graph } from "../api";
import { addressOf, tokensOf, type Chosen, type Iteration, type Journal, type Usage } from "../journal";

export interface CanvasState {
  readonly status: string;
  readonly address: string;
  readonly attempts: number;
  readonly cost_usd: number;
  readonly tokens: number;
  /** For loops: how far they are. */
  readonly number: number;
  readonly limit: number | null;
  readonly exitReason: string | null;
}

export interface LoopChips {
  readonly address: string;
  readonly iterations: readonly Iteration[];
  readonly best: number | null;
  readonly chosen: number | null;
  readonly limit: number | null;
  readonly usage: Usage;
  readonly budget_usd: number | null;
  /** Changes with the iterations, which are one growing array. */
  readonly version: unknown;
}

export type CanvasStates = ReadonlyMap<string, CanvasState>;

const IDLE = { attempts: 0, cost_usd: 0, tokens: 0, number: 0, limit: null, exitReason: null };

export function canvasStates(journal: Journal, graph: Graph, chosen: Chosen): CanvasStates {
  const states = new Map<string, CanvasState>();
  for (const { path, kind } of graph.nodes) {
    const address = addressOf(journal, path, chosen);
    if (kind === "loop") states.set(path, loopState(journal, address));
    else states.set(path, nodeState(journal, address));
  }
  return states;
}

/** What the chips at the foot of each loop show, by the loop's path. */
export function loopChips(journal: Journal, graph: Graph, chosen: Chosen): ReadonlyMap<string, LoopChips> {
  const found = new Map<string, LoopChips>();
  for (const { path, kind } of graph.nodes) {
    const loop = kind === "loop" ? journal.loops.get(addressOf(journal, path, chosen)) : undefined;
    if (!loop) continue;
    found.set(path, {
      address: loop.address,
      iterations: loop.iterations,
      best: loop.best,
      chosen: chosen[loop.address] ?? (loop.number || null),
      limit: loop.limits.iterations ?? null,
      usage: loop.usage,
      budget_usd: loop.limits.cost_usd ?? null,
      version: loop,
    });
  }
  return found;
}

function nodeState(journal: Journal, address: string): CanvasState {
  const node = journal.nodes.get(address);
  if (!node) return { ...IDLE, status: insideOf(journal, address), address };
  const usage = node.attempts.map((attempt) => attempt.usage);
  return {
    ...IDLE,
    status: node.status,
    address,
    attempts: node.attempts.length,
    cost_usd: usage.reduce((sum, one) => sum + one.cost_usd, 0),
    tokens: usage.reduce((sum, one) => sum + tokensOf(one), 0),
  };
}

/** Lists and groups say nothing of themselves: what happens inside them tells. */
function insideOf(journal: Journal, address: string): string {
  for (const place of journal.open) {
    if (place.startsWith(`${address}/`) || place.startsWith(`${address}[`)) return "running";
  }
  return (journal.items.get(address) ?? 0) > 0 ? "finished" : "idle";
}

function loopState(journal: Journal, address: string): CanvasState {
  const loop = journal.loops.get(address);
  if (!loop) return { ...IDLE, status: "idle", address };
  const isOver = loop.status === "finished";
  const hasFailed = loop.exitReason === "failed";
  return {
    ...IDLE,
    status: isOver ? (hasFailed ? "failed" : "finished") : "running",
    address,
    cost_usd: loop.usage.cost_usd,
    tokens: tokensOf(loop.usage),
    number: loop.number,
    limit: loop.limits.iterations ?? null,
    exitReason: loop.exitReason,
  };
}

/** Whether two states show the same. */
export function isSame<T extends object>(one: T | undefined, other: T | undefined): boolean {
  if (one === other) return true;
  if (!one || !other) return false;
  const keys = Object.keys(one) as (keyof T)[];
  return keys.length === Object.keys(other).length && keys.every((key) => Object.is(one[key], other[key]));
}
