/**
 * The states of what says nothing of itself in the journal.
 *
 * Steps that only compute, set or wait have no events of their own, nor have groups, branches and
 * called workflows: what happens around and inside them tells how far they are.
 */
import type { Graph, GraphNode } from "../api";
import { findIteration } from "../journal/places";
import { scopeOf, splitIteration, type Journal } from "../journal";

const AT_ONCE = new Set(["compute", "assign", "break", "continue", "stop"]);
const SILENT = new Set([...AT_ONCE, "wait"]);
const CONTAINERS = new Set(["group", "call", "branch", "foreach"]);
const OPEN = new Set(["running", "retrying", "waiting", "judging"]);

export interface Known {
  status: string;
  address: string;
  /** The case that a branch took. */
  branch: string;
}

/** The status of each node, where `known` says "idle" of all that has no events. */
export function settled(journal: Journal, graph: Graph, known: ReadonlyMap<string, Known>): Map<string, string> {
  const ties = tiesOf(graph);
  const found = new Map<string, string>();
  const nodes = new Map(graph.nodes.map((node) => [node.path, node]));

  const statusOf = (path: string): string => {
    const before = found.get(path);
    if (before !== undefined) return before;
    const node = nodes.get(path);
    const told = known.get(path)?.status ?? "idle";
    found.set(path, told);
    if (!node || told !== "idle") return told;
    const status = decide(node);
    found.set(path, status);
    return status;
  };
  const decide = (node: GraphNode): string => {
    if (isPassedBy(node)) return "skipped";
    const status = CONTAINERS.has(node.kind) ? fromInside(node) : SILENT.has(node.kind) ? fromAround(node) : "idle";
    if (status !== "idle") return status;
    // What has not begun when everything around it is well over was passed by.
    return scopeStatus(journal, known.get(node.path)?.address ?? "") === "succeeded" ? "skipped" : "idle";
  };
  /** Whether the branch around it took another case. */
  const isPassedBy = (node: GraphNode): boolean => {
    const taken = known.get(node.parent)?.branch ?? "";
    return node.case !== null && taken !== "" && taken !== node.case;
  };
  const fromInside = (node: GraphNode): string => {
    const inside = (ties.inside.get(node.path) ?? []).map(statusOf).filter((status) => status !== "skipped");
    if (inside.every((status) => status === "idle")) return "idle";
    if (inside.some((status) => OPEN.has(status))) return "running";
    if (inside.includes("failed")) return "failed";
    const isOver = scopeStatus(journal, known.get(node.path)?.address ?? "") !== "running";
    return inside.includes("idle") && !isOver && node.kind !== "branch" ? "running" : "finished";
  };
  const fromAround = (node: GraphNode): string => {
    const after = (ties.after.get(node.path) ?? []).map(statusOf);
    if (after.some((status) => status !== "idle" && status !== "cancelled")) return "finished";
    const scope = scopeStatus(journal, known.get(node.path)?.address ?? "");
    if (scope === "succeeded") return node.case === null ? "finished" : "idle";
    const parent = nodes.get(node.parent)?.kind ?? "loop";
    if (scope !== "running" || parent !== "loop") return "idle";
    const isNext = (ties.before.get(node.path) ?? []).map(statusOf).every((status) => ["succeeded", "finished", "skipped"].includes(status));
    if (!isNext) return "idle";
    return AT_ONCE.has(node.kind) ? "finished" : "waiting";
  };
  for (const { path } of graph.nodes) statusOf(path);
  return found;
}

/** How the iteration or run that an address lies in stands; "idle" where it has not begun. */
function scopeStatus(journal: Journal, address: string): string {
  const scope = scopeOf(address);
  if (scope === "") return ["succeeded", "failed", "cancelled"].includes(journal.run.status) ? journal.run.status : "running";
  const split = splitIteration(scope);
  const loop = split && journal.loops.get(split.loop);
  if (loop) return findIteration(loop.iterations, split.number)?.status ?? "idle";
  // An item of a list says nothing either: it is as far as what is around it.
  return journal.scopes.has(scope) ? scopeStatus(journal, split?.loop ?? "") : "idle";
}

function tiesOf(graph: Graph) {
  const [before, after, inside] = [new Map<string, string[]>(), new Map<string, string[]>(), new Map<string, string[]>()];
  const note = (map: Map<string, string[]>, path: string, other: string) => map.set(path, [...(map.get(path) ?? []), other]);
  for (const { from, to, kind } of graph.edges) {
    if (kind !== "order") continue;
    note(after, from, to);
    note(before, to, from);
  }
  for (const { path, parent } of graph.nodes) note(inside, parent, path);
  return { before, after, inside };
}
