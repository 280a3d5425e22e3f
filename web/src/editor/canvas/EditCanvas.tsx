/** The picture that is edited: steps are dragged, dropped, connected and opened here. */
import "@xyflow/react/dist/style.css";
import { applyNodeChanges, Background, Controls, MiniMap, ReactFlow, ReactFlowProvider, useReactFlow, ViewportPortal, type Node, type NodeChange } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState, type RefObject } from "react";
import { BackEdge, OnEdge } from "../../graph/pieces";
import type { Operation, PaletteKind } from "../contract";
import { useEditorState, useOpenFile } from "../state";
import { isReadOnly } from "../state/store";
import { Arrows } from "../../graph/GraphCanvas";
import { edgesOf, rememberedPieces, type Piece } from "./flow";
import { pictureOf } from "./layout";
import { toggled, type Picture, type Rect } from "./model";
import { EditContainer, EditStep, EmptySpot, PieceContext } from "./pieces";
import { problemsByPath } from "./problems";
import { useConnecting } from "./connecting";
import { useDragging, type Hint } from "./dragging";
import type { CanvasAsk } from "./asking";
import { useSteady, useView, WHOLE, ZOOM_MIN } from "./viewing";

const NODE_TYPES = { step: EditStep, container: EditContainer, empty: EmptySpot };
const EDGE_TYPES = { on: OnEdge, back: BackEdge };
const MAP_NODES_MIN = 12;

export interface EditCanvasProps {
  /** Opens the inside of a container, or another file. */
  onOpen: (path: string) => void;
  ask: (question: CanvasAsk) => void;
  linking: string;
  chosenEdge: string;
  onEdge: (id: string) => void;
  onPick: (path: string, isMore: boolean) => void;
}

export function usePicture(): Picture {
  const sketch = useEditorState((state) => state.sketch);
  const dialect = useEditorState((state) => state.dialect);
  const drill = useEditorState((state) => state.drill);
  const collapsed = useEditorState((state) => state.collapsed);
  return useMemo(() => pictureOf(sketch, dialect, drill, collapsed), [sketch, dialect, drill, collapsed]);
}

export function EditCanvas({ picture, ...props }: EditCanvasProps & { picture: Picture }) {
  const isDragging = useEditorState((state) => state.isDragging);
  const [held, setHeld] = useState(picture);
  // Answers that come during a drag are drawn when it ends: nothing moves under the pointer.
  if (!isDragging && held !== picture) setHeld(picture);
  return (
    <ReactFlowProvider>
      <Canvas {...props} picture={isDragging ? held : picture} isDragging={isDragging} />
    </ReactFlowProvider>
  );
}

function usePieces(picture: Picture, linking: string): Piece[] {
  const palette = useEditorState((state) => state.palette);
  const diagnostics = useEditorState((state) => state.diagnostics);
  const sketch = useEditorState((state) => state.sketch);
  const selected = useEditorState((state) => state.selected);
  const readOnly = useEditorState((state) => isReadOnly(state) || state.isBroken);
  const kinds = useMemo(() => new Map<string, PaletteKind>(palette.groups.flatMap((group) => group.kinds.map((kind) => [kind.kind, kind] as const))), [palette]);
  const problems = useMemo(() => problemsByPath(sketch, diagnostics), [sketch, diagnostics]);
  const [made] = useState(rememberedPieces);
  const canDrag = !readOnly && palette.groups.length > 0;
  return useMemo(() => made({ picture, kinds, problems, selected, linking, isReadOnly: readOnly, canDrag }), [made, picture, kinds, problems, selected, linking, readOnly, canDrag]);
}

