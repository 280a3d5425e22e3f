/** What the canvas shows of each node, for the chosen iterations. */
import type { Graph, RecordItem } from "../api";
import { addressOf, iterationAddress, iterationOf, nodesIn, NO_RECORDS, NOTHING, plus, splitIteration, tokensOf, usageFrom, type Chosen, type Iteration, type IterationStatus, type Journal, type Json, type LoopState, type Records, type Usage } from "../journal";

export interface CanvasState {
  readonly status: string;
  readonly address: string;
  readonly attempts: number;
  readonly tokens: number;
  /** Why it was skipped, or the case that a branch took. */
  readonly note: string;
  /** For loops: how far they are. */
  readonly number: number;
  readonly limit: number | null;
  readonly exitReason: string | null;
  readonly stoppedBy: string | null;
}

export interface LoopChips {
  readonly address: string;
  readonly iterations: readonly Iteration[];
  readonly best: number | null;
  readonly returned: number | null;
  readonly chosen: number | null;
  readonly limit: number | null;
  readonly usage: Usage;
  readonly budget_usd: number | null;
  /** Changes with the iterations, which are one growing array. */
  readonly version: unknown;
}

export type CanvasStates = ReadonlyMap<string, CanvasState>;

const IDLE = { attempts: 0, tokens: 0, note: "", number: 0, limit: null, exitReason: null, stoppedBy: null };

export function canvasStates(journal: Journal, graph: Graph, chosen: Chosen, records: Records = NO_RECORDS): CanvasStates {
  return new Map(
    graph.nodes.map(({ path, kind }) => {
      const address = addressOf(journal, path, chosen);
      const state = kind === "loop" ? loopState(journal, address, records) : nodeState(journal, address, records);
      return [path, state];
    }),
  );
}

/** What the chips at the foot of each loop show, by the loop's path. */
export function loopChips(journal: Journal, graph: Graph, chosen: Chosen, records: Records = NO_RECORDS): ReadonlyMap<string, LoopChips> {
  const found = new Map<string, LoopChips>();
  for (const { path, kind } of graph.nodes) {
    const address = addressOf(journal, path, chosen);
    if (kind === "foreach") {
      const items = itemChips(journal, address, chosen, records);
      if (items) found.set(path, items);
    }
    const loop = kind === "loop" ? journal.loops.get(address) : undefined;
    if (!loop) continue;
    found.set(path, {
      address: loop.address,
      iterations: loop.iterations,
      best: loop.best,
      returned: loop.returned,
      chosen: chosen[loop.address] ?? (loop.number || null),
      limit: loop.limits.iterations ?? null,
      usage: loop.usage,
      budget_usd: loop.limits.cost_usd ?? null,
      version: loop,
    });
  }
  return found;
}

const ITEMS_MAX = 1_000;

/** The items of a list, as far as what happened in them tells. */
function itemChips(journal: Journal, address: string, chosen: Chosen, records: Records): LoopChips | null {
  const count = Math.min(ITEMS_MAX, journal.items.get(address) ?? 0);
  if (count === 0) return null;
  const iterations = Array.from({ length: count }, (_, index) => itemOf(journal, address, index + 1, records));
  const usage = iterations.reduce((sum, one) => plus(sum, one.usage), NOTHING);
  return { address, iterations, best: null, returned: null, chosen: chosen[address] ?? count, limit: null, usage, budget_usd: null, version: records };
}

function itemOf(journal: Journal, list: string, number: number, records: Records): Iteration {
  const address = iterationAddress(list, number);
  const record = records.get(address);
  const told = record ? { status: ITEMS[record.status] ?? "failed", usage: usageFrom(record.usage as Json), startedAt: record.started_at ?? 0, endedAt: record.ended_at, seconds: record.seconds } : fromInside(journal, address);
  return { number, address, ...told, stood: 0, score: null, outside: null, met: null, approved: false, best: false, by: "", facts: [], error: null, seq: 0 };
}

const ITEMS: Record<string, IterationStatus> = { running: "running", waiting: "running", succeeded: "succeeded", skipped: "cancelled", cancelled: "cancelled" };

