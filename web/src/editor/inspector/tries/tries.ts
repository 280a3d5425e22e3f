/** Tries and pins: what a try is asked for, and which steps its results belong to. */
import type { RecordItem, RunItem } from "../../../api";
import { isRecord, parsedAs } from "../../../app/values";
import { quoted } from "../../../dialogs/commands";
import type { Editor, Json, SketchNode } from "../../contract";
import type { Others } from "../../state/calls";

export interface Pin {
  value: Json;
  stale: boolean;
}

export type Pins = { [path: string]: Pin };

export interface Wish {
  /** What was typed for each input. */
  inputs: Readonly<Record<string, string>>;
  budget: string;
  run: string;
  iteration: string;
}

export const BUDGET = "0.25";

const LOOPS = ["repeat", "loop"];

/** The loop whose iterations give values to a step: itself, or the innermost around it. */
export function loopFor(editor: Editor, node: SketchNode): SketchNode | undefined {
  const loops = editor.sketch?.nodes.filter((one) => LOOPS.includes(one.kind) && (node.path === one.path || node.path.startsWith(`${one.path}/`))) ?? [];
  return loops.toSorted((one, other) => other.path.length - one.path.length)[0];
}

/** The inputs that the file declares. */
function declaredInputs(editor: Editor): Record<string, unknown> {
  const declared = editor.sketch?.fields;
  const inputs = isRecord(declared) ? declared["inputs"] : null;
  return isRecord(inputs) ? inputs : {};
}

export const inputNames = (editor: Editor): string[] => Object.keys(declaredInputs(editor));

const TEXTS: readonly unknown[] = ["string", "file", "secret"];

/** What was typed for an input: a text stays one, whatever it looks like. */
function typedInput(editor: Editor, name: string, text: string): Json {
  const declared = declaredInputs(editor)[name];
  const type = isRecord(declared) ? declared["type"] : declared;
  return TEXTS.includes(type) ? text : ((parsedAs("any", text).value ?? text) as Json);
}

/** The body of the request. */
export function requestOf(editor: Editor, others: Others, node: SketchNode, wish: Wish, effects: boolean): Record<string, Json> {
  const typed = Object.entries(wish.inputs).filter(([, text]) => text !== "");
  const inputs = Object.fromEntries(typed.map(([name, text]) => [name, typedInput(editor, name, text)]));
  const loop = loopFor(editor, node);
  const from = wish.run && loop ? { from: { run: wish.run, at: loop.path, iteration: Number(wish.iteration) || 1 } } : {};
  return { name: editor.file, text: editor.text, others, at: node.path, inputs, ...from, budget_usd: Number(wish.budget) || Number(BUDGET), effects };
}

/** The same in the terminal, for a file that is saved. */
export function commandOf(editor: Editor, node: SketchNode, wish: Wish): string {
  const loop = loopFor(editor, node);
  const values = wish.run && loop ? ` --values-of ${quoted(`${wish.run}/${loop.path}[${Number(wish.iteration) || 1}]`)}` : "";
  const inputs = Object.entries(wish.inputs).filter(([, text]) => text !== "").map(([name, text]) => ` -i ${quoted(`${name}=${text}`)}`);
  return `whorl try ${quoted(editor.file)} --at ${quoted(node.path)}${inputs.join("")}${values} --budget ${Number(wish.budget) || BUDGET}`;
}

/** The runs whose values can be taken: those of this file that have an iteration. */
export const usable = (runs: readonly RunItem[], file: string): RunItem[] => runs.filter((run) => run.file === file && run.iteration > 0);

/** The step of the file that a record of a try is about: the tried step stands at the top there. */
export function pathOf(node: SketchNode, record: Pick<RecordItem, "address">): string {
  const inside = record.address.replace(/\[\d+\]/g, "");
  return node.parent ? `${node.parent}/${inside}` : inside;
}
