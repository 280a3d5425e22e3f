/**
 * Where everything stands: by a layout from the inside out, or as the file says.
 *
 * Sizes of containers are computed here, and places are absolute: the canvas library gets both
 * wrong at two levels.
 */
import { Graph as DagreGraph, layout as arrange } from "@dagrejs/dagre";
import type { Sketch, SketchEdge, SketchNode } from "../contract";
import { around, CARD, collapsedSize, holds, isPlacedDialect, isRelative, PADDING, shownOutputs, STEP, stepSize, type Box, type DrawnEdge, type EmptyPlace, type Picture, type Point, type Rect, type Size } from "./model";

const SPACING = { nodesep: 28, ranksep: 46 };
const ROW_GAP = 30;

interface Level {
  inside: Map<string, SketchNode[]>;
  shown: Map<string, SketchNode>;
  edges: SketchEdge[];
  collapsed: ReadonlySet<string>;
}

/** The picture of what is inside of `drill`; "" is the whole file. */
export function pictureOf(sketch: Sketch, dialect: string, drill: string, collapsed: ReadonlySet<string>): Picture {
  const level = levelOf(sketch, drill, collapsed);
  const isPlaced = isPlacedDialect(dialect);
  const { boxes, empty } = isPlaced ? placed(level, drill) : arranged(level, drill);
  if (isPlaced) markLoose(boxes);
  return { boxes, empty, edges: drawnEdges(level.edges, boxes), isPlaced };
}

function levelOf(sketch: Sketch, drill: string, collapsed: ReadonlySet<string>): Level {
  const all = new Map(sketch.nodes.map((node) => [node.path, node]));
  const isShown = (node: SketchNode): boolean => {
    if (node.parent === drill) return true;
    const parent = all.get(node.parent);
    return parent !== undefined && !collapsed.has(parent.path) && isShown(parent);
  };
  const shown = new Map(sketch.nodes.filter(isShown).map((node) => [node.path, node]));
  const inside = new Map<string, SketchNode[]>();
  for (const node of shown.values()) inside.set(node.parent, [...(inside.get(node.parent) ?? []), node]);
  return { inside, shown, edges: liftedEdges(sketch, all, shown), collapsed };
}

/** Edges whose ends are hidden begin or end at what hides them. */
function liftedEdges(sketch: Sketch, all: ReadonlyMap<string, SketchNode>, shown: ReadonlyMap<string, SketchNode>): SketchEdge[] {
  const lift = (path: string): string => {
    let at = path;
    while (at && !shown.has(at)) at = all.get(at)?.parent ?? "";
    return at;
  };
  const found = new Map<string, SketchEdge>();
  for (const edge of sketch.edges) {
    const [from, to] = [lift(edge.from), lift(edge.to)];
    if (!from || !to || (from === to && edge.from !== edge.to)) continue;
    found.set(`${edge.kind}:${from}.${edge.from_port}>${to}.${edge.to_port}`, { ...edge, from, to });
  }
  return [...found.values()];
}

/** The edges between the boxes of one level: ends further inside count as their box there. */
function pairsAt(level: Level, parent: string): [string, string][] {
  const boxAt = (path: string): string | null => {
    for (let node = level.shown.get(path); node; node = level.shown.get(node.parent)) {
      if (node.parent === parent) return node.path;
    }
    return null;
  };
  return level.edges.flatMap((edge) => {
    const [from, to] = [boxAt(edge.from), boxAt(edge.to)];
    return edge.kind !== "feedback" && from && to && from !== to ? [[from, to] as [string, string]] : [];
  });
}

interface Packed extends Size {
  places: Map<string, Point>;
}

function pack(sizes: ReadonlyMap<string, Size>, pairs: readonly [string, string][]): Packed {
  const places = new Map<string, Point>();
  if (sizes.size === 0) return { width: 0, height: 0, places };
  const graph = new DagreGraph();
  graph.setGraph({ rankdir: "LR", marginx: 0, marginy: 0, ...SPACING });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [path, { width, height }] of sizes) graph.setNode(path, { width, height });
  for (const [from, to] of pairs) if (sizes.has(from) && sizes.has(to)) graph.setEdge(from, to);
  arrange(graph);
  for (const [path, size] of sizes) {
    const { x = 0, y = 0 } = graph.node(path);
    places.set(path, { x: Math.round(x - size.width / 2), y: Math.round(y - size.height / 2) });
  }
  const whole = graph.graph();
  return { width: Math.round(whole.width ?? 0), height: Math.round(whole.height ?? 0), places };
}

interface Measured extends Packed {
  empty: (Rect & { case: string | null })[];
}

