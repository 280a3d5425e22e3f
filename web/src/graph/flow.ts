/** The layout as nodes and edges of the canvas library; what has not changed stays the same object. */
import { Position } from "@xyflow/react";
import type { Layout, Placed } from "./layout";
import type { Piece, PieceData, WayBack, WayOn } from "./pieces";
import { isSame, type CanvasStates, type LoopChips } from "./states";

export interface FlowInput {
  layout: Layout;
  states: CanvasStates;
  chips: ReadonlyMap<string, LoopChips>;
  selected: string;
  collapsed: ReadonlySet<string>;
  onChoose: PieceData["onChoose"];
  onToggle: PieceData["onToggle"];
}

/** `before` are the pieces of the last time: those that would look the same are given again. */
export function piecesOf(input: FlowInput, before: ReadonlyMap<string, Piece>): Piece[] {
  return input.layout.nodes.map((placed) => {
    const { path } = placed.node;
    const known = before.get(path);
    const data: PieceData = {
      placed,
      state: keep(known?.data.state, input.states.get(path)),
      chips: keep(known?.data.chips, input.chips.get(path)),
      isCollapsed: input.collapsed.has(path),
      isDown: input.layout.isDown,
      onChoose: input.onChoose,
      onToggle: input.onToggle,
    };
    const isSelected = path === input.selected;
    if (known && known.selected === isSelected && isSame(known.data, data)) return known;
    return pieceOf(placed, data, isSelected, input.layout.isDown);
  });
}

/** Pieces that remember those of the last time. */
export function rememberedPieces(): (input: FlowInput) => Piece[] {
  let before: ReadonlyMap<string, Piece> = new Map();
  return (input) => {
    const pieces = piecesOf(input, before);
    before = new Map(pieces.map((piece) => [piece.id, piece]));
    return pieces;
  };
}

function keep<T extends object>(one: T | undefined, other: T | undefined): T | undefined {
  return isSame(one, other) ? one : other;
}

function pieceOf(placed: Placed, data: PieceData, selected: boolean, isDown: boolean): Piece {
  const { x, y, width, height, parent, node, isContainer, depth } = placed;
  // Sizes and ends are told, not measured: edges never wait for the browser to lay out.
  const end = { x: isDown ? width / 2 : 0, y: isDown ? 0 : height / 2, width: 1, height: 1 };
  const handles: Piece["handles"] = isDown
    ? [{ ...end, type: "target", position: Position.Top }, { ...end, y: height, type: "source", position: Position.Bottom }]
    : [{ ...end, type: "target", position: Position.Left }, { ...end, x: width, type: "source", position: Position.Right }];
  return {
    id: node.path,
    type: isContainer ? "container" : "step",
    position: { x, y },
    ...(parent ? { parentId: parent } : {}),
    width,
    height,
    measured: { width, height },
    handles,
    zIndex: depth,
    draggable: false,
    connectable: false,
    deletable: false,
    selected,
    ariaLabel: `${node.kind} ${node.title || node.name}`,
    data,
  };
}

export function edgesOf(layout: Layout): (WayBack | WayOn)[] {
  const depths = new Map(layout.nodes.map((placed) => [placed.node.path, placed.depth]));
  return layout.edges.map(({ id, from, to, label, kind, dip }) => {
    // An edge lies above the container that it is in, and below what it joins.
    const zIndex = depths.get(from) ?? 0;
    const ends = { id, source: from, target: to, zIndex, focusable: false };
    return kind === "feedback" ? { ...ends, type: "back", data: { dip, label, isDown: layout.isDown } } : { ...ends, type: "on", data: { label } };
  });
}
