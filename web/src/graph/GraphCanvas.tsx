/** The workflow as a picture, with what happens in it: nested loops, states, chips of iterations. */
import "@xyflow/react/dist/style.css";
import { Background, Controls, MiniMap, ReactFlow, type NodeChange } from "@xyflow/react";
import { useCallback, useMemo, useRef, useState } from "react";
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
  return (
    <div className="canvas">
      <Arrows />
      <ReactFlow
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
        fitViewOptions={{ padding: 0.12, maxZoom: 1.1 }}
        minZoom={0.1}
        aria-label={`graph of ${graph.name}`}
      >
        <Background gap={18} />
        <Controls showInteractive={false} />
        {(props.hasMap ?? graph.nodes.length >= MAP_NODES_MIN) && <MiniMap pannable zoomable ariaLabel="overview" />}
      </ReactFlow>
    </div>
  );
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
