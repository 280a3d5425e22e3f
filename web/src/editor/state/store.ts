/** The open file: its text, its picture, what was changed, and what is saved. */
import { createStore, type StoreApi } from "zustand/vanilla";
import type { Diagnostic, Edited, Operation, Palette, Sketch } from "../contract";
import type { Others } from "./calls";
import type { Draft } from "./drafts";
import { NO_HISTORY, type History, type Shot } from "./history";
import type { LineRange } from "./words";

export type Mode = "canvas" | "split" | "source" | "outline";

/** A version of the file on the disk; without an etag there is no such file. */
export interface Version {
  text: string;
  etag: string | null;
}

/** Why an operation was not carried out, and where the text can be changed instead. */
export interface Refused {
  code: string;
  message: string;
  help: string;
  line: number | null;
  operations: Operation[];
}

export interface EditorState {
  file: string;
  project: string;
  dialect: string;
  /** Whether the file has been read once. */
  isOpen: boolean;
  fault: unknown;
  /** Whether this server saves files. */
  canSave: boolean;
  palette: Palette;
  text: string;
  /** New files that the text names, and that are saved before it. */
  others: Others;
  saved: Version;
  /** The last picture that could be drawn. */
  sketch: Sketch;
  /** Whether the text cannot be read as it is: the picture is then of an earlier one. */
  isBroken: boolean;
  diagnostics: Diagnostic[];
  selected: string[];
  drill: string;
  collapsed: ReadonlySet<string>;
  history: History;
  refused: Refused | null;
  /** A kept draft that somebody has to decide about first. */
  offer: Draft | null;
  /** What is on the disk, where it is neither what was read nor what is shown. */
  conflict: Version | null;
  /** Whether the two versions are shown beside each other. */
  isComparing: boolean;
  /** Versions that this browser has saved in other tabs. */
  fromTabs: readonly string[];
  notice: string;
  /** For the live region; the number tells two equal messages apart. */
  said: { words: string; turn: number };
  /** Lines that an operation wrote. */
  flash: { lines: LineRange[]; turn: number };
  /** A line of the source to be shown. */
  shown: { line: number; turn: number };
  /** The step that somebody wants to try, until its form is open. */
  trying: string;
  isSaving: boolean;
  /** How many changes are typed or on their way, and not in the text yet. */
  pending: number;
  /** While something is dragged, nothing on the screen is replaced. */
  isDragging: boolean;
}

export type EditorStore = StoreApi<EditorState>;

const NOTHING: Sketch = { nodes: [], edges: [] };

export function createEditorStore(file: string): EditorStore {
  return createStore<EditorState>(() => ({
    file,
    project: "",
    dialect: "",
    isOpen: false,
    fault: null,
    canSave: false,
    palette: { groups: [] },
    text: "",
    others: {},
    saved: { text: "", etag: null },
    sketch: NOTHING,
    isBroken: false,
    diagnostics: [],
    selected: [],
    drill: "",
    collapsed: new Set<string>(),
    history: NO_HISTORY,
    refused: null,
    offer: null,
    conflict: null,
    isComparing: false,
    fromTabs: [],
    notice: "",
    said: { words: "", turn: 0 },
    flash: { lines: [], turn: 0 },
    shown: { line: 0, turn: 0 },
    trying: "",
    isSaving: false,
    pending: 0,
    isDragging: false,
  }));
}

export const isDirty = (state: EditorState): boolean => state.isOpen && state.text !== state.saved.text;

/** Whether there is something to save: in the text, or on its way there. */
export const isChanged = (state: EditorState): boolean => isDirty(state) || state.pending > 0;

export const isReadOnly = (state: EditorState): boolean => !state.canSave || state.offer !== null;

export const errorsOf = (state: EditorState): number => state.diagnostics.filter((one) => one.severity === "error").length;

export function shotOf({ text, others, sketch, isBroken, diagnostics, selected, drill }: EditorState): Shot {
  return { text, others, sketch: isBroken ? null : sketch, diagnostics, selected, drill };
}

export function say(store: EditorStore, words: string): void {
  store.setState(({ said }) => ({ said: { words, turn: said.turn + 1 } }));
}

/** The same steps in a picture that was drawn anew: by path, else by the line where they begin. */
export function reselected(before: Sketch, after: Sketch, selected: readonly string[]): string[] {
  const paths = new Set(after.nodes.map((node) => node.path));
  return selected.flatMap((path) => {
    if (paths.has(path)) return [path];
    const line = before.nodes.find((node) => node.path === path)?.span?.["line"];
    const found = line === undefined ? undefined : after.nodes.find((node) => node.span?.["line"] === line);
    return found ? [found.path] : [];
  });
}

/** The nearest holder of a path that is in the picture. */
export function drillIn(sketch: Sketch, drill: string): string {
  const paths = new Set(sketch.nodes.map((node) => node.path));
  let at = drill;
  while (at && !paths.has(at)) at = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) : "";
  return at;
}

export type { Edited };
