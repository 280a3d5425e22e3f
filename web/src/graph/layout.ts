/**
 * Where everything stands on the canvas: nested containers laid out from the inside out.
 *
 * Each container is laid out on its own and is then one box in the container around it; its size
 * is computed here, because the canvas library gets it wrong at two levels.
 */
import { Graph as DagreGraph, layout as arrange } from "@dagrejs/dagre";
import type { Graph, GraphEdge, GraphNode } from "../api";
import { splitIteration } from "../journal";

export interface Placed {
  node: GraphNode;
  /** Relative to the container; absolute at the top. */
  x: number;
  y: number;
  width: number;
  height: number;
  parent: string;
  depth: number;
  isContainer: boolean;
}

export interface Drawn {
  id: string;
  from: string;
  to: string;
  label: string;
  kind: GraphEdge["kind"];
  /** For an edge that goes back: how far below the middle of its source, or left of it, the way back lies. */
  dip: number;
}

export interface Layout {
  /** Containers stand before what is inside them. */
  nodes: Placed[];
  edges: Drawn[];
  width: number;
  height: number;
  /** Whether steps stand under each other, for narrow windows. */
  isDown: boolean;
}

export const STEP = { width: 150, height: 52 };
/** A container that is closed: one step with its ports. */
export const CLOSED = { width: 290, height: 74 };
const PORT = 16;
export const PADDING = { side: 22, top: 54, bottom: 18, lane: 26, chips: 40, widthMin: 300 };
const SPACING = { nodesep: 26, ranksep: 44 };

interface Box {
  width: number;
  height: number;
  children: Map<string, { x: number; y: number }>;
}

export function layoutOf(graph: Graph, collapsed: ReadonlySet<string> = new Set(), isDown = false): Layout {
  const shown = visibleOf(graph, collapsed);
  const known = new Map(shown.map((node) => [node.path, node]));
  const inside = new Map<string, GraphNode[]>();
  for (const node of shown) inside.set(node.parent, [...(inside.get(node.parent) ?? []), node]);
  const edges = liftedEdges(graph, known);
  const boxes = new Map<string, Box>();

  const measure = (parent: string): Box => {
    const children = inside.get(parent) ?? [];
    const sizes = new Map(children.map((child) => [child.path, sizeOf(child, measure)]));
    const hasLane = edges.some((edge) => edge.kind === "feedback" && known.get(edge.from)?.parent === parent);
    const box = pack(sizes, levelEdges(edges, known, parent), known.get(parent), { hasLane, isDown });
    boxes.set(parent, box);
    return box;
  };
  const leafSize = (node: GraphNode) => (collapsed.has(node.path) ? closedSize(node) : STEP);
  const sizeOf = (node: GraphNode, measureInside: (path: string) => Box) =>
    inside.has(node.path) ? measureInside(node.path) : leafSize(node);

  const root = measure("");
  const nodes: Placed[] = [];
  const place = (parent: string, depth: number): void => {
    const box = boxes.get(parent);
    for (const node of inside.get(parent) ?? []) {
      const at = box?.children.get(node.path) ?? { x: 0, y: 0 };
      const { width, height } = boxes.get(node.path) ?? leafSize(node);
      const isContainer = inside.has(node.path);
      nodes.push({ node, ...at, width, height, parent, depth, isContainer });
      place(node.path, depth + 1);
    }
  };
  place("", 0);
  return { nodes, edges: drawn(edges, nodes, boxes, isDown), width: root.width, height: root.height, isDown };
}

/** With a row for each port that has a name. */
function closedSize({ ports }: GraphNode): Size {
  const rows = ports ? Math.max(ports.inputs.length, ports.outputs.length) : 0;
  return { ...CLOSED, height: CLOSED.height + rows * PORT };
}

/** The nodes that no collapsed container hides. */
function visibleOf(graph: Graph, collapsed: ReadonlySet<string>): GraphNode[] {
  const parents = new Map(graph.nodes.map((node) => [node.path, node.parent]));
  const isHidden = (path: string): boolean => {
    const parent = parents.get(path) ?? "";
    return parent !== "" && (collapsed.has(parent) || isHidden(parent));
  };
  return graph.nodes
    .filter((node) => !isHidden(node.path))
    .map((node) => (parents.has(node.parent) ? node : { ...node, parent: "" }));
}

