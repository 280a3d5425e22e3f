/** What happened, in words for the live region; and which lines of the text have changed. */
import type { Edited, Json, Operation } from "../contract";

const lastName = (path: unknown): string => String(path ?? "").split("/").at(-1) ?? "";

function named(at: Json | undefined): string {
  const paths = Array.isArray(at) ? at : [at ?? ""];
  return paths.map((path) => lastName(path) || "the workflow").join(", ");
}

function place(operation: Operation): string {
  const into = operation["into"] ? ` into ${lastName(operation["into"])}` : "";
  const after = operation["after"];
  return into + (after ? `, after ${lastName(after)}` : after === null ? ", first" : "");
}

function end(value: Json | undefined): string {
  return lastName((value as { at?: string } | undefined)?.at);
}

function said(operation: Operation): string {
  const at = named(operation["at"]);
  switch (operation.operation) {
    case "add":
      return `${String(operation["name"] ?? operation["kind"] ?? "a step")} added${place(operation)}`;
    case "move":
      return `${at} moved${place(operation)}`;
    case "remove":
      return `${at} removed`;
    case "rename":
      return `${operation["port"] === undefined ? at : `${at} ${String(operation["port"])}`} renamed to ${String(operation["name"])}`;
    case "wrap":
      return `${at} wrapped in ${String(operation["name"] ?? operation["kind"])}`;
    case "unwrap":
      return `${at} unwrapped`;
    case "connect":
      return `${end(operation["from"])} connected to ${end(operation["to"])}`;
    case "disconnect":
      return `${end(operation["from"])} disconnected from ${end(operation["to"])}`;
    case "extract":
      return `${at} moved to ${String(operation["file"])}`;
    case "inline":
      return `${at} replaced by the steps of its file`;
    case "place":
      return `${at} placed`;
    default:
      return `${at} changed`;
  }
}

/** "review moved into polish, after write; 2 readers rewired". */
export function happened(operations: readonly Operation[], { rewired }: Pick<Edited, "rewired">): string {
  const words = [...new Set(operations.map(said))];
  const shown = words.length > 3 ? [...words.slice(0, 2), `${words.length - 2} more changes`] : words;
  if (rewired.length > 0) shown.push(rewired.length === 1 ? "1 reference updated" : `${rewired.length} references updated`);
  return shown.join("; ");
}

export type LineRange = readonly [from: number, to: number];

/** The lines of the new text that patches wrote; offsets count UTF-16 units of the text before. */
export function changedLines(text: string, patches: readonly { start: number; end: number; text: string }[]): LineRange[] {
  let shift = 0;
  return [...patches]
    .sort((one, other) => one.start - other.start)
    .map((patch) => {
      const start = patch.start + shift;
      shift += patch.text.length - (patch.end - patch.start);
      const before = text.slice(0, start);
      const first = before.split("\n").length + (patch.text.startsWith("\n") ? 1 : 0);
      const inside = patch.text.replace(/^\n|\n$/g, "").split("\n").length;
      return [first, first + inside - 1] as const;
    });
}
