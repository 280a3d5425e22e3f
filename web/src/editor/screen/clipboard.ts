/** Copy, cut and paste: a step goes to the system's clipboard as the text that it is in the file. */
import { useEffect } from "react";
import type { Json, Operation, SketchNode } from "../contract";
import { useOpenFile } from "../state";
import { isReadOnly, say, type EditorState } from "../state/store";
import { addAfter, nodeOf, remove, type Kind } from "../canvas/commands";
import { isPlacedDialect } from "../canvas/model";
import { textOfStep } from "../inspector/source";

const STEPS_TYPE = "application/x-whorl-steps";

interface Copied {
  dialect: string;
  steps: { kind: string; name: string; fields: Json; text: string }[];
}

export function copied({ file, text, sketch, selected, dialect }: EditorState): Copied {
  const textOf = ({ span }: SketchNode) => `${textOfStep(text, span, file.endsWith(".json"))}\n`;
  const nodes = sketch.nodes.filter((node) => selected.includes(node.path));
  return { dialect, steps: nodes.map((node) => ({ kind: node.kind, name: node.path.slice(node.path.lastIndexOf("/") + 1), fields: node.fields, text: textOf(node) })) };
}

/** A selected container with steps: on a canvas, the clipboard does not take those along. */
export function holderOf({ sketch, selected, dialect }: Pick<EditorState, "sketch" | "selected" | "dialect">): string | undefined {
  return isPlacedDialect(dialect) ? selected.find((path) => sketch.nodes.some((node) => node.parent === path)) : undefined;
}

const record = (value: Json | undefined): { [key: string]: Json } => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/** Operations that put steps in again, the last selected step before them. */
export function pasted(state: EditorState, { steps }: Pick<Copied, "steps">): Operation[] {
  const isPlaced = isPlacedDialect(state.dialect);
  const what = steps.map((step): Kind => (isPlaced ? { kind: step.kind, name: step.name, fields: record(record(step.fields)["data"]) } : { piece: step.text }));
  // Each goes right after the selected one, so the last comes first.
  return what.toReversed().flatMap((one) => addAfter(state.sketch, state.drill, isPlaced, state.selected.at(-1), one));
}

function fromText(text: string, state: EditorState): Copied["steps"] {
  if (!text.trim()) return [];
  if (!isPlacedDialect(state.dialect)) return [{ kind: "", name: "", fields: null, text }];
  try {
    const fields = JSON.parse(text) as { [key: string]: Json };
    return typeof fields["type"] === "string" ? [{ kind: fields["type"], name: String(fields["id"] ?? fields["type"]), fields, text }] : [];
  } catch {
    return [];
  }
}

/** Whether a command of the clipboard is meant for text. */
function isForText(): boolean {
  const active = document.activeElement;
  const isTyped = active instanceof HTMLElement && (active.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName) || active.shadowRoot !== null);
  return isTyped || document.querySelector("dialog[open]") !== null || (getSelection()?.toString() ?? "") !== "";
}

export function useClipboard(): void {
  const { store, actions } = useOpenFile();
  useEffect(() => {
    const copy = (event: ClipboardEvent) => {
      const state = store.getState();
      if (isForText() || state.selected.length === 0) return;
      const holder = holderOf(state);
      if (holder && event.type === "cut") return say(store, `${holder} is not cut: the clipboard does not take the steps in it along. Drag it, or delete it`);
      const found = copied(state);
      event.clipboardData?.setData("text/plain", found.steps.map((step) => step.text).join(""));
      event.clipboardData?.setData(STEPS_TYPE, JSON.stringify(found));
      event.preventDefault();
      say(store, `${found.steps.length === 1 ? found.steps[0]?.name : `${found.steps.length} steps`} copied${holder ? ", without the steps inside" : ""}`);
      if (event.type === "cut" && !isReadOnly(state)) void actions.apply(remove(state.selected, isPlacedDialect(state.dialect)));
    };
    const paste = (event: ClipboardEvent) => {
      const state = store.getState();
      if (isForText() || isReadOnly(state)) return;
      const own = event.clipboardData?.getData(STEPS_TYPE);
      const found = own ? (JSON.parse(own) as Copied) : { dialect: state.dialect, steps: fromText(event.clipboardData?.getData("text/plain") ?? "", state) };
      if (found.steps.length === 0) return;
      event.preventDefault();
      if (found.dialect !== state.dialect) return say(store, `steps of a ${found.dialect} file cannot be pasted into a ${state.dialect} file`);
      void actions.apply(pasted(state, found));
    };
    document.addEventListener("copy", copy);
    document.addEventListener("cut", copy);
    document.addEventListener("paste", paste);
    return () => {
      document.removeEventListener("copy", copy);
      document.removeEventListener("cut", copy);
      document.removeEventListener("paste", paste);
    };
  }, [store, actions]);
}

/** The selected steps once more, right after themselves. */
export const duplicated = (state: EditorState): Operation[] => (nodeOf(state.sketch, state.selected.at(-1)) ? pasted(state, copied(state)) : []);
