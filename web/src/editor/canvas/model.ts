/** What the picture is made of: boxes in absolute places, empty places, and edges between ports. */
import type { SketchEdge, SketchNode } from "../contract";

export interface Point {
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

export type Rect = Point & Size;

export interface Box extends Rect {
  node: SketchNode;
  parent: string;
  depth: number;
  form: "step" | "container" | "collapsed";
  /** Where inside of it a container has the card of its own node; none where its rim is the node. */
  card: Rect | null;
  /** What has to be added to positions in the file to have them here, for what it holds. */
  origin: Point;
  /** The names of the ports on its right. */
  outputs: string[];
  /** Whether it lies inside of a rim that it is no part of. */
  isLoose: boolean;
}

/** A place inside of a holder, or of one of its cases, that has no step yet. */
export interface EmptyPlace extends Rect {
  into: string;
  case: string | null;
  depth: number;
}

export interface DrawnEdge {
  id: string;
  edge: SketchEdge;
  from: string;
  to: string;
  /** How far below the middle of its source the way back lies. */
  dip: number;
}

export interface Picture {
  /** Holders before what they hold. */
  boxes: Box[];
  empty: EmptyPlace[];
  edges: DrawnEdge[];
  /** Whether positions are those of the file, and not of a layout. */
  isPlaced: boolean;
}

export const STEP: Size = { width: 160, height: 56 };
export const CARD: Size = { width: 208, height: 190 };
/** How much of a card its head and its fields take. */
export const FIELDS_HEIGHT = 122;
export const PADDING = { side: 24, top: 54, bottom: 20, lane: 28, widthMin: 220 };
const PORT_HEIGHT = 20;

/** Files of these dialects say where each node stands. */
const PLACED = new Set(["studio", "shodan"]);

export const isPlacedDialect = (dialect: string): boolean => PLACED.has(dialect);

export const holds = (node: SketchNode): boolean => node.body === "inline" || node.body === "members" || node.cases.length > 0;

/** Whether a node stands in the coordinates of the one around it. */
export function isRelative(node: SketchNode): boolean {
  return typeof node.fields === "object" && node.fields !== null && "parentId" in node.fields;
}

/** The outputs of a step that are drawn: where the usual one is among others, those others that are used. */
export function shownOutputs(node: SketchNode, edges: readonly SketchEdge[]): string[] {
  const { outputs } = node.ports;
  if (holds(node) || outputs[0] !== "output") return outputs;
  const used = new Set(edges.filter((edge) => edge.from === node.path).map((edge) => edge.from_port));
  return outputs.filter((name) => name === "output" || used.has(name));
}

/** Ports with names stand in rows below the head and the words of a node. */
const withRows = (width: number, ports: number): Size => ({ width, height: STEP.height + (ports > 1 ? PORT_HEIGHT * ports : 0) });

export function stepSize(node: SketchNode, edges: readonly SketchEdge[]): Size {
  return withRows(STEP.width, Math.max(node.ports.inputs.length, shownOutputs(node, edges).length));
}

export function collapsedSize(node: SketchNode): Size {
  return withRows(STEP.width + 30, Math.max(node.ports.inputs.length, node.ports.outputs.length));
}

export const isIn = (path: string, holder: string): boolean => path === holder || path.startsWith(`${holder}/`);

export const contains = (rect: Rect, { x, y }: Point): boolean => x >= rect.x && x <= rect.x + rect.width && y >= rect.y && y <= rect.y + rect.height;

/** The rectangle around some others. */
export function around(rects: readonly Rect[]): Rect {
  if (rects.length === 0) return { x: 0, y: 0, width: 0, height: 0 };
  const [left, top] = [Math.min(...rects.map((one) => one.x)), Math.min(...rects.map((one) => one.y))];
  const right = Math.max(...rects.map((one) => one.x + one.width));
  const bottom = Math.max(...rects.map((one) => one.y + one.height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}

export function toggled(before: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const after = new Set(before);
  if (!after.delete(path)) after.add(path);
  return after;
}
