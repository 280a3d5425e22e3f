/** What the commands of the canvas mean as operations; nothing here draws or sends. */
import type { Json, Operation, Sketch, SketchEdge, SketchNode } from "../contract";
import { holds, isIn, isRelative, STEP, type Box, type DrawnEdge, type Picture, type Point } from "./model";
import type { Slot } from "./slots";

export const nodeOf = (sketch: Sketch, path: string | undefined): SketchNode | undefined => sketch.nodes.find((node) => node.path === path);

export const inside = (sketch: Sketch, path: string): SketchNode[] => sketch.nodes.filter((node) => node.parent === path);

const lastName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Whether the rim of a node is only drawn: it is then made by edges, and paths follow these. */
export function isBetween(sketch: Sketch, node: SketchNode | undefined): boolean {
  return node?.body === "members" && !inside(sketch, node.path).some(isRelative);
}

const onward = (sketch: Sketch, path: string): SketchEdge[] => sketch.edges.filter((edge) => edge.kind !== "feedback" && isIn(edge.from, path) && !isIn(edge.to, path));

const endsOf = (edge: SketchEdge): Operation & { operation: string } => ({
  operation: "disconnect",
  from: { at: edge.from, port: edge.from_port },
  to: { at: edge.to, port: edge.to_port },
});

const onEdge = (edge: SketchEdge): Json => ({ from: { at: edge.from, port: edge.from_port }, to: { at: edge.to, port: edge.to_port } });

export interface Kind {
  kind?: string;
  piece?: string;
  name?: string;
  fields?: { [key: string]: Json };
}

/** A step of a kind in a place of the order. */
export function addAt(slot: Pick<Slot, "into" | "case" | "after">, what: Kind): Operation {
  return { operation: "add", into: slot.into, after: slot.after, ...(slot.case === null ? {} : { case: slot.case }), ...what };
}

/** A step of a kind after the selected one; into an empty holder that is selected. */
export function addAfter(sketch: Sketch, drill: string, isPlaced: boolean, selected: string | undefined, what: Kind): Operation[] {
  const node = nodeOf(sketch, selected);
  if (isPlaced) return addBeside(sketch, drill, node, what);
  if (!node) return [{ operation: "add", into: drill, ...what }];
  const isEmpty = holds(node) && inside(sketch, node.path).length === 0;
  if (isEmpty) return [addAt({ into: node.path, case: node.cases[0] ?? null, after: null }, what)];
  return [addAt({ into: node.parent, case: node.case, after: node.path }, what)];
}

const ASIDE = 100;
const STRIDE = 240;

function addBeside(sketch: Sketch, drill: string, node: SketchNode | undefined, what: Kind): Operation[] {
  if (!node) return [{ operation: "add", into: drill, ...what }];
  const isEmpty = isBetween(sketch, node) && inside(sketch, node.path).length <= 1;
  const edges = isEmpty ? sketch.edges.filter((edge) => edge.from === node.path && isIn(edge.to, node.path)) : onward(sketch, node.path);
  const parent = nodeOf(sketch, node.parent);
  const into = holds(node) && !isBetween(sketch, node) && inside(sketch, node.path).length === 0 ? node.path : node.parent;
  const [edge, more] = edges;
  if (into === node.path) return [{ operation: "add", into, place: { x: 0, y: 0 }, ...what }];
  if (edge && !more) {
    const [from, to] = [nodeOf(sketch, edge.from)?.position, nodeOf(sketch, edge.to)?.position];
    const place = from && to ? between(from, to) : null;
    return [{ operation: "add", into, ...(place ? { place } : {}), on_edge: onEdge(edge), ...what }];
  }
  const name = freeName(sketch, what.name ?? what.kind ?? "step");
  const path = !parent || isBetween(sketch, parent) ? name : `${parent.path}/${name}`;
  const place = node.position ? { place: { x: node.position.x + STRIDE, y: node.position.y + (more ? ASIDE : 0) } } : {};
  const added: Operation = { operation: "add", into, ...place, ...what, name };
  if (edges.length > 0 || node.ports.outputs.length === 0) return [added];
  return [added, { operation: "connect", from: { at: node.path, port: node.ports.outputs[0] ?? "" }, to: { at: path, port: "" } }];
}

/** Beside its neighbours: between them where there is room, else below. */
function between(from: Point, to: Point): { x: number; y: number } {
  const hasRoom = to.x - from.x >= 2 * STRIDE - 40;
  return { x: Math.round((from.x + to.x) / 2), y: hasRoom ? Math.round((from.y + to.y) / 2) : Math.max(from.y, to.y) + ASIDE };
}

