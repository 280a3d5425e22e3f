/** Dragging steps and kinds: where they would go is shown, and Escape leaves all as it was. */
import { useReactFlow, type Node } from "@xyflow/react";
import { useCallback, useEffect, useRef, useState, type DragEvent } from "react";
import type { Operation } from "../contract";
import { useOpenFile } from "../state";
import { say } from "../state/store";
import { addAt, addPlaced, dropped, moveTo } from "./commands";
import type { DrawnEdge, Picture, Point, Rect } from "./model";
import { edgeAt, holderAt, slotAt } from "./slots";

export const KIND_TYPE = "application/x-whorl-kind";

export interface Hint {
  holder: Rect | null;
  mark: Rect | null;
}

type Pointer = { clientX: number; clientY: number } | TouchEvent;

function pointerOf(event: Pointer): Point {
  if ("clientX" in event) return { x: event.clientX, y: event.clientY };
  const touch = event.changedTouches[0];
  return { x: touch?.clientX ?? 0, y: touch?.clientY ?? 0 };
}

export function useDragging(picture: Picture, reset: () => void) {
  const { store, actions } = useOpenFile();
  const { screenToFlowPosition, getInternalNode } = useReactFlow();
  const [hint, setHint] = useState<Hint | null>(null);
  const cancelled = useRef(false);
  const isCancelled = useCallback(() => cancelled.current, []);

  const end = useCallback(() => {
    setHint(null);
    store.setState({ isDragging: false });
  }, [store]);

  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !store.getState().isDragging || cancelled.current) return;
      cancelled.current = true;
      event.stopPropagation();
      reset();
      setHint(null);
      say(store, "nothing was moved");
    };
    addEventListener("keydown", listen, true);
    return () => removeEventListener("keydown", listen, true);
  }, [store, reset]);

  const hintAt = (point: Point, paths: readonly string[]): Hint => {
    const holder = holderAt(picture, point, paths);
    if (!picture.isPlaced) return { holder, mark: slotAt(picture, point, paths, store.getState().drill).mark };
    const edge = paths.length <= 1 ? edgeAt(picture, point, paths) : null;
    return { holder, mark: edge ? middleOf(picture, edge) : null };
  };

  const operationsFor = (point: Point, nodes: readonly Node[]): Operation[] => {
    const { sketch, drill } = store.getState();
    const paths = nodes.map((node) => node.id);
    if (!picture.isPlaced) return moveTo(sketch, paths, slotAt(picture, point, paths, drill));
    const [first] = nodes;
    const box = picture.boxes.find((one) => one.node.path === first?.id);
    const now = first && getInternalNode(first.id)?.internals.positionAbsolute;
    if (!box || !now) return [];
    const delta = { x: now.x - box.x, y: now.y - box.y };
    const edge = paths.length === 1 ? edgeAt(picture, point, paths) : null;
    return dropped(sketch, picture, paths, delta, holderAt(picture, point, paths), drill, edge);
  };

  return {
    hint,
    isCancelled,
    onStart: () => {
      cancelled.current = false;
      store.setState({ isDragging: true });
    },
    onDrag: (event: Pointer, _: Node, nodes: Node[]) => {
      if (cancelled.current) return;
      setHint(hintAt(screenToFlowPosition(pointerOf(event)), nodes.map((node) => node.id)));
    },
    onStop: (event: Pointer, _: Node, nodes: Node[]) => {
      // Before the drag ends, when the picture may become another one.
      const operations = cancelled.current ? [] : operationsFor(screenToFlowPosition(pointerOf(event)), nodes);
      end();
      cancelled.current = false;
      if (operations.length === 0) return reset();
      void actions.apply(operations).then((edited) => edited ?? reset());
    },
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes(KIND_TYPE)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      setHint(hintAt(screenToFlowPosition(pointerOf(event)), []));
    },
    onDragLeave: () => setHint(null),
    onDrop: (event: DragEvent) => {
      const kind = event.dataTransfer.getData(KIND_TYPE);
      setHint(null);
      if (!kind) return;
      event.preventDefault();
      const point = screenToFlowPosition(pointerOf(event));
      const { drill } = store.getState();
      const operations = picture.isPlaced ? addPlaced(picture, point, holderAt(picture, point, []), drill, edgeAt(picture, point, []), { kind }) : [addAt(slotAt(picture, point, [], drill), { kind })];
      void actions.apply(operations);
    },
  };
}

function middleOf(picture: Picture, drawn: DrawnEdge): Rect {
  const find = (path: string) => picture.boxes.find((box) => box.node.path === path);
  const [from, to] = [find(drawn.from), find(drawn.to)];
  const x = ((from?.x ?? 0) + (from?.width ?? 0) + (to?.x ?? 0)) / 2;
  const y = ((from?.y ?? 0) + (from?.height ?? 0) / 2 + (to?.y ?? 0) + (to?.height ?? 0) / 2) / 2;
  return { x: x - 12, y: y - 12, width: 24, height: 24 };
}
