/** Which panel a loop has, and by which words a dialect puts one around steps. */
import type { ComponentType } from "react";
import { isRecord } from "../../../app/values";
import type { Editor, SketchNode } from "../../contract";
import { valueAt, type Key } from "../fields";
import { CanvasLoop } from "./CanvasLoop";
import { MappedLoop } from "./MappedLoop";
import { Sentence } from "./Sentence";

export interface PanelProps {
  editor: Editor;
  node: SketchNode;
}

interface Panel {
  Panel: ComponentType<PanelProps>;
  /** The fields that the panel shows, so that the form below it does not. */
  fields: readonly (readonly Key[])[];
}

const below = (holder: string, names: string): Key[][] => names.split(" ").map((name) => [holder, name]);

const SENTENCE: Panel = {
  Panel: Sentence,
  fields: below("repeat", "until check at_most carry return on_limit on_failure ask_person wait collect memory session"),
};
const MAPPED: Panel = {
  Panel: MappedLoop,
  fields: below("data", "workflowRef inlineWorkflow continueWhile maxIterations inputMappings outputMappings dockSlots"),
};
const CANVAS: Panel = { Panel: CanvasLoop, fields: below("data", "maxIterations exitCondition stabilityThreshold feedbackMode") };

/** The lists of ports of a node, which have tables of their own. */
export const PORTS: readonly (readonly Key[])[] = below("data", "inputs outputs");

const PANELS: Record<string, Panel> = { "native repeat": SENTENCE, "shodan loop": MAPPED, "studio loop": CANVAS };

export const panelOf = (editor: Editor, node: SketchNode): Panel | undefined => PANELS[`${editor.dialect} ${node.kind}`];

type Wrap = readonly [kind: string, words: string];
const LOOP: Wrap = ["repeat", "a loop"];
const EACH: Wrap = ["each", "for each"];
const WRAPS: Record<string, readonly Wrap[]> = {
  native: [LOOP, EACH, ["together", "at the same time"], ["if", "only if"]],
  studio: [LOOP, EACH],
  shodan: [LOOP],
};

/** The holders that steps of a dialect can be put into. */
export const wrapsOf = (dialect: string): readonly Wrap[] => WRAPS[dialect] ?? [];

const FIXED = new Set(["set", "stop", "break", "continue"]);

/** Whether a step can be moved to a file of its own. */
export const canExtract = (dialect: string, node: SketchNode): boolean => dialect === "native" && node.body !== "file" && !FIXED.has(node.kind);

export const canInline = (dialect: string, node: SketchNode): boolean => dialect === "native" && node.body === "file" && node.kind === "call";

const SAID = "until carry collect memory return ask_person each if continueWhile exitWhen inputMappings outputMappings dockSlots exitCondition feedbackMode expression".split(" ");

/** What only a holder says, so that it is lost without it. */
export function lossesOf(node: SketchNode): string[] {
  const parts = [node.fields, valueAt(node.fields, ["repeat"]), valueAt(node.fields, ["data"])];
  const names = parts.flatMap((part) => (isRecord(part) ? Object.keys(part) : []));
  return SAID.filter((name) => names.includes(name));
}