export function freeName(sketch: Sketch, wanted: string): string {
  const taken = new Set(sketch.nodes.map((node) => lastName(node.path)));
  let [name, number] = [wanted, 2];
  while (taken.has(name)) name = `${wanted}_${number++}`;
  return name;
}

/** What was dragged in the order of a file; nothing where it stays where it is. */
export function moveTo(sketch: Sketch, dragged: readonly string[], slot: Slot): Operation[] {
  const node = nodeOf(sketch, dragged[0]);
  if (!node || (slot.after !== null && dragged.includes(slot.after))) return [];
  const row = inside(sketch, node.parent).filter((one) => one.case === node.case);
  const before = row[row.indexOf(node) - 1]?.path ?? null;
  const isSame = dragged.length === 1 && slot.into === node.parent && slot.case === node.case && slot.after === before;
  if (isSame) return [];
  return [{ operation: "move", at: [...dragged], into: slot.into, after: slot.after, ...(slot.case === null ? {} : { case: slot.case }) }];
}

/** What was dragged on a canvas: places, a change of the holder, or a way through it. */
export function dropped(sketch: Sketch, picture: Picture, paths: readonly string[], delta: Point, holder: Box | null, drill: string, edge: DrawnEdge | null): Operation[] {
  const into = holder?.node.path ?? drill;
  const [path] = paths;
  const node = nodeOf(sketch, path);
  const box = picture.boxes.find((one) => one.node.path === path);
  if (!node || !box) return [];
  if (paths.length > 1 || node.parent === into) return edge && paths.length === 1 ? threaded(sketch, node, edge.edge, placeOf(box, delta, box.parent, picture)) : paths.flatMap((one) => placed(sketch, picture, one, delta));
  const place = placeOf(box, delta, into, picture);
  const touching = sketch.edges.filter((one) => one.from === node.path || one.to === node.path);
  if (edge) return threaded(sketch, node, edge.edge, place);
  // A rim that is only drawn takes in what is connected: what is dropped into it beside any edge is placed.
  const isDrawnOnly = isBetween(sketch, nodeOf(sketch, into));
  if (isDrawnOnly && !isIn(node.path, into)) return touching.length > 0 || holds(node) ? placed(sketch, picture, node.path, delta) : [{ operation: "place", at: node.path, ...place }];
  return [{ operation: "move", at: node.path, into, place }];
}

/** Leads an edge through a node that is there already; where it stood, its two neighbours are joined. */
function threaded(sketch: Sketch, node: SketchNode, edge: SketchEdge, place: Point): Operation[] {
  const touching = sketch.edges.filter((one) => one.from === node.path || one.to === node.path);
  const [incoming, outgoing] = [touching.filter((one) => one.to === node.path), touching.filter((one) => one.from === node.path)];
  const [before, behind] = [incoming[0], outgoing[0]];
  if (incoming.length > 1 || outgoing.length > 1) return [{ operation: "place", at: node.path, ...place }];
  // Where membership is made by edges, a node without any is inside of nothing.
  const free = isBetween(sketch, nodeOf(sketch, node.parent)) && touching.length > 0 ? lastName(node.path) : node.path;
  const joined = before && behind ? [connectEnds(before, behind)] : [];
  const cut = [...(before ? [endsOf(before)] : []), ...(behind ? [{ ...endsOf(behind), from: { at: before ? free : node.path, port: behind.from_port } }] : [])];
  const ends = onEdge(edge) as { from: Json; to: Json };
  const through: Operation[] = [
    { operation: "connect", from: ends.from, to: { at: free, port: "" } },
    { operation: "connect", from: { at: free, port: "" }, to: ends.to },
  ];
  const placing: Operation = { operation: "place", at: free, ...place };
  // An input that takes one edge has to be free before the next one comes; a member must not lose its path meanwhile.
  const isByEdges = sketch.nodes.some((one) => isBetween(sketch, one));
  return isByEdges ? [...joined, ...cut, placing, ...through, endsOf(edge)] : [...cut, ...joined, placing, endsOf(edge), ...through];
}

const connectEnds = (before: SketchEdge, behind: SketchEdge): Operation => ({ operation: "connect", from: { at: before.from, port: before.from_port }, to: { at: behind.to, port: behind.to_port } });

const rounded = ({ x, y }: Point) => ({ x: Math.round(x), y: Math.round(y) });

const originOf = (picture: Picture, holder: string): Point => picture.boxes.find((box) => box.node.path === holder)?.origin ?? { x: 0, y: 0 };

