/** The workflow as a picture, with what happens in it: nested loops, states, chips of iterations. */
import "@xyflow/react/dist/style.css";
import { Background, Controls, MiniMap, ReactFlow, useReactFlow, useStore, type NodeChange, type FitViewOptions } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type RefObject } from "react";
import type { Graph } from "../api";
import { edgesOf, rememberedPieces } from "./flow";
import { layoutOf, type Layout } from "./layout";
import { BackEdge, ContainerPiece, OnEdge, StepPiece, type Piece } from "./pieces";
import type { CanvasStates, LoopChips } from "./states";

interface GraphCanvasProps {
  graph: Graph;
  states: CanvasStates;
  /** By the path of the loop. */
  chips?: ReadonlyMap<string, LoopChips>;
  /** Path of the node that is looked at; "" for none. */
  selected: string;
  onSelect: (path: string) => void;
  onChoose?: (loop: string, number: number) => void;
  /** What is brought into view instead of the whole, which would be too small to read. */
  focus?: string;
}

const NODE_TYPES = { step: StepPiece, container: ContainerPiece };
const EDGE_TYPES = { on: OnEdge, back: BackEdge };
const NO_CHOICE = () => undefined;
const NO_CHIPS: ReadonlyMap<string, LoopChips> = new Map();
const NARROW = "(max-width: 600px)";
const HELP = { "node.a11yDescription.default": "Press Enter to open the step.", "node.a11yDescription.keyboardDisabled": "Press Enter to open the step." };
const FIT = { padding: 0.1, maxZoom: 1.1 };

export function GraphCanvas(props: GraphCanvasProps) {
  const { graph, states, chips = NO_CHIPS, selected, onSelect } = props;
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(() => new Set());
  const isDown = useSyncExternalStore(onNarrow, isNarrow, () => false);
  const layout = useMemo(() => layoutOf(graph, collapsed, isDown), [graph, collapsed, isDown]);
  const onChoose = props.onChoose ?? NO_CHOICE;
  const onToggle = useCallback((path: string) => setCollapsed((before) => toggled(before, path)), []);
  const [piecesNow] = useState(rememberedPieces);
  const nodes = useMemo(
    () => piecesNow({ layout, states, chips, selected, collapsed, onChoose, onToggle }),
    [piecesNow, layout, states, chips, selected, collapsed, onChoose, onToggle],
  );
  const edges = useMemo(() => edgesOf(layout), [layout]);
  const onNodesChange = useCallback(
    (changes: NodeChange<Piece>[]) => {
      const chosen = changes.find((change) => change.type === "select" && change.selected);
      if (chosen?.type === "select") onSelect(chosen.id);
    },
    [onSelect],
  );
  const isMoved = useRef(false);
  const focus = props.focus ?? "";
  const fitted = useMemo(() => (focus ? { ...FIT, nodes: [{ id: focus }] } : FIT), [focus]);
  const onMoveStart = useCallback((event: MouseEvent | TouchEvent | null) => {
    // Movements that the canvas makes itself have no event.
    if (event) isMoved.current = true;
  }, []);
  return (
    <div className="canvas">
      <Arrows />
      <ReactFlow
        onMoveStart={onMoveStart}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={onNodesChange}
        onPaneClick={() => onSelect("")}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        fitView
        fitViewOptions={fitted}
        minZoom={0.1}
        ariaLabelConfig={HELP}
        aria-label={`graph of ${graph.name}`}
      >
        <Background gap={18} />
        <Controls showInteractive={false} />
        {!isDown && <Overview layout={layout} />}
        <Fitted layout={layout} fitted={fitted} movedRef={isMoved} />
      </ReactFlow>
    </div>
  );
}

function onNarrow(changed: () => void): () => void {
  const asked = matchMedia(NARROW);
  asked.addEventListener("change", changed);
  return () => asked.removeEventListener("change", changed);
}

const isNarrow = (): boolean => matchMedia(NARROW).matches;

/** A small map, where not everything is in view. */
function Overview({ layout }: { layout: Layout }) {
  const isAll = useStore(({ transform: [x, y, zoom], width, height }) => {
    const isInside = (from: number, size: number, room: number) => from >= -1 && from + size * zoom <= room + 1;
    return isInside(x, layout.width, width) && isInside(y, layout.height, height);
  });
  return isAll ? null : <MiniMap pannable zoomable ariaLabel="overview" />;
}

interface FittedProps {
  layout: Layout;
  fitted: FitViewOptions<Piece>;
  movedRef: RefObject<boolean>;
}

/** Fits again when the frame or the picture changes, until somebody has moved it. */
function Fitted({ layout, fitted, movedRef }: FittedProps) {
  const { fitView } = useReactFlow<Piece>();
  // The size that the canvas knows: what watches the frame itself may be told of it earlier.
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  useEffect(() => {
    // A container that was opened or closed makes another picture: it is fitted, wherever the old one was.
    movedRef.current = false;
  }, [layout, fitted, movedRef]);
  useEffect(() => {
    if (!movedRef.current) void fitView(fitted);
  }, [width, height, layout, fitted, fitView, movedRef]);
  return null;
}

function toggled(before: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const after = new Set(before);
  if (!after.delete(path)) after.add(path);
  return after;
}

export function Arrows() {
  return (
    <svg className="arrows" aria-hidden="true" width="0" height="0">
      <defs>
        {["on", "back"].map((kind) => (
          <marker key={kind} id={`arrow-${kind}`} className={`arrow-${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M 0 0 L 8 4 L 0 8 z" />
          </marker>
        ))}
      </defs>
    </svg>
  );
}
