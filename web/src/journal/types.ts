/** What the page knows of a run: the state that the reducer builds from journal events. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** One line of a journal, as `whorl run --events` prints it. */
export interface JournalEvent {
  seq: number | null;
  kind: string;
  address: string;
  at?: number;
  body?: Record<string, Json>;
  text?: string;
}

export interface Usage {
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  in_doubt: number;
  /** What was reserved for the calls in doubt; part of the cost. */
  doubt_usd: number;
  /** Calls whose price is not known; they are not in the cost. */
  unpriced: number;
}

export type RunStatus =
  | "running"
  | "succeeded"
  | "failed"
  | "waiting"
  | "paused"
  | "interrupted"
  | "cancelled";

export type NodeStatus =
  | "running"
  | "retrying"
  | "waiting"
  | "succeeded"
  | "failed"
  | "timed_out"
  | "skipped"
  | "cancelled"
  | "in_doubt";

export interface Fault {
  code: string;
  message: string;
  path?: string;
  cause?: Json;
}

/** One try of a node; `inputs` and `value` may be references to stored values. */
export interface Attempt {
  readonly address: string;
  readonly number: number;
  readonly status: NodeStatus;
  readonly kind: string;
  readonly model: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly inputs: Json;
  readonly value: Json;
  readonly usage: Usage;
  readonly reserve: Usage;
  readonly error: Fault | null;
  /** What has been streamed so far; empty once the value is there. */
  readonly text: string;
  readonly seq: number;
}

/** A node at its place, with all attempts; a new object whenever anything of it changes. */
export interface NodeState {
  readonly place: string;
  readonly path: string;
  readonly name: string;
  readonly scope: string;
  readonly status: NodeStatus;
  readonly branch: string;
  readonly attempts: readonly Attempt[];
}

/** One condition of a loop as it stood at the end of an iteration. */
export interface Fact {
  by: string;
  met: boolean | null;
  score?: number | null;
  at_least?: number;
  answer?: string;
  question?: string;
  expression?: string;
  similarity?: number;
  stale?: number;
  branch?: string;
  /** Why a judge decided so, and the words that it quotes for it. */
  reason?: string;
  evidence?: string;
  [name: string]: Json | undefined;
}

/** A score that its range does not allow: it counts for nothing, and is shown as what it is. */
export interface Outside {
  readonly score: number;
  readonly low: number;
  readonly high: number;
}

/** What ended a loop, or a run that succeeded, before its goal was met. */
export type Mark = "limit" | "budget" | "warning";

export type IterationStatus = "running" | "succeeded" | "failed" | "cut" | "cancelled";

export interface Iteration {
  readonly number: number;
  readonly address: string;
  readonly status: IterationStatus;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** How long it has worked: without the time between an end and the run's going on with it. */
  readonly seconds: number | null;
  /** How much of the time since it began was not worked. */
  readonly stood: number;
  readonly score: number | null;
  readonly outside: Outside | null;
  readonly met: boolean | null;
  /** Whether it met what approves, and not only what ends the loop. */
  readonly approved: boolean;
  /** Whether it was the best so far when it ended. */
  readonly best: boolean;
  readonly by: string;
  readonly facts: readonly Fact[];
  readonly usage: Usage;
  readonly error: Fault | null;
  readonly seq: number;
}

export interface Limits {
  iterations?: number;
  time_s?: number;
  iteration_time_s?: number;
  cost_usd?: number;
  tokens?: number;
}

/**
 * A loop at its place. A new object whenever anything of it changes, except that `iterations` is
 * one growing array shared by all of them: compare loops by identity, never the arrays.
 */
export interface LoopState {
  readonly address: string;
  readonly path: string;
  readonly scope: string;
  readonly limits: Limits;
  readonly target: number | null;
  readonly status: "running" | "finished";
  readonly iterations: readonly Iteration[];
  /** The number of the newest iteration that has begun. */
  readonly number: number;
  readonly score: number | null;
  /** The best iteration: as the loop told at its end, and until then the best so far. */
  readonly best: number | null;
  /** The iteration whose result the loop has given; null while it goes on. */
  readonly returned: number | null;
  /** Up to which iteration it was explored after its rule had ended it. */
  readonly explored: number | null;
  readonly failed: readonly number[];
  readonly exitReason: string | null;
  readonly stoppedBy: string | null;
  readonly mark: Mark | null;
  /** Whether a person made something else of its result. */
  readonly isEdited: boolean;
  /** Whether it ends after the iteration that is under way, because a person wants it. */
  readonly isStopping: boolean;
  /** Whether a person ended it without choosing an iteration. */
  readonly isStopped: boolean;
  readonly usage: Usage;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** A question to a person. The same address may ask again: `seq` tells the questions apart. */
export interface GateState {
  readonly address: string;
  readonly seq: number;
  readonly reason: string;
  readonly message: string;
  readonly show: Json;
  readonly since: number;
  readonly decided: { approved: boolean; feedback: string; by: string; at: number; isEdited: boolean } | null;
  /** Why it needs no answer any more, although nobody has given one; "" while it does. */
  readonly gone: string;
}

export interface Warned {
  readonly code: string;
  readonly message: string;
  readonly address: string;
  readonly seq: number;
}

export interface RunState {
  readonly id: string;
  readonly status: RunStatus;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly input: Json;
  readonly output: Json;
  readonly outputs: Json;
  readonly limits: Limits;
  readonly usage: Usage;
  /** What the running calls may still cost; part of the budget until they are settled. */
  readonly reserved: Usage;
  readonly error: Fault | null;
  readonly pausedFor: string;
  readonly forkedFrom: string;
  /** When it last went on after it had ended, or a loop of it. */
  readonly wentOnAt: number;
}

/** Where things happen: the run ("") or one iteration of a loop or item of a list. */
export interface Scope {
  readonly address: string;
  readonly parent: string | null;
  readonly loop: string;
  readonly number: number;
  /** Places of the nodes directly inside, in order of appearance. */
  readonly nodes: string[];
  /** Addresses of the loops and lists directly inside, in order of appearance. */
  readonly loops: string[];
}

/** The whole state; its maps are mutable and `version` tells that something has changed. */
export interface Journal {
  version: number;
  lastSeq: number;
  lastAt: number;
  run: RunState;
  readonly nodes: Map<string, NodeState>;
  readonly loops: Map<string, LoopState>;
  readonly gates: Map<string, GateState>;
  /** Addresses of the gates that wait for an answer, oldest first. */
  readonly asking: Set<string>;
  readonly warnings: Warned[];
  readonly scopes: Map<string, Scope>;
  /** How many items of a list (for-each) have been seen, by the list's address. */
  readonly items: Map<string, number>;
  /** All places of a path, in order of appearance: what "aggregated" sums up. */
  readonly places: Map<string, string[]>;
  /** Places of nodes that have begun and not ended. */
  readonly open: Set<string>;
}
