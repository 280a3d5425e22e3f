/** The workflow as a picture, with what happens in it: nested loops, states, chips of iterations. */
import "@xyflow/react/dist/style.css";
import { Background, Controls, MiniMap, ReactFlow, type NodeChange, type FitViewOptions } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState, type RefObject } from "react";
import type { Graph } from "../api";
import { edgesOf, piecesOf } from "./flow";
import { layoutOf } from "./layout";
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
  hasMap?: boolean;
}

const NODE_TYPES = { step: StepPiece, container: ContainerPiece };
const EDGE_TYPES = { on: OnEdge, back: BackEdge };
const NO_CHIPS: ReadonlyMap<string, LoopChips> = new Map();
const MAP_NODES_MIN = 8;
const HELP = { "node.a11yDescription.default": "Press Enter to look at the node.", "node.a11yDescription.keyboardDisabled": "Press Enter to look at the node." };
const FIT = { padding: 0.1, maxZoom: 1.1 };

export function GraphCanvas(props: GraphCanvasProps) {
  const { graph, states, chips = NO_CHIPS, selected, onSelect } = props;
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(() => new Set());
  const layout = useMemo(() => layoutOf(graph, collapsed), [graph, collapsed]);
  const choose = useRef(props.onChoose);
  choose.current = props.onChoose;
  const onChoose = useCallback((loop: string, number: number) => choose.current?.(loop, number), []);
  const onToggle = useCallback((path: string) => setCollapsed((before) => toggled(before, path)), []);
  const before = useRef<ReadonlyMap<string, Piece>>(new Map());
  const nodes = useMemo(
    () => piecesOf({ layout, states, chips, selected, collapsed, onChoose, onToggle }, before.current),
    [layout, states, chips, selected, collapsed, onChoose, onToggle],
  );
  before.current = useMemo(() => new Map(nodes.map((node) => [node.id, node])), [nodes]);
  const edges = useMemo(() => edgesOf(layout), [layout]);
  const onNodesChange = useCallback(
    (changes: NodeChange<Piece>[]) => {
      const chosen = changes.find((change) => change.type === "select" && change.selected);
      if (chosen?.type === "select") onSelect(chosen.id);
    },
    [onSelect],
  );
  const frame = useRef<HTMLDivElement>(null);
  const { onInit, onMoveStart } = useFitting(frame);
  return (
    <div ref={frame} className="canvas">
      <Arrows />
      <ReactFlow
        onInit={onInit}
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
        fitViewOptions={FIT}
        minZoom={0.1}
        ariaLabelConfig={HELP}
        aria-label={`graph of ${graph.name}`}
      >
        <Background gap={18} />
        <Controls showInteractive={false} />
        {(props.hasMap ?? graph.nodes.length >= MAP_NODES_MIN) && <MiniMap pannable zoomable ariaLabel="overview" />}
      </ReactFlow>
    </div>
  );
}

interface Fitting {
  fitView: (options: FitViewOptions<Piece>) => Promise<boolean>;
}

/** Shows the whole again when the frame changes, until somebody has moved the picture. */
function useFitting(frame: RefObject<HTMLDivElement | null>) {
  const flow = useRef<Fitting | null>(null);
  const isMoved = useRef(false);
  useEffect(() => {
    if (!frame.current) return;
    const watcher = new ResizeObserver(() => {
      if (!isMoved.current) void flow.current?.fitView(FIT);
    });
    watcher.observe(frame.current);
    return () => watcher.disconnect();
  }, [frame]);
  return {
    onInit: (instance: Fitting) => {
      flow.current = instance;
    },
    // Movements that the canvas makes itself have no event.
    onMoveStart: (event: MouseEvent | TouchEvent | null) => {
      if (event) isMoved.current = true;
    },
  };
}

function toggled(before: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const after = new Set(before);
  if (!after.delete(path)) after.add(path);
  return after;
}

function Arrows() {
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
