/** Connections that are drawn: from a port to a port, or to whatever lies under the pointer. */
import { useReactFlow, type Connection, type FinalConnectionState } from "@xyflow/react";
import type { Sketch } from "../contract";
import { useOpenFile } from "../state";
import type { CanvasAsk } from "./asking";
import { nodeOf } from "./commands";
import { BACK } from "./flow";
import { contains, isIn, isPlacedDialect, type Picture } from "./model";

const portOf = (handle: string | null | undefined): string => (handle ?? "").replace(/^(in|out):/, "");

/** Whether a step would feed the loop around it. */
export function feeds(sketch: Sketch, from: string, to: string): boolean {
  return from !== to && isIn(from, to) && sketch.nodes.find((node) => node.path === to)?.kind === "repeat";
}

/** The port that is meant where none is named: the usual one, or the only one; null where there is a choice. */
export function portMeant(ports: readonly string[], usual: string): string | null {
  if (ports.includes(usual)) return usual;
  return ports.length > 1 ? null : (ports[0] ?? "");
}

export function useConnect(ask: (question: CanvasAsk) => void) {
  const { store, actions } = useOpenFile();
  return (from: string, to: string, fromPort = "", toPort = ""): void => {
    const { sketch, dialect } = store.getState();
    if (feeds(sketch, from, to)) return ask({ kind: "feedback", from, loop: to });
    if (from === to) return;
    const isPlaced = isPlacedDialect(dialect);
    const [outputs, inputs] = isPlaced ? [nodeOf(sketch, from)?.ports.outputs ?? [], nodeOf(sketch, to)?.ports.inputs ?? []] : [[], []];
    const start = { at: from, port: fromPort || portMeant(outputs, "output") };
    const end = { at: to, port: toPort || portMeant(inputs, "input") };
    if (start.port === null || end.port === null) return ask({ kind: "ports", from: start, to: end });
    void actions.apply([{ operation: "connect", from: { ...start }, to: { ...end } }]);
  };
}

export function useConnecting(picture: Picture, ask: (question: CanvasAsk) => void) {
  const { screenToFlowPosition } = useReactFlow();
  const connect = useConnect(ask);
  return {
    onConnect: ({ source, target, sourceHandle, targetHandle }: Connection) => {
      const port = portOf(targetHandle);
      connect(source, target, portOf(sourceHandle), port === BACK ? "" : port);
    },
    onConnectEnd: (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
      const start = state.fromNode;
      if (state.isValid || state.toHandle || !start || state.fromHandle?.type !== "source") return;
      const at = "clientX" in event ? event : event.changedTouches[0];
      if (!at) return;
      const point = screenToFlowPosition({ x: at.clientX, y: at.clientY });
      const under = picture.boxes.filter((box) => contains(box, point) && box.node.path !== start.id);
      const innermost = under.reduce<(typeof under)[number] | null>((best, box) => (best === null || box.depth > best.depth ? box : best), null);
      // The room inside of a container is no end of an edge.
      if (innermost && innermost.form !== "container") connect(start.id, innermost.node.path, portOf(state.fromHandle.id));
    },
  };
}
