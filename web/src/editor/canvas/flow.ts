/** The picture as nodes and edges of the canvas library; what has not changed stays the same object. */
import { Position, type Edge, type Node } from "@xyflow/react";
import type { PaletteKind } from "../contract";
import { CARD, FIELDS_HEIGHT, STEP, type Box, type DrawnEdge, type EmptyPlace, type Picture, type Point } from "./model";

export interface PieceData extends Record<string, unknown> {
  box: Box;
  kind: PaletteKind | undefined;
  problems: number;
  isReadOnly: boolean;
  isLinking: boolean;
}

export interface EmptyData extends Record<string, unknown> {
  place: EmptyPlace;
}

export type Piece = Node<PieceData, "step" | "container"> | Node<EmptyData, "empty">;

export interface Port {
  name: string;
  id: string;
  /** Its place relative to the box. */
  at: Point;
}

const spread = (all: readonly string[], x: number, top: number, height: number, side: "in" | "out"): Port[] => {
  return all.map((name, index) => ({ name, id: `${side}:${name}`, at: { x, y: top + (height * (index + 1)) / (all.length + 1) } }));
};

/** Where the rows of ports begin on a node that has some. */
const ROWS_TOP = STEP.height - 8;

/** The ports of a node: on its card where it has one, else on its rim. */
export function portsOf({ node, card, width, height, form, outputs }: Box): { inputs: Port[]; outputs: Port[] } {
  const whole = card ?? { x: 0, y: 0, width, height };
  // On a card with fields they stand below these.
  const isCard = card !== null || (form === "collapsed" && height === CARD.height);
  const top = isCard ? FIELDS_HEIGHT : form !== "container" && height > STEP.height ? ROWS_TOP : 0;
  const rect = { ...whole, y: whole.y + top, height: whole.height - top };
  // Where a dialect has no ports, each step has one on either side, without a name.
  const [ins, outs] = node.ports.inputs.length + outputs.length === 0 ? [[""], [""]] : [node.ports.inputs, outputs];
  return {
    inputs: spread(ins, rect.x, rect.y, rect.height, "in"),
    outputs: spread(outs, rect.x + rect.width, rect.y, rect.height, "out"),
  };
}

/** The handle under which what is fed back to a loop arrives. */
export const BACK = "back";

export const hasBack = ({ form, node }: Box): boolean => form === "container" && node.kind === "repeat";

export interface FlowInput {
  picture: Picture;
  kinds: ReadonlyMap<string, PaletteKind>;
  problems: ReadonlyMap<string, number>;
  selected: readonly string[];
  linking: string;
  isReadOnly: boolean;
  canDrag: boolean;
}

/** Pieces that remember those of the last time. */
export function rememberedPieces(): (input: FlowInput) => Piece[] {
  let before: ReadonlyMap<string, { piece: Piece; key: string }> = new Map();
  return (input) => {
    const boxes = new Map(input.picture.boxes.map((box) => [box.node.path, box]));
    const made = [...input.picture.boxes.map((box) => boxPiece(box, input, boxes.get(box.parent))), ...input.picture.empty.map((place) => emptyPiece(place, boxes.get(place.into)))];
    const kept = made.map((piece) => {
      const key = JSON.stringify(piece);
      const known = before.get(piece.id);
      return { piece: known?.key === key ? known.piece : piece, key };
    });
    before = new Map(kept.map((one) => [one.piece.id, one]));
    return kept.map((one) => one.piece);
  };
}

function boxPiece(box: Box, input: FlowInput, parent: Box | undefined): Piece {
  const { node, width, height, form } = box;
  const { inputs, outputs } = portsOf(box);
  const isSelected = input.selected.includes(node.path);
  const kind = input.kinds.get(node.kind);
  const problems = input.problems.get(node.path) ?? 0;
  const end = { width: 1, height: 1 };
  return {
    id: node.path,
    type: form === "container" ? "container" : "step",
    position: { x: box.x - (parent?.x ?? 0), y: box.y - (parent?.y ?? 0) },
    ...(box.parent && parent ? { parentId: box.parent } : {}),
    width,
    height,
    measured: { width, height },
    // Sizes and ends are told, not measured: edges never wait for the browser to lay out.
    handles: [
      ...inputs.map((port) => ({ ...end, ...port.at, id: port.id, type: "target" as const, position: Position.Left })),
      ...outputs.map((port) => ({ ...end, ...port.at, id: port.id, type: "source" as const, position: Position.Right })),
      ...(hasBack(box) ? [{ ...end, x: width / 2, y: height, id: `in:${BACK}`, type: "target" as const, position: Position.Bottom }] : []),
    ],
    // What lies over a rim without being inside of it is seen all the same.
    zIndex: 2 * box.depth + (form === "container" ? 0 : 1),
    draggable: input.canDrag,
    connectable: !input.isReadOnly,
    deletable: false,
    selected: isSelected,
    ariaRole: "treeitem",
    domAttributes: {
      "aria-level": box.depth + 1,
      "aria-selected": isSelected,
      ...(form === "step" ? {} : { "aria-expanded": form === "container" }),
    },
    data: { box, kind, problems, isReadOnly: input.isReadOnly, isLinking: input.linking === node.path },
  };
}

export const emptyId = (into: string, name: string | null): string => `empty:${into}:${name ?? ""}`;

function emptyPiece(place: EmptyPlace, parent: Box | undefined): Piece {
  const { width, height } = place;
  return {
    id: emptyId(place.into, place.case),
    type: "empty",
    position: { x: place.x - (parent?.x ?? 0), y: place.y - (parent?.y ?? 0) },
    ...(parent ? { parentId: place.into } : {}),
    width,
    height,
    measured: { width, height },
    handles: [],
    zIndex: 2 * place.depth + 1,
    draggable: false,
    connectable: false,
    deletable: false,
    ariaRole: "treeitem",
    domAttributes: { "aria-level": place.depth + 1, "aria-selected": false },
    data: { place },
  };
}

const WORDS = { order: "before", data: "to", branch: "to", feedback: "back to" } as const;

export function edgeWords({ edge, from, to }: DrawnEdge): string {
  if (edge.kind === "feedback") return `feedback: ${from}${edge.label ? `, ${edge.label}` : ""}, back to ${to}`;
  const port = edge.from_port && edge.from_port !== "output" ? `.${edge.from_port}` : "";
  return `${from}${port} ${WORDS[edge.kind]} ${to}`;
}

export function edgesOf(picture: Picture, chosen: string): Edge[] {
  const boxes = new Map(picture.boxes.map((box) => [box.node.path, box]));
  return picture.edges.flatMap((drawn) => {
    const [from, to] = [boxes.get(drawn.from), boxes.get(drawn.to)];
    if (!from || !to) return [];
    const { edge, id } = drawn;
    const find = (ports: Port[], name: string) => (ports.find((port) => port.name === name) ?? ports[0])?.id ?? null;
    const port = edge.from_port && edge.from_port !== "output" && edge.kind === "data" ? edge.from_port : "";
    return {
      id,
      source: drawn.from,
      target: drawn.to,
      sourceHandle: find(portsOf(from).outputs, edge.from_port),
      targetHandle: find(portsOf(to).inputs, edge.to_port),
      // Above the rims that it crosses, and below what it joins.
      zIndex: 2 * Math.max(from.depth, to.depth) + 1,
      focusable: false,
      selected: id === chosen,
      ariaLabel: edgeWords(drawn),
      type: edge.kind === "feedback" ? "back" : "on",
      data: { label: edge.label || port, dip: drawn.dip },
    };
  });
}