function arranged(level: Level, drill: string): { boxes: Box[]; empty: EmptyPlace[] } {
  const measures = new Map<string, Measured>();
  const isOpen = (node: SketchNode) => holds(node) && !level.collapsed.has(node.path);

  const sizeOf = (node: SketchNode): Size => {
    if (isOpen(node)) return measure(node.path, node);
    return holds(node) ? collapsedSize(node) : stepSize(node, level.edges);
  };
  const measure = (parent: string, node: SketchNode | undefined): Measured => {
    const children = level.inside.get(parent) ?? [];
    const rows: (string | null)[] = node && node.cases.length > 0 ? node.cases : [null];
    const measured = rowsOf(rows, children, sizeOf, pairsAt(level, parent), node !== undefined);
    const whole = node ? padded(measured, hasLane(level, parent)) : measured;
    measures.set(parent, whole);
    return whole;
  };
  measure(drill, undefined);

  const boxes: Box[] = [];
  const empty: EmptyPlace[] = [];
  const place = (parent: string, at: Point, depth: number): void => {
    const measured = measures.get(parent);
    for (const one of measured?.empty ?? []) empty.push({ ...one, x: at.x + one.x, y: at.y + one.y, into: parent, depth });
    for (const node of level.inside.get(parent) ?? []) {
      const own = measured?.places.get(node.path) ?? { x: 0, y: 0 };
      const here = { x: at.x + own.x, y: at.y + own.y };
      const form = isOpen(node) ? "container" : holds(node) ? "collapsed" : "step";
      const { width, height } = form === "container" ? (measures.get(node.path) ?? STEP) : sizeOf(node);
      boxes.push({ node, ...here, width, height, parent: parent === drill ? "" : parent, depth, form, card: null, origin: here, outputs: shownOutputs(node, level.edges), isLoose: false });
      if (form === "container") place(node.path, here, depth + 1);
    }
  };
  place(drill, { x: 0, y: 0 }, 0);
  return { boxes, empty };
}

function hasLane(level: Level, parent: string): boolean {
  return level.edges.some((edge) => edge.kind === "feedback" && level.shown.get(edge.from)?.parent === parent);
}

/** The cases of a holder under each other, each as a row; what has no cases is one row. */
function rowsOf(rows: readonly (string | null)[], children: readonly SketchNode[], sizeOf: (node: SketchNode) => Size, pairs: readonly [string, string][], isHolder: boolean): Measured {
  const places = new Map<string, Point>();
  const empty: Measured["empty"] = [];
  let [width, top] = [0, 0];
  for (const row of rows) {
    const own = row === null ? children : children.filter((child) => child.case === row);
    const packed = pack(new Map(own.map((child) => [child.path, sizeOf(child)])), pairs);
    if (own.length === 0 && isHolder) {
      empty.push({ x: 0, y: top, ...STEP, case: row });
      [packed.width, packed.height] = [STEP.width, STEP.height];
    }
    for (const [path, { x, y }] of packed.places) places.set(path, { x, y: y + top });
    width = Math.max(width, packed.width);
    top += packed.height + ROW_GAP;
  }
  return { width, height: Math.max(0, top - ROW_GAP), places, empty };
}

function padded(inner: Measured, isLane: boolean): Measured {
  const { side, top, bottom, lane, widthMin } = PADDING;
  const width = Math.max(widthMin, inner.width + 2 * side);
  const left = Math.round((width - inner.width) / 2);
  const places = new Map([...inner.places].map(([path, { x, y }]) => [path, { x: x + left, y: y + top }]));
  const empty = inner.empty.map((one) => ({ ...one, x: one.x + left, y: one.y + top }));
  return { width, height: inner.height + top + bottom + (isLane ? lane : 0), places, empty };
}