/** Edges whose ends are hidden begin or end at what hides them; those that become loops vanish. */
function liftedEdges(graph: Graph, known: ReadonlyMap<string, GraphNode>): GraphEdge[] {
  const all = new Map(graph.nodes.map((node) => [node.path, node]));
  const lift = (path: string): string => {
    let at = path;
    while (at && !known.has(at)) at = all.get(at)?.parent ?? "";
    return at;
  };
  const found = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    const [from, to] = [lift(edge.from), lift(edge.to)];
    const isOwn = edge.from === edge.to && edge.kind === "feedback";
    if (!from || !to || (from === to && !isOwn)) continue;
    found.set(`${edge.kind}:${from}>${to}`, { ...edge, from, to });
  }
  return [...found.values()];
}

/** The edges that order the boxes of one level: ends further inside count as their box there. */
function levelEdges(edges: readonly GraphEdge[], known: ReadonlyMap<string, GraphNode>, parent: string): [string, string][] {
  const boxAt = (path: string): string | null => {
    for (let node = known.get(path); node; node = known.get(node.parent)) {
      if (node.parent === parent) return node.path;
    }
    return null;
  };
  return edges.flatMap((edge) => {
    const [from, to] = [boxAt(edge.from), boxAt(edge.to)];
    return edge.kind === "order" && from && to && from !== to ? [[from, to] as [string, string]] : [];
  });
}

/** Iterations that are drawn one by one stand under each other: side by side they would be tiny. */
function isStack(sizes: ReadonlyMap<string, Size>): boolean {
  return sizes.size > 0 && [...sizes.keys()].every((path) => splitIteration(path) !== null);
}

type Size = { width: number; height: number };

function pack(sizes: ReadonlyMap<string, Size>, edges: [string, string][], around: GraphNode | undefined, { hasLane, isDown }: { hasLane: boolean; isDown: boolean }): Box {
  const graph = new DagreGraph();
  graph.setGraph({ rankdir: isDown || isStack(sizes) ? "TB" : "LR", marginx: 0, marginy: 0, ...SPACING });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [path, { width, height }] of sizes) graph.setNode(path, { width, height });
  for (const [from, to] of edges) graph.setEdge(from, to);
  if (sizes.size > 0) arrange(graph);
  const { side, top, bottom, lane, chips, widthMin } = PADDING;
  const isLoop = around?.kind === "loop" || around?.kind === "foreach";
  const below = (hasLane ? lane : 0) + (isLoop ? chips : bottom);
  const aside = hasLane && isDown ? lane : 0;
  const above = top + (aside ? lane / 2 : 0);
  const whole = graph.graph();
  const [innerWidth, innerHeight] = [whole.width ?? 0, whole.height ?? 0];
  const width = around ? Math.max(widthMin, innerWidth + 2 * side + aside) : innerWidth;
  // What is narrower than its container stands in the middle of it, beside the way back.
  const left = aside + (width - aside - innerWidth) / 2;
  const children = new Map<string, { x: number; y: number }>();
  for (const [path, size] of sizes) {
    const { x = 0, y = 0 } = graph.node(path);
    children.set(path, {
      x: Math.round(x - size.width / 2 + (around ? left : 0)),
      y: Math.round(y - size.height / 2 + (around ? above : 0)),
    });
  }
  return { width: Math.round(width), height: Math.round(around ? innerHeight + above + below : innerHeight), children };
}

function drawn(edges: readonly GraphEdge[], nodes: readonly Placed[], boxes: ReadonlyMap<string, Box>, isDown: boolean): Drawn[] {
  const placed = new Map(nodes.map((node) => [node.node.path, node]));
  return edges.map((edge) => {
    const { from, to, label, kind } = edge;
    return { id: `${kind}:${from}>${to}`, from, to, label, kind, dip: kind !== "feedback" ? 0 : isDown ? asideOf(edge, placed) : dipOf(edge, placed, boxes) };
  });
}

/** Where steps stand under each other, the way back lies to the left of them. */
function asideOf(edge: GraphEdge, placed: ReadonlyMap<string, Placed>): number {
  const source = placed.get(edge.from);
  if (!source) return 0;
  const rim = placed.has(source.parent) ? PADDING.side / 2 : -PADDING.lane;
  return source.x + source.width / 2 - rim;
}

/** The way back lies under all that the container holds, above its chips. */
function dipOf(edge: GraphEdge, placed: ReadonlyMap<string, Placed>, boxes: ReadonlyMap<string, Box>): number {
  const source = placed.get(edge.from);
  if (!source) return 0;
  const around = placed.get(source.parent);
  const middle = source.y + source.height / 2;
  if (!around) return (boxes.get("")?.height ?? 0) - middle + PADDING.lane / 2;
  const isLoop = around.node.kind === "loop" || around.node.kind === "foreach";
  return around.height - (isLoop ? PADDING.chips : PADDING.bottom) - PADDING.lane / 2 - middle;
}