function Canvas({ picture, isDragging, onOpen, ask, linking, chosenEdge, onEdge, onPick }: EditCanvasProps & { picture: Picture; isDragging: boolean }) {
  const { store, actions } = useOpenFile();
  const isBroken = useEditorState((state) => state.isBroken);
  const file = useEditorState((state) => state.file);
  const pieces = usePieces(picture, linking);
  const [shown, setShown] = useState(pieces);
  const [nodes, setNodes] = useState<Piece[]>(pieces);
  // What is drawn follows the picture; between two pictures the library moves what is dragged.
  if (shown !== pieces && !isDragging) {
    setShown(pieces);
    setNodes(pieces);
  }
  const edges = useMemo(() => edgesOf(picture, chosenEdge), [picture, chosenEdge]);
  const apply = useCallback((operations: Operation[]) => void actions.apply(operations), [actions]);
  const frame = useRef<HTMLDivElement>(null);
  const reset = useCallback(() => setNodes([...pieces]), [pieces]);
  const dragging = useDragging(picture, reset);
  const connecting = useConnecting(picture, ask);
  const { isCancelled } = dragging;
  const onNodesChange = useCallback(
    (changes: NodeChange<Piece>[]) => {
      const wanted = changes.filter((change) => change.type === "dimensions" || (change.type === "position" && !isCancelled()));
      if (wanted.length > 0) setNodes((before) => applyNodeChanges(wanted, before));
    },
    [isCancelled],
  );
  const pieceActions = useMemo(
    () => ({
      apply,
      toggle: (path: string) => store.setState(({ collapsed }) => ({ collapsed: toggled(collapsed, path) })),
    }),
    [apply, store],
  );
  const onNodeClick = useCallback(
    (event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }, node: Node) => {
      if (node.type === "empty") ask({ kind: "add", place: (node.data as { place: { into: string; case: string | null } }).place });
      else onPick(node.id, event.shiftKey || event.ctrlKey || event.metaKey);
    },
    [ask, onPick],
  );
  useSteady(picture);
  useView(frame, picture);
  useTree(frame, nodes.length > 0);
  useFocus(frame);
  return (
    <div ref={frame} className={`canvas edit-canvas${isBroken ? " is-broken" : ""}`} onDragOver={dragging.onDragOver} onDragLeave={dragging.onDragLeave} onDrop={dragging.onDrop}>
      <Arrows />
      <PieceContext value={pieceActions}>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={NODE_TYPES}
          edgeTypes={EDGE_TYPES}
          onNodesChange={onNodesChange}
          onNodeClick={onNodeClick}
          onNodeDoubleClick={(_, node) => node.type !== "empty" && onOpen(node.id)}
          onEdgeClick={(_, edge) => onEdge(edge.id)}
          onPaneClick={() => {
            onEdge("");
            store.setState({ selected: [] });
          }}
          onNodeDragStart={dragging.onStart}
          onNodeDrag={dragging.onDrag}
          onNodeDragStop={dragging.onStop}
          onConnect={connecting.onConnect}
          onConnectEnd={connecting.onConnectEnd}
          connectionRadius={24}
          nodeDragThreshold={4}
          elementsSelectable={false}
          nodesFocusable
          edgesFocusable={false}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          deleteKeyCode={null}
          disableKeyboardA11y
          zoomOnDoubleClick={false}
          onlyRenderVisibleElements
          minZoom={ZOOM_MIN}
          aria-label={`canvas of ${file}`}
        >
          <Background gap={18} />
          <Controls showInteractive={false} fitViewOptions={WHOLE} />
          {picture.boxes.length >= MAP_NODES_MIN && <MiniMap pannable zoomable ariaLabel="overview" />}
          {dragging.hint && <DropHint hint={dragging.hint} />}
        </ReactFlow>
      </PieceContext>
    </div>
  );
}

function DropHint({ hint }: { hint: Hint }) {
  const at = (rect: Rect) => ({ transform: `translate(${rect.x}px, ${rect.y}px)`, width: rect.width, height: rect.height });
  return (
    <ViewportPortal>
      {hint.holder && <div className="drop-holder" style={at(hint.holder)} />}
      {hint.mark && <div className="drop-mark" style={at(hint.mark)} />}
    </ViewportPortal>
  );
}

const TREE = [["role", "tree"], ["aria-label", "steps"], ["aria-multiselectable", "true"]] as const;

/** The library has no word for it, but what holds the nodes is a tree. */
function useTree(frame: RefObject<HTMLDivElement | null>, hasNodes: boolean): void {
  useEffect(() => {
    const holder = frame.current?.querySelector(".react-flow__nodes");
    if (!holder) return;
    for (const [name, value] of TREE) {
      if (hasNodes) holder.setAttribute(name, value);
      else holder.removeAttribute(name);
    }
  }, [frame, hasNodes]);
}

/** The keyboard goes along with the selection, as long as it is on the canvas. */
function useFocus(frame: RefObject<HTMLDivElement | null>): void {
  const first = useEditorState((state) => state.selected.at(-1));
  const sketch = useEditorState((state) => state.sketch);
  const { setCenter, getInternalNode, getViewport } = useReactFlow();
  useEffect(() => {
    const isHere = () => {
      const active = document.activeElement;
      return active === document.body || active === null || (frame.current?.contains(active) && !/^(INPUT|SELECT|TEXTAREA)$/.test(active.tagName));
    };
    if (!first || !isHere()) return;
    const timer = requestAnimationFrame(() => {
      const node = getInternalNode(first);
      const box = frame.current?.getBoundingClientRect();
      if (!node || !box) return;
      const { x, y, zoom } = getViewport();
      const { x: left, y: top } = node.internals.positionAbsolute;
      const [onX, onY] = [left * zoom + x, top * zoom + y];
      const isSeen = onX > -20 && onY > -20 && onX < box.width - 60 && onY < box.height - 30;
      if (!isSeen) void setCenter(left + (node.measured.width ?? 0) / 2, top + (node.measured.height ?? 0) / 2, { zoom });
      requestAnimationFrame(() => isHere() && frame.current?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(first)}"]`)?.focus({ preventScroll: true }));
    });
    return () => cancelAnimationFrame(timer);
  }, [first, sketch, frame, getInternalNode, getViewport, setCenter]);
}

