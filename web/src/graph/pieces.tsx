/** What stands on the canvas: steps, containers, and edges that go forward or back. */
import { BaseEdge, EdgeLabelRenderer, getSmoothStepPath, Handle, Position, type Edge, type EdgeProps, type Node, type NodeProps } from "@xyflow/react";
import { memo } from "react";
import { Chips, CHIPS_MAX, lookOf, StatusBadge } from "../charts";
import { budget, cost, endWords, tokens, visible } from "../journal/words";
import { tokensOf } from "../journal";
import type { Placed } from "./layout";
import type { CanvasState, LoopChips } from "./states";

export interface PieceData extends Record<string, unknown> {
  placed: Placed;
  state: CanvasState | undefined;
  chips: LoopChips | undefined;
  isCollapsed: boolean;
  isDown: boolean;
  onChoose: (loop: string, number: number) => void;
  onToggle: (path: string) => void;
}

export type Piece = Node<PieceData>;

const GLYPHS: Record<string, string> = {
  loop: "↻",
  foreach: "≡",
  branch: "◇",
  gate: "◉",
  wait: "◷",
  call: "↗",
  compute: "ƒ",
  assign: "=",
  stop: "■",
  break: "⤶",
  continue: "↷",
};

function Ends({ isDown }: { isDown: boolean }) {
  return (
    <>
      <Handle type="target" position={isDown ? Position.Top : Position.Left} isConnectable={false} />
      <Handle type="source" position={isDown ? Position.Bottom : Position.Right} isConnectable={false} />
    </>
  );
}

/** In which case of a branch it lies. */
function Case({ name }: { name: string | null }) {
  return name === null ? null : <span className="piece-case">case {visible(name)}</span>;
}

export const StepPiece = memo(function StepPiece({ data, selected }: NodeProps<Piece>) {
  const { node } = data.placed;
  const status = data.state?.status ?? "idle";
  const { tone } = lookOf(status);
  const detail = data.state?.note || node.model || node.detail || node.task || node.kind;
  const canOpen = node.loop !== null || node.kind === "foreach";
  if (data.isCollapsed) return <ClosedPiece data={data} selected={selected} />;
  return (
    <div className={`piece step tone-${tone} kind-${node.kind}${selected ? " is-selected" : ""}`} data-path={node.path} data-status={status} title={visible(data.state?.note ?? "")}>
      <Ends isDown={data.isDown} />
      <Case name={node.case} />
      <div className="piece-head">
        <span className="piece-title">
          {GLYPHS[node.kind] && <span aria-hidden="true">{GLYPHS[node.kind]} </span>}
          {visible(node.title || node.name)}
        </span>
        <StatusBadge status={status} compact />
      </div>
      <div className="piece-detail">
        {canOpen && data.state?.number ? `${data.state.number}/${data.state.limit ?? "∞"} · ` : ""}
        {visible(detail)}
        {(data.state?.attempts ?? 0) > 1 && ` · attempt ${data.state?.attempts}`}
      </div>
    </div>
  );
});

/** A container that is closed: how far it is, and its ports. */
function ClosedPiece({ data, selected }: { data: PieceData; selected: boolean }) {
  const { node } = data.placed;
  const { state, chips } = data;
  const status = state?.status ?? "idle";
  const about = node.loop?.until ? `until ${node.loop.until}` : node.detail;
  return (
    <div className={`piece container is-closed tone-${lookOf(status).tone} kind-${node.kind}${selected ? " is-selected" : ""}${data.isDown ? " is-down" : ""}${node.ports ? " has-ports" : ""}`} data-path={node.path} data-status={status}>
      <Ends isDown={data.isDown} />
      {!node.ports && <Port side="in" name="in" of={node.name} />}
      {!node.ports && <Port side="out" name="out" of={node.name} />}
      <Case name={node.case} />
      <div className="piece-head">
        <span className="piece-title">
          <Toggle data={data} />
          <span aria-hidden="true">{GLYPHS[node.kind] ?? "▭"} </span>
          {visible(node.title || node.name)}
        </span>
        {state?.number ? <StatusBadge status={status} text={iterationWords(state)} /> : <StatusBadge status={status} />}
      </div>
      <div className="piece-detail">{visible(about)}</div>
      {chips && <div className="piece-detail">{usageText(chips)}</div>}
      {node.ports && (
        <div className="piece-ports">
          <div>
            {node.ports.inputs.map((name) => (
              <Port key={name} side="in" name={name} of={node.name} />
            ))}
          </div>
          <div>
            {node.ports.outputs.map((name) => (
              <Port key={name} side="out" name={name} of={node.name} />
            ))}
          </div>
        </div>
      )}
    </div>
  );
}

function Port({ side, name, of }: { side: "in" | "out"; name: string; of: string }) {
  return (
    <span className={`piece-port piece-port-${side}`} title={`what ${side === "in" ? "goes into" : "comes out of"} ${visible(of)}`}>
      {visible(name)}
    </span>
  );
}