/** Until its record has come, what happens inside an item tells how it stands. */
function fromInside(journal: Journal, address: string) {
  const nodes = nodesIn(journal, address, true);
  const attempts = nodes.flatMap((node) => node.attempts);
  const isOpen = nodes.some((node) => journal.open.has(node.place));
  const status: IterationStatus = isOpen ? "running" : nodes.some((node) => node.status === "failed") ? "failed" : "succeeded";
  const usage = attempts.reduce((sum, attempt) => plus(sum, attempt.usage), NOTHING);
  return { status, usage, startedAt: Math.min(...attempts.map((attempt) => attempt.startedAt)), endedAt: null, seconds: null };
}

/** Steps with events are told by these, as they come; everything else by its record. */
function nodeState(journal: Journal, address: string, records: Records): CanvasState {
  const node = journal.nodes.get(address);
  const record = records.get(address);
  if (!node) return record ? recordState(record) : { ...IDLE, status: iterationStatus(journal, address) ?? insideOf(journal, address), address };
  const usage = node.attempts.map((attempt) => attempt.usage);
  return {
    ...IDLE,
    status: node.status,
    address,
    attempts: node.attempts.length,
    tokens: usage.reduce((sum, one) => sum + tokensOf(one), 0),
    note: noteOf(record?.why, node.branch || record?.branch),
  };
}

function recordState(record: RecordItem): CanvasState {
  const { address, status, usage, why, branch } = record;
  return { ...IDLE, status, address, tokens: usage.input_tokens + usage.output_tokens, note: untilWords(record) || noteOf(why, branch) };
}

/** When a wait that is under way is over. */
function untilWords({ kind, status, inputs, started_at }: RecordItem): string {
  const seconds = kind === "wait" && status === "running" ? (inputs as { duration?: unknown } | null)?.duration : null;
  return typeof seconds === "number" && started_at !== null ? `until ${new Date((started_at + seconds) * 1_000).toLocaleTimeString()}` : "";
}

const noteOf = (why: string | undefined, branch: string | null | undefined): string => why || (branch ? `case ${branch}` : "");

/** For an iteration that is drawn as a box of its own. */
function iterationStatus(journal: Journal, address: string): string | undefined {
  const split = splitIteration(address);
  const loop = split && journal.loops.get(split.loop);
  return loop ? iterationOf(loop, split.number)?.status : undefined;
}

/** Lists and groups say nothing of themselves: what happens inside them tells. */
function insideOf(journal: Journal, address: string): string {
  for (const place of journal.open) {
    if (place.startsWith(`${address}/`) || place.startsWith(`${address}[`)) return "running";
  }
  return "idle";
}

function loopState(journal: Journal, address: string, records: Records): CanvasState {
  const loop = journal.loops.get(address);
  const record = records.get(address);
  if (!loop) return record ? recordState(record) : { ...IDLE, status: "idle", address };
  return {
    ...IDLE,
    status: loop.status === "finished" ? (ENDS[loop.exitReason ?? ""] ?? (loop.mark ? "exhausted" : "finished")) : openStatus(journal, loop),
    address,
    tokens: tokensOf(loop.usage),
    number: loop.number,
    limit: loop.limits.iterations ?? null,
    exitReason: loop.exitReason,
    stoppedBy: loop.stoppedBy,
  };
}

const ENDS: Record<string, string> = {
  failed: "failed",
  rejected: "failed",
  cancelled: "cancelled",
  max_iterations: "exhausted",
  timeout: "exhausted",
  budget: "exhausted",
};

/** A loop that runs may be with its judge, or wait for a person. */
function openStatus(journal: Journal, loop: LoopState): string {
  const iteration = iterationAddress(loop.address, loop.number);
  if (journal.open.has(`${iteration}/:judge`)) return "judging";
  const isAsking = [...journal.asking].some((address) => address.startsWith(`${iteration}/:`) || address.startsWith(`${loop.address}/:`));
  return isAsking && journal.run.status === "waiting" ? "waiting" : "running";
}

/** Whether two states show the same. */
export function isSame<T extends object>(one: T | undefined, other: T | undefined): boolean {
  if (one === other) return true;
  if (!one || !other) return false;
  const keys = Object.keys(one) as (keyof T)[];
  return keys.length === Object.keys(other).length && keys.every((key) => Object.is(one[key], other[key]));
}
