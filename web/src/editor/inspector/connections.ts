/** The edges of a step in words, and the operations that make and cut them. */
import type { Editor, Json, Operation, SketchEdge, SketchNode } from "../contract";
import { nameOf } from "./fields";

/** What an edge means, for people who do not see it. */
export function edgeWords({ from, to, from_port, to_port, kind, label }: SketchEdge): string {
  const [source, target] = [nameOf(from), nameOf(to)];
  if (kind === "order") return `${source} before ${target}`;
  if (kind === "feedback") return `feedback: ${label || port(source, from_port)} → ${label ? source : port(target, to_port)}`;
  if (kind === "branch") return `${source}: ${label || from_port} → ${target}`;
  return `${port(source, from_port, "output")} → ${port(target, to_port, "input")}`;
}

const port = (name: string, of: string, usual = ""): string => (of && of !== usual ? `${name}.${of}` : name);

const ends = ({ from, to, from_port, to_port }: SketchEdge): { from: Json; to: Json } => ({
  from: { at: from, port: from_port },
  to: { at: to, port: to_port },
});

export const disconnect = (edge: SketchEdge): Operation => ({ operation: "disconnect", ...ends(edge), kind: edge.kind });

/** The steps that one can be connected with: those beside it. */
export function partnersOf(editor: Editor, node: SketchNode): SketchNode[] {
  const nodes = editor.sketch?.nodes ?? [];
  const isBeside = (other: SketchNode) => other.parent === node.parent || (node.position !== null && (other.path === node.parent || other.parent === node.path));
  return nodes.filter((other) => other.path !== node.path && isBeside(other));
}

/** The loop of a file without positions that a step can feed back to. */
export function loopAround(editor: Editor, node: SketchNode): SketchNode | undefined {
  const around = editor.sketch?.nodes.filter((other) => other.kind === "repeat" && node.path.startsWith(`${other.path}/`)) ?? [];
  return around.at(-1);
}
