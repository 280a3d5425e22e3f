/** Which part of the picture is seen: the whole, or its beginning where the whole would be too small to read. */
import { getViewportForBounds, useReactFlow, type Viewport } from "@xyflow/react";
import { useCallback, useEffect, useRef, type RefObject } from "react";
import { useEditorState, useOpenFile } from "../state";
import type { Picture, Rect, Size } from "./model";

export const ZOOM_MIN = 0.1;
/** The smallest scale at which titles can be read. */
const READABLE = 0.5;
const EDGE_PX = 24;
export const WHOLE = { padding: 0.12, maxZoom: 1.1 };

/** The view of a picture that has just been opened, and whether it is the whole; where it is not, a step that is selected is in its middle. */
export function viewOf(picture: Picture, frame: Size, selected = ""): Viewport & { isWhole: boolean } {
  const bounds = boundsOf([...picture.boxes, ...picture.empty]);
  const whole = getViewportForBounds(bounds, frame.width, frame.height, ZOOM_MIN, WHOLE.maxZoom, WHOLE.padding);
  if (whole.zoom >= READABLE) return { ...whole, isWhole: true };
  const wanted = picture.boxes.find((box) => box.node.path === selected);
  if (wanted) return { ...getViewportForBounds(wanted, frame.width, frame.height, READABLE, READABLE, 0), isWhole: false };
  const begin = (start: number, length: number, room: number) => Math.max(EDGE_PX, (room - length * READABLE) / 2) - start * READABLE;
  return { isWhole: false, zoom: READABLE, x: begin(bounds.x, bounds.width, frame.width), y: begin(bounds.y, bounds.height, frame.height) };
}

function boundsOf(all: readonly Rect[]): Rect {
  if (all.length === 0) return { x: 0, y: 0, width: 1, height: 1 };
  const x = Math.min(...all.map((one) => one.x));
  const y = Math.min(...all.map((one) => one.y));
  return { x, y, width: Math.max(...all.map((one) => one.x + one.width)) - x, height: Math.max(...all.map((one) => one.y + one.height)) - y };
}

/** Shows a picture from its beginning when it is opened; all of it again when the frame gets another size, if all of it was seen. */
export function useView(frame: RefObject<HTMLDivElement | null>, picture: Picture): void {
  const { setViewport } = useReactFlow();
  const { store } = useOpenFile();
  const drill = useEditorState((state) => state.drill);
  const isOpen = useEditorState((state) => state.isOpen);
  const drawn = useRef(picture);
  useEffect(() => {
    drawn.current = picture;
  }, [picture]);
  const show = useCallback(
    ({ clientWidth: width, clientHeight: height }: HTMLDivElement, isAgain = false) => {
      if (!width || !height) return;
      const { isWhole, ...view } = viewOf(drawn.current, { width, height }, store.getState().selected.at(-1));
      if (isWhole || !isAgain) void setViewport(view);
    },
    [setViewport, store],
  );
  useEffect(() => {
    if (frame.current) show(frame.current);
  }, [drill, isOpen, frame, show]);
  useEffect(() => {
    const box = frame.current;
    if (!box) return;
    let width = box.clientWidth;
    const watcher = new ResizeObserver(([entry]) => {
      const now = entry?.contentRect.width ?? width;
      if (Math.abs(now - width) > 80) show(box, true);
      width = now;
    });
    watcher.observe(box);
    return () => watcher.disconnect();
  }, [frame, show]);
}

/** What an operation did not touch stays where it is on the screen: the view moves along with the first such box. */
export function useSteady(picture: Picture): void {
  const { getViewport, setViewport } = useReactFlow();
  const before = useRef(picture);
  useEffect(() => {
    const earlier = new Map(before.current.boxes.map((box) => [box.node.path, box]));
    before.current = picture;
    const anchor = picture.boxes.find((box) => earlier.has(box.node.path) && box.parent === "" && !picture.isPlaced);
    const old = anchor && earlier.get(anchor.node.path);
    if (!anchor || !old || (old.x === anchor.x && old.y === anchor.y)) return;
    const { x, y, zoom } = getViewport();
    void setViewport({ x: x + (old.x - anchor.x) * zoom, y: y + (old.y - anchor.y) * zoom, zoom });
  }, [picture, getViewport, setViewport]);
}
