/** The mappings of a loop that holds a workflow: what can be chosen in their rows, and how they change. */
import { isRecord } from "../../../app/values";
import type { Json, Operation, SketchNode } from "../../contract";
import { nameOf, set, valueAt, type Key } from "../fields";

export type Mapped = { [key: string]: Json };

/** An end of a mapping that can be chosen: what it is called, and how the file says it. */
export interface Choice {
  label: string;
  value: Json;
}

/** The two lists of ports that a node has. */
export type Side = "inputs" | "outputs";

/** What nodes give without saying so. */
const GIVEN: Record<string, string[]> = {
  agent: ["output", "response", "structured", "exitCode"],
  shell: ["stdout", "stderr", "exitCode", "output"],
  script: ["stdout", "stderr", "exitCode", "output"],
  constant: ["value"],
  wire: ["value"],
  workdir: ["path"],
  loop: ["iteration_count"],
  trigger: ["text", "params"],
};
const TAKEN: Record<string, string[]> = { agent: ["prompt", "sessionId"], wire: ["value"] };
const TYPES: Record<string, string> = { exitCode: "number", iteration_count: "number", stdout: "string", stderr: "string" };

const unique = (names: string[]): string[] => [...new Set(names)];

export const outputsOf = (node: SketchNode): string[] => unique([...node.ports.outputs, ...(GIVEN[node.kind] ?? [])]);

export const inputsOf = (node: SketchNode): string[] => unique([...node.ports.inputs, ...(TAKEN[node.kind] ?? [])]);

/** All outputs of the nodes inside, as `node.output`. */
export const innerOutputs = (inner: readonly SketchNode[]): string[] =>
  inner.flatMap((node) => outputsOf(node).map((name) => `${nameOf(node.path)}.${name}`));

/** The type of an output `node.output`, as its port says; empty where nobody says. */
export function typeOf(inner: readonly SketchNode[], output: string): string {
  const node = inner.find((one) => output.startsWith(`${nameOf(one.path)}.`));
  const port = output.slice(node ? nameOf(node.path).length + 1 : 0);
  const ports = valueAt(node?.fields, ["data", "outputs"]);
  const found = Array.isArray(ports) ? ports.find((one) => valueAt(one, ["name"]) === port) : undefined;
  const type = valueAt(found, ["type"]);
  return typeof type === "string" ? type : (TYPES[port] ?? "");
}

/** What can be led into the inside: the loop's own inputs, and results of the iteration before. */
export function sources(loop: SketchNode, inner: readonly SketchNode[]): Choice[] {
  const outer = loop.ports.inputs.map((name) => ({ label: `${name} (outer)`, value: { type: "outer", name } }));
  const previous = inner.flatMap((node) =>
    outputsOf(node).map((output) => ({ label: `previous ${nameOf(node.path)}.${output}`, value: { type: "previous", node: nameOf(node.path), output } })),
  );
  const counted = { label: "iteration count", value: { type: "builtin", name: "iteration_count" } };
  return [...outer, ...previous, counted];
}

export const targets = (inner: readonly SketchNode[]): Choice[] =>
  inner.flatMap((node) => inputsOf(node).map((input) => ({ label: `${nameOf(node.path)}.${input}`, value: { node: nameOf(node.path), input } })));

/** What can be led out: results of the nodes inside, and how often the loop ran. */
export function results(inner: readonly SketchNode[]): Choice[] {
  const given = inner.flatMap((node) => outputsOf(node).map((output) => ({ label: `${nameOf(node.path)}.${output}`, value: { node: nameOf(node.path), output } })));
  return [...given, { label: "iteration count", value: { type: "builtin", name: "iteration_count" } }];
}

/** The words for an end as the file says it. */
export function labelOf(end: Json | undefined): string {
  if (!isRecord(end)) return end === undefined ? "?" : String(end);
  const [type, name, node] = [end["type"], end["name"], end["node"]];
  if (type === "outer") return `${String(name)} (outer)`;
  if (type === "builtin") return name === "iteration_count" ? "iteration count" : String(name);
  if (type === "item") return "item";
  const port = `${String(node ?? "?")}.${String(end["output"] ?? end["input"] ?? "?")}`;
  return type === "previous" ? `previous ${port}` : port;
}

/** The choices of a row, with what the file says now where it is none of them. */
export function withCurrent(choices: Choice[], current: Json | undefined): Choice[] {
  const label = labelOf(current);
  return current === undefined || choices.some((choice) => choice.label === label) ? choices : [{ label, value: current }, ...choices];
}

export const ITERATIONS = { all: "all", first: "first", subsequent: "after" } as const;
export const TAKES = { last: "last", first: "first", all: "all" } as const;

export const rowsIn = (value: Json | undefined): Mapped[] => (Array.isArray(value) ? (value as Mapped[]) : []);

/** One more row at the end; the list is made where it is missing. */
export const addRow = (at: string, keys: Key[], rows: readonly Mapped[], row: Mapped): Operation =>
  rows.length > 0 ? set(at, [...keys, rows.length], row) : set(at, keys, [row]);

/** A row in another place. */
export function moveRow(at: string, keys: Key[], rows: readonly Mapped[], from: number, to: number): Operation | null {
  const row = rows[from];
  if (!row || to < 0 || to >= rows.length || from === to) return null;
  const rest = rows.filter((_, index) => index !== from);
  return set(at, keys, [...rest.slice(0, to), row, ...rest.slice(to)]);
}

/** A name that no row has under a key. */
export function freeName(rows: readonly Mapped[], key: string, wanted: string): string {
  const taken = new Set(rows.map((row) => row[key]));
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

/** Where the mappings of a loop lead one of its ports, or have it from. */
export function mappedTo(loop: SketchNode, side: Side, name: string): string[] {
  const rows = rowsIn(valueAt(loop.fields, ["data", side === "inputs" ? "inputMappings" : "outputMappings"]));
  if (side === "outputs") return rows.filter((row) => row["target"] === name).map((row) => labelOf(row["source"]));
  const isFrom = (row: Mapped) => valueAt(row["source"], ["type"]) === "outer" && valueAt(row["source"], ["name"]) === name;
  return rows.filter(isFrom).map((row) => labelOf(row["target"]));
}