function placeOf(box: Box, delta: Point, holder: string, picture: Picture): { x: number; y: number } {
  const origin = originOf(picture, holder);
  return rounded({ x: box.x + (box.card?.x ?? 0) + delta.x - origin.x, y: box.y + (box.card?.y ?? 0) + delta.y - origin.y });
}

/** A node in its new place; a rim that is only drawn takes along all that is in it. */
export function placed(sketch: Sketch, picture: Picture, path: string, delta: Point): Operation[] {
  const node = nodeOf(sketch, path);
  const box = picture.boxes.find((one) => one.node.path === path);
  if (!node || !box) return [];
  const own: Operation = { operation: "place", at: path, ...placeOf(box, delta, box.parent, picture) };
  if (!isBetween(sketch, node)) return [own];
  const members = sketch.nodes.filter((one) => one.path !== path && isIn(one.path, path) && one.position);
  return [own, ...members.map((one) => ({ operation: "place", at: one.path, ...rounded({ x: (one.position?.x ?? 0) + delta.x, y: (one.position?.y ?? 0) + delta.y }) }))];
}

/** A new node where it was dropped on a canvas. */
export function addPlaced(picture: Picture, point: Point, holder: Box | null, drill: string, edge: DrawnEdge | null, what: Kind): Operation[] {
  const origin = originOf(picture, holder?.node.path ?? "");
  const place = rounded({ x: point.x - STEP.width / 2 - origin.x, y: point.y - STEP.height / 2 - origin.y });
  return [{ operation: "add", into: holder?.node.path ?? drill, place, ...(edge ? { on_edge: onEdge(edge.edge) } : {}), ...what }];
}

export type Way = "earlier" | "later" | "out" | "in";

/** A step by keys: earlier, later, out of its holder, or into the one beside it. */
export function moveBy(sketch: Sketch, path: string, way: Way): Operation[] {
  const node = nodeOf(sketch, path);
  if (!node) return [];
  const row = inside(sketch, node.parent).filter((one) => one.case === node.case);
  const index = row.indexOf(node);
  const move = (place: { into: string; after: string | null; case?: string }): Operation[] => [{ operation: "move", at: [path], ...place }];
  const own = { into: node.parent, ...(node.case === null ? {} : { case: node.case }) };
  if (way === "earlier") return index > 0 ? move({ ...own, after: row[index - 2]?.path ?? null }) : [];
  if (way === "later") return index < row.length - 1 ? move({ ...own, after: row[index + 1]?.path ?? null }) : [];
  if (way === "out") {
    const holder = nodeOf(sketch, node.parent);
    return holder ? move({ into: holder.parent, after: holder.path, ...(holder.case === null ? {} : { case: holder.case }) }) : [];
  }
  const next = [row[index + 1], row[index - 1]].find((one) => one && holds(one));
  if (!next) return [];
  const inner = inside(sketch, next.path).filter((one) => one.case === (next.cases[0] ?? null));
  const after = next === row[index + 1] ? null : (inner.at(-1)?.path ?? null);
  return move({ into: next.path, after, ...(next.cases[0] ? { case: next.cases[0] } : {}) });
}

/** Removes steps; edges of what stood between two others are bridged. */
export function remove(paths: readonly string[], isPlaced: boolean, keepsInside = false): Operation[] {
  const outer = paths.filter((path) => !paths.some((other) => other !== path && isIn(path, other)));
  return outer.map((at) => ({ operation: "remove", at, ...(keepsInside ? { inside: "keep" } : {}), ...(isPlaced ? { bridge: true } : {}) }));
}

export const disconnect = (edge: SketchEdge): Operation => endsOf(edge);

/** The nearest box in a direction, for arrow keys. */
export function neighbour(boxes: readonly Box[], path: string, key: string): Box | undefined {
  const from = boxes.find((box) => box.node.path === path);
  if (!from) return boxes[0];
  const middle = (box: Box): Point => (box.form === "container" ? { x: box.x + 40, y: box.y + 20 } : { x: box.x + box.width / 2, y: box.y + box.height / 2 });
  const start = middle(from);
  const score = (box: Box): number => {
    const at = middle(box);
    const [dx, dy] = [at.x - start.x, at.y - start.y];
    const [along, across] = key === "ArrowRight" ? [dx, dy] : key === "ArrowLeft" ? [-dx, dy] : key === "ArrowDown" ? [dy, dx] : [-dy, dx];
    return along > 4 ? along + 2 * Math.abs(across) : Infinity;
  };
  const best = boxes.filter((box) => box !== from).map((box) => ({ box, points: score(box) })).sort((one, other) => one.points - other.points)[0];
  return best && best.points < Infinity ? best.box : undefined;
}
