/** Where things happen: the index of nodes, scopes and loops, and the small steps all changes share. */
import { nameOf, pathOf, placeOf, scopeOf, splitIteration } from "./address";
import type { Attempt, Fault, Iteration, Journal, Json, NodeState, RunState, Scope, Usage } from "./types";
import { isObject, NOTHING, plus } from "./usage";

/** An event that stands in the journal. */
export interface FullEvent {
  seq: number;
  kind: string;
  address: string;
  at: number;
  body: Record<string, Json>;
}

export type Change = (journal: Journal, event: FullEvent) => void;

export function changeRun(journal: Journal, changes: Partial<RunState>): void {
  journal.run = { ...journal.run, ...changes };
}

/** The scope at an address; one that is new is entered into the scopes around it. */
export function scopeAt(journal: Journal, address: string): Scope {
  const known = journal.scopes.get(address);
  if (known) return known;
  const split = splitIteration(address) ?? { loop: address, number: 0 };
  const parent = scopeAt(journal, scopeOf(split.loop));
  const scope: Scope = { address, parent: parent.address, ...split, nodes: [], loops: [] };
  journal.scopes.set(address, scope);
  noteLoop(journal, parent, split.loop);
  const items = journal.items.get(split.loop) ?? 0;
  if (split.number > items) journal.items.set(split.loop, split.number);
  return scope;
}

/** Enters a loop or list into the scope it stands in. */
export function noteLoop(journal: Journal, scope: Scope, loop: string): void {
  if (journal.items.has(loop)) return;
  journal.items.set(loop, 0);
  scope.loops.push(loop);
}

/** The node at an address, or a new one that has no attempts yet. */
export function nodeAt(journal: Journal, address: string): NodeState {
  const place = placeOf(address);
  const known = journal.nodes.get(place);
  if (known) return known;
  const path = pathOf(place);
  const scope = scopeAt(journal, scopeOf(place));
  scope.nodes.push(place);
  const places = journal.places.get(path);
  if (places) places.push(place);
  else journal.places.set(path, [place]);
  return {
    place,
    path,
    name: nameOf(place),
    scope: scope.address,
    status: "running",
    branch: "",
    attempts: [],
  };
}

/** Puts a node's newest state down; its status is that of its newest attempt. */
export function putNode(journal: Journal, node: NodeState): void {
  journal.nodes.set(node.place, node);
  const isOpen = node.status === "running" || node.status === "retrying" || node.status === "waiting";
  if (isOpen) journal.open.add(node.place);
  else journal.open.delete(node.place);
}

/** Changes the newest attempt of a node, or the one at this very address. */
export function changeAttempt(
  journal: Journal,
  address: string,
  changes: Partial<Attempt>,
): Attempt | null {
  const node = journal.nodes.get(placeOf(address));
  const index = node ? node.attempts.findLastIndex((one) => one.address === address) : -1;
  const before = node?.attempts[index];
  if (!node || !before) return null;
  const after = { ...before, ...changes };
  const attempts = node.attempts.with(index, after);
  putNode(journal, { ...node, status: attempts.at(-1)?.status ?? node.status, attempts });
  return after;
}

/** A call has ended or is given up: what was set aside for it is free again. */
export function settle(journal: Journal, address: string): void {
  const before = changeAttempt(journal, address, {});
  if (!before) return;
  changeRun(journal, { reserved: plus(journal.run.reserved, before.reserve, -1) });
  changeAttempt(journal, address, { reserve: NOTHING });
}

/** Whatever still runs inside an iteration (or, for "", in the run) has ended without a result. */
export function cancelOpen(journal: Journal, scope: string, at: number): void {
  for (const place of [...journal.open]) {
    if (scope && !place.startsWith(`${scope}/`)) continue;
    const last = journal.nodes.get(place)?.attempts.at(-1);
    if (last) settle(journal, last.address);
    if (last) changeAttempt(journal, last.address, { status: "cancelled", endedAt: at, text: "" });
    else journal.open.delete(place);
  }
}

/** Adds what a call used to the run and to every loop and iteration around it. */
export function spend(journal: Journal, place: string, used: Usage): void {
  changeRun(journal, { usage: plus(journal.run.usage, used) });
  let scope = journal.scopes.get(scopeOf(place));
  while (scope && scope.parent !== null) {
    const loop = journal.loops.get(scope.loop);
    const iteration = loop && findIteration(loop.iterations, scope.number);
    if (loop) journal.loops.set(loop.address, { ...loop, usage: plus(loop.usage, used) });
    if (loop && iteration) {
      putIteration(loop.iterations, { ...iteration, usage: plus(iteration.usage, used) });
    }
    scope = journal.scopes.get(scope.parent);
  }
}

/** The iteration of a number: they are consecutive, so it is at its distance from the first. */
export function findIteration<T extends { number: number }>(
  iterations: readonly T[],
  number: number,
): T | undefined {
  const first = iterations[0];
  if (!first) return undefined;
  const likely = iterations[number - first.number];
  return likely?.number === number ? likely : iterations.find((one) => one.number === number);
}

/** Puts an iteration into the growing array of its loop, in place of the one with its number. */
export function putIteration(iterations: readonly Iteration[], iteration: Iteration): void {
  const grown = iterations as Iteration[];
  const known = findIteration(grown, iteration.number);
  if (known) grown[grown.indexOf(known, iteration.number - (grown[0]?.number ?? 0))] = iteration;
  else grown.push(iteration);
}

export function faultFrom(told: Json | undefined): Fault | null {
  if (!isObject(told)) return null;
  const message = String(told["message"] ?? "");
  // What to do about it, which the server adds to what happened.
  const help = textFrom(told["help"]);
  const fault: Fault = { code: String(told["code"] ?? ""), message: help ? `${message}; ${help}` : message };
  if (typeof told["path"] === "string") fault.path = told["path"];
  if (told["cause"] !== undefined) fault.cause = told["cause"];
  return fault;
}

export function textFrom(told: Json | undefined): string {
  return typeof told === "string" ? told : "";
}

export function numberFrom(told: Json | undefined): number | null {
  return typeof told === "number" && Number.isFinite(told) ? told : null;
}