export const ContainerPiece = memo(function ContainerPiece({ data, selected }: NodeProps<Piece>) {
  const { node } = data.placed;
  const status = data.state?.status ?? "idle";
  const { tone } = lookOf(status);
  const { chips, state } = data;
  const about = state?.note || (node.loop?.until ? `until ${node.loop.until}` : node.detail);
  return (
    <div className={`piece container tone-${tone} kind-${node.kind}${selected ? " is-selected" : ""}`} data-path={node.path} data-status={status}>
      <Ends isDown={data.isDown} />
      <Case name={node.case} />
      <div className="piece-head">
        <span className="piece-title">
          <Toggle data={data} />
          <span aria-hidden="true">{GLYPHS[node.kind] ?? "▭"} </span>
          {visible(node.title || node.name)}
        </span>
        {state?.number ? (
          <StatusBadge status={status} text={iterationWords(state)} />
        ) : (
          <StatusBadge status={status} />
        )}
      </div>
      {about && <div className="piece-detail">{visible(about)}</div>}
      {chips && (
        <div className="piece-foot" onClick={(event) => event.stopPropagation()}>
          <Chips
            iterations={chips.iterations}
            best={chips.best}
            returned={chips.returned}
            chosen={chips.chosen}
            limit={chips.limit}
            chipsMax={chipsThatFit(chips, data.placed.width - ROOM_FOR_USAGE)}
            onChoose={(number) => data.onChoose(chips.address, number)}
            label={`iterations of ${node.name}`}
          />
          <span className="piece-usage">{usageText(chips)}</span>
        </div>
      )}
    </div>
  );
});

const usageText = ({ usage, budget_usd }: LoopChips): string =>
  `${cost(usage, budget_usd)}${budget_usd === null ? "" : ` / ${budget(budget_usd)}`} · ${tokens(tokensOf(usage))} tok`;

const ROOM_FOR_USAGE = 130;

/** One chip for each iteration, which may be scrolled; of very many as many buckets as fit. */
function chipsThatFit({ iterations }: LoopChips, width: number): number {
  if (iterations.length <= CHIPS_MAX) return CHIPS_MAX;
  const digits = String(iterations.at(-1)?.number ?? 1).length;
  return Math.max(3, Math.floor(width / (26 + 15 * digits)));
}

/** "Iteration 3/5" while it runs; what ended it afterwards. */
function iterationWords(state: CanvasState): string {
  const count = `${state.number}/${state.limit ?? "∞"}`;
  return state.exitReason ? `${count} · ${endWords(state.exitReason, state.stoppedBy)}` : `Iteration ${count}`;
}

function Toggle({ data }: { data: PieceData }) {
  const { path, name } = data.placed.node;
  return (
    <button
      type="button"
      className="toggle nodrag nopan"
      aria-expanded={!data.isCollapsed}
      aria-label={`${data.isCollapsed ? "open" : "close"} ${name}`}
      onClick={(event) => {
        event.stopPropagation();
        data.onToggle(path);
      }}
    >
      {data.isCollapsed ? "▸" : "▾"}
    </button>
  );
}

export type WayBack = Edge<{ dip: number; label: string; isDown?: boolean }, "back">;

/** A feedback edge: out on the right, back under everything, in on the left; or out below, back on the left, in above. */
export function BackEdge({ id, sourceX, sourceY, targetX, targetY, data }: EdgeProps<WayBack>) {
  const dip = data?.dip ?? 60;
  if (data?.isDown) {
    const [left, under, over] = [sourceX - dip, sourceY + 10, targetY - 10];
    const around = `M ${sourceX} ${sourceY} V ${under} H ${left} V ${over} H ${targetX} V ${targetY}`;
    return <BaseEdge id={id} path={around} className="edge-back" markerEnd="url(#arrow-back)" />;
  }
  const bottom = sourceY + dip;
  const [out, into] = [sourceX + 12, targetX - 12];
  const path = `M ${sourceX} ${sourceY} H ${out} V ${bottom} H ${into} V ${targetY} H ${targetX}`;
  return (
    <>
      <BaseEdge id={id} path={path} className="edge-back" markerEnd="url(#arrow-back)" />
      {data?.label && <EdgeLabel x={(out + into) / 2} y={bottom} text={data.label} />}
    </>
  );
}

export type WayOn = Edge<{ label: string }, "on">;

export function OnEdge({ id, data, ...ends }: EdgeProps<WayOn>) {
  const { sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition } = ends;
  const [path, labelX, labelY] = getSmoothStepPath({
    sourceX,
    sourceY,
    targetX,
    targetY,
    sourcePosition,
    targetPosition,
    borderRadius: 8,
  });
  return (
    <>
      <BaseEdge id={id} path={path} className="edge-on" markerEnd="url(#arrow-on)" />
      {data?.label && <EdgeLabel x={labelX} y={labelY} text={data.label} />}
    </>
  );
}

function EdgeLabel({ x, y, text }: { x: number; y: number; text: string }) {
  return (
    <EdgeLabelRenderer>
      <div className="edge-label" style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}>
        {visible(text)}
      </div>
    </EdgeLabelRenderer>
  );
}
