/** Where something that is dragged would go: computed here, from the pointer alone. */
import { CARD, contains, FIELDS_HEIGHT, isIn, type Box, type EmptyPlace, type Picture, type Point, type Rect } from "./model";

/** A place in the order of a holder: after a step, or first (null). */
export interface Slot {
  into: string;
  case: string | null;
  after: string | null;
  /** Where it is drawn. */
  mark: Rect;
}

/** The innermost open container under the pointer that is neither dragged nor inside of what is. */
export function holderAt(picture: Picture, point: Point, dragged: readonly string[]): Box | null {
  const open = picture.boxes.filter((box) => box.form === "container" && contains(box, point) && !dragged.some((path) => isIn(box.node.path, path)));
  return open.reduce<Box | null>((best, box) => (best === null || box.depth > best.depth ? box : best), null);
}

const BAR = 4;
const GAP = 16;

/** The slot under the pointer: "after the inner loop" and "last inside of it" are two. */
export function slotAt(picture: Picture, point: Point, dragged: readonly string[], drill: string): Slot {
  const holder = holderAt(picture, point, dragged);
  const into = holder?.node.path ?? drill;
  const free = picture.empty.filter((one) => one.into === into);
  const under = free.find((one) => contains(one, point));
  if (under) return { into, case: under.case, after: null, mark: under };
  const inside = picture.boxes.filter((box) => box.parent === (holder ? into : "") && !dragged.includes(box.node.path));
  const row = rowAt(inside, free, holder, point);
  if (row.length === 0) return emptySlot(free, into, point, holder);
  return slotIn(row, into, point);
}

/** The boxes of the case whose row the pointer is in; all where there are no cases. */
function rowAt(inside: readonly Box[], free: readonly EmptyPlace[], holder: Box | null, point: Point): Box[] {
  if (!holder || holder.node.cases.length === 0) return [...inside];
  const distance = (rect: Rect) => Math.max(0, rect.y - point.y, point.y - rect.y - rect.height);
  const all = [...inside.map((box) => ({ rect: box as Rect, case: box.node.case })), ...free.map((one) => ({ rect: one as Rect, case: one.case }))];
  const nearest = all.reduce<(typeof all)[number] | null>((best, one) => (best === null || distance(one.rect) < distance(best.rect) ? one : best), null);
  return inside.filter((box) => box.node.case === (nearest?.case ?? null));
}

function emptySlot(free: readonly EmptyPlace[], into: string, point: Point, holder: Box | null): Slot {
  const nearest = [...free].sort((one, other) => Math.abs(one.y - point.y) - Math.abs(other.y - point.y))[0];
  const mark = nearest ?? (holder ? { x: holder.x + GAP, y: holder.y + GAP, width: BAR, height: holder.height - 2 * GAP } : { ...point, width: BAR, height: 60 });
  return { into, case: nearest?.case ?? null, after: null, mark };
}

/** Between which two of a row the pointer is: steps that stand under each other count by their middle. */
function slotIn(row: readonly Box[], into: string, point: Point): Slot {
  const onLine = row.filter((box) => point.y >= box.y - GAP && point.y <= box.y + box.height + GAP);
  const seen = onLine.length > 0 ? onLine : row;
  const before = seen.filter((box) => point.x > box.x + box.width / 2);
  const last = before.reduce<Box | null>((best, box) => (best === null || box.x + box.width > best.x + best.width ? box : best), null);
  const next = seen.filter((box) => !before.includes(box)).sort((one, other) => one.x - other.x)[0];
  const anchor = last ?? next;
  const x = last ? (next ? (last.x + last.width + next.x) / 2 : last.x + last.width + GAP) : (next?.x ?? 0) - GAP;
  const mark = { x: x - BAR / 2, y: (anchor?.y ?? 0) - 4, width: BAR, height: (anchor?.height ?? 60) + 8 };
  // Before the first one on the line: after the one that comes before it in the file.
  const after = last?.node.path ?? (next ? (row[row.indexOf(next) - 1]?.node.path ?? null) : null);
  return { into, case: anchor?.node.case ?? null, after, mark };
}

const NEAR = 18;
const PORT_MIDDLE = (CARD.height + FIELDS_HEIGHT) / 2;

/** The edge under the pointer: ways go out to the middle, up or down, and in. */
export function edgeAt(picture: Picture, point: Point, dragged: readonly string[]): Picture["edges"][number] | null {
  const boxes = new Map(picture.boxes.map((box) => [box.node.path, box]));
  for (const drawn of picture.edges) {
    const [from, to] = [boxes.get(drawn.from), boxes.get(drawn.to)];
    if (!from || !to || drawn.edge.kind === "feedback" || dragged.includes(drawn.from) || dragged.includes(drawn.to)) continue;
    const [start, end] = [outOf(from), into(to)];
    const middle = (start.x + end.x) / 2;
    const corners = [start, { x: middle, y: start.y }, { x: middle, y: end.y }, end];
    if (corners.some((corner, index) => index > 0 && distance(point, corners[index - 1] ?? corner, corner) < NEAR)) return drawn;
  }
  return null;
}

export function outOf(box: Box): Point {
  const card = box.card;
  return card ? { x: box.x + card.x + card.width, y: box.y + card.y + PORT_MIDDLE } : { x: box.x + box.width, y: box.y + box.height / 2 };
}

export function into(box: Box): Point {
  const card = box.card;
  return card ? { x: box.x + card.x, y: box.y + card.y + PORT_MIDDLE } : { x: box.x, y: box.y + box.height / 2 };
}

function distance(point: Point, from: Point, to: Point): number {
  const [width, height] = [to.x - from.x, to.y - from.y];
  const length = width * width + height * height;
  const share = length === 0 ? 0 : Math.min(1, Math.max(0, ((point.x - from.x) * width + (point.y - from.y) * height) / length));
  return Math.hypot(point.x - from.x - share * width, point.y - from.y - share * height);
}
