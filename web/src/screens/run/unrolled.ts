/** The graph with the iterations of a loop one after the other, instead of its body once. Pure. */
import type { Graph, GraphNode } from "../../api";
import { pathOf, splitIteration, type LoopState } from "../../journal";

/** How many iterations stand side by side: more would be too small to read. */
export const UNROLLED_MAX = 6;

/** The numbers that are shown: those around the one that is looked at. */
export function shownNumbers(loop: LoopState, number: number, most = UNROLLED_MAX): number[] {
  const first = loop.iterations[0]?.number ?? 1;
  const last = Math.max(first, loop.number);
  const from = Math.max(first, Math.min(number - Math.floor(most / 2), last - most + 1));
  return Array.from({ length: Math.min(most, last - from + 1) }, (_, index) => from + index);
}

/** Paths inside the loop get the number of their iteration: `refine[2]/code`. */
export function unrolled(graph: Graph, loop: string, numbers: readonly number[]): Graph {
  const inside = graph.nodes.filter((node) => node.path.startsWith(`${loop}/`));
  const own = graph.nodes.find((node) => node.path === loop);
  if (!own || inside.length === 0 || numbers.length === 0) return graph;
  const moved = (path: string, number: number) => `${loop}[${number}]${path.slice(loop.length)}`;
  const box = (number: number): GraphNode => ({ ...own, path: `${loop}[${number}]`, name: `#${number}`, title: `#${number}`, kind: "group", detail: "", loop: null, case: null, when: null, parent: loop });
  const nodes = graph.nodes.flatMap((node) => {
    if (node.path === loop) return [node, ...numbers.flatMap((number) => [box(number), ...copies(number)])];
    return node.path.startsWith(`${loop}/`) ? [] : [node];
  });
  function copies(number: number): GraphNode[] {
    return inside.map((node) => ({ ...node, path: moved(node.path, number), parent: moved(node.parent, number) }));
  }
  const isInside = (path: string) => path.startsWith(`${loop}/`);
  const isOwnFeedback = (edge: Graph["edges"][number]) =>
    edge.kind === "feedback" && inside.some((node) => node.path === edge.from && node.parent === loop);
  const label = graph.edges.find((edge) => isInside(edge.from) && isOwnFeedback(edge))?.label ?? "";
  const edges = graph.edges.flatMap((edge) => {
    if (!isInside(edge.from) || !isInside(edge.to)) return [edge];
    if (isOwnFeedback(edge)) return [];
    return numbers.map((number) => ({ ...edge, from: moved(edge.from, number), to: moved(edge.to, number) }));
  });
  const onward = numbers.slice(1).map((number, index) => ({
    from: `${loop}[${numbers[index]}]`,
    to: `${loop}[${number}]`,
    label,
    kind: "order" as const,
  }));
  return { ...graph, nodes, edges: [...edges, ...onward] };
}

/** What a place on the unrolled graph means: the node's path, and the iteration it stands in. */
export function meaningOf(path: string, loop: string): { path: string; number: number | null } {
  const inside = path.startsWith(`${loop}[`) ? path.slice(loop.length) : "";
  const number = /^\[(\d+)\]/.exec(inside)?.[1];
  return { path: pathOf(path), number: number === undefined ? null : Number(number) };
}

/** Where a node stands on the unrolled graph. */
export function placeOn(path: string, loop: string, number: number): string {
  return path.startsWith(`${loop}/`) ? `${loop}[${number}]${path.slice(loop.length)}` : path;
}

export const isIteration = (path: string): boolean => splitIteration(path) !== null;