/** As the file says; what has no position stands below what has. */
function placed(level: Level, drill: string): { boxes: Box[]; empty: EmptyPlace[] } {
  const empty: EmptyPlace[] = [];
  const lay = (parent: string, origin: Point, depth: number): Box[] => {
    const nodes = level.inside.get(parent) ?? [];
    const laid = nodes.filter((node) => node.position).map((node) => layOne(node, origin, node.position ?? origin, depth));
    const rest = nodes.filter((node) => !node.position);
    const bounds = around(laid.flat());
    const packed = pack(new Map(rest.map((node) => [node.path, holds(node) ? CARD : stepSize(node, level.edges)])), pairsAt(level, parent));
    const below = laid.length > 0 ? bounds.y + bounds.height + 60 - origin.y : 0;
    const others = rest.map((node) => {
      const at = packed.places.get(node.path) ?? { x: 0, y: 0 };
      return layOne(node, origin, { x: at.x, y: at.y + below }, depth);
    });
    return [...laid, ...others].flat();
  };

  const layOne = (node: SketchNode, origin: Point, position: Point, depth: number): Box[] => {
    const parent = node.parent === drill ? "" : node.parent;
    const at = { x: origin.x + position.x, y: origin.y + position.y };
    const common = { node, parent, depth, origin, outputs: shownOutputs(node, level.edges), isLoose: false };
    const children = level.inside.get(node.path) ?? [];
    const isBetween = node.body === "members" && !children.some(isRelative);
    if (!holds(node) || level.collapsed.has(node.path)) {
      const form = holds(node) ? "collapsed" : "step";
      const size = form === "step" ? stepSize(node, level.edges) : isBetween ? CARD : collapsedSize(node);
      return [{ ...common, ...at, ...size, form, card: null }];
    }
    if (isBetween) return betweenBox(common, at, lay(node.path, origin, depth + 1));
    return rimBox(node, common, at, children);
  };

  /** The rim of what lies between a node and its end: it is in no file, the node is a card in it. */
  const betweenBox = (common: Omit<Box, "form" | "card" | keyof Rect>, at: Point, inner: Box[]): Box[] => {
    const { side, top, bottom } = PADDING;
    const bounds = around([{ ...at, ...CARD }, ...inner]);
    const rim = { x: bounds.x - side, y: bounds.y - top, width: bounds.width + 2 * side, height: bounds.height + top + bottom };
    const card = { x: at.x - rim.x, y: at.y - rim.y, ...CARD };
    return [{ ...common, ...rim, form: "container", card }, ...inner];
  };

  /** A container whose rim is the node itself, with what it holds in coordinates of its own. */
  const rimBox = (node: SketchNode, common: Omit<Box, "form" | "card" | "origin" | keyof Rect>, at: Point, children: SketchNode[]): Box[] => {
    const { side, top, bottom } = PADDING;
    const isInline = !children.some(isRelative);
    const lowest = (axis: "x" | "y") => Math.min(0, ...children.map((child) => child.position?.[axis] ?? 0));
    const origin = isInline ? { x: at.x + side - lowest("x"), y: at.y + top - lowest("y") } : at;
    const inner = lay(node.path, origin, common.depth + 1);
    if (children.length === 0) empty.push({ x: at.x + side, y: at.y + top, ...STEP, into: node.path, case: null, depth: common.depth + 1 });
    const bounds = around(children.length === 0 ? [{ x: at.x + side, y: at.y + top, ...STEP }] : inner);
    const width = Math.max(PADDING.widthMin, node.size?.width ?? 0, bounds.x + bounds.width + side - at.x);
    const height = Math.max(node.size?.height ?? 0, bounds.y + bounds.height + bottom - at.y);
    return [{ ...common, ...at, width, height, form: "container", card: null, origin }, ...inner];
  };

  return { boxes: lay(drill, { x: 0, y: 0 }, 0), empty };
}

/** Marks what lies inside of a rim without being a part of what the rim is around. */
function markLoose(boxes: readonly Box[]): void {
  for (const rim of boxes.filter((box) => box.card)) {
    for (const box of boxes) {
      const isOver = box.x > rim.x && box.y > rim.y && box.x + box.width < rim.x + rim.width && box.y + box.height < rim.y + rim.height;
      if (isOver && box.form === "step" && box.parent === rim.parent && box !== rim) box.isLoose = true;
    }
  }
}

function drawnEdges(edges: readonly SketchEdge[], boxes: readonly Box[]): DrawnEdge[] {
  const known = new Map(boxes.map((box) => [box.node.path, box]));
  return edges.map((edge) => ({
    id: `${edge.kind}:${edge.from}.${edge.from_port}>${edge.to}.${edge.to_port}`,
    edge,
    from: edge.from,
    to: edge.to,
    dip: edge.kind === "feedback" ? dipOf(edge, known) : 0,
  }));
}

/** The way back lies under all that the container holds. */
function dipOf(edge: SketchEdge, known: ReadonlyMap<string, Box>): number {
  const source = known.get(edge.from);
  if (!source) return 0;
  const holder = known.get(source.parent);
  const bottom = holder ? holder.y + holder.height - PADDING.bottom - PADDING.lane / 2 + 8 : Math.max(...[...known.values()].map((box) => box.y + box.height)) + 20;
  return bottom - (source.y + source.height / 2);
}

/** Every node in a place of its own: what *Tidy* writes into a file that has positions. */
export function tidied(sketch: Sketch): { at: string; x: number; y: number }[] {
  const known = new Map(sketch.nodes.map((node) => [node.path, node]));
  const isDrawnOnly = (node: SketchNode) => node.body === "members" && !sketch.nodes.some((one) => one.parent === node.path && isRelative(one));
  /** The holder whose coordinates a node stands in. */
  const frameOf = (node: SketchNode): string => {
    const parent = known.get(node.parent);
    return parent && isDrawnOnly(parent) ? frameOf(parent) : node.parent;
  };
  const frames = new Map<string, SketchNode[]>();
  for (const node of sketch.nodes) frames.set(frameOf(node), [...(frames.get(frameOf(node)) ?? []), node]);
  return [...frames.values()].flatMap((nodes) => {
    const sizes = new Map(nodes.map((node) => [node.path, holds(node) ? { width: CARD.width + 2 * PADDING.side, height: CARD.height + PADDING.top } : stepSize(node, sketch.edges)]));
    const pairs = sketch.edges.filter((edge) => edge.kind !== "feedback").map((edge) => [edge.from, edge.to] as [string, string]);
    return [...pack(sizes, pairs).places].map(([at, { x, y }]) => ({ at, x, y }));
  });
}
