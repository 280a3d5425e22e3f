/** The text editor itself, a chunk of its own: CodeMirror, in the colours of the page. */
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { Compartment, EditorState, Prec, RangeSetBuilder, StateEffect, StateField, Transaction, type Extension, type Text } from "@codemirror/state";
import { Decoration, EditorView, keymap, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import type { Diagnostic } from "../contract";
import type { LineRange } from "../state/words";

export interface SourceOptions {
  text: string;
  file: string;
  onText: (text: string) => void;
  /** Somebody has put the cursor on a line. */
  onLine: (line: number) => void;
  onUndo: () => void;
  onRedo: () => void;
  onSave: () => void;
}

export interface SourceView {
  setText: (text: string) => void;
  setProblems: (diagnostics: readonly Diagnostic[]) => void;
  setReadOnly: (isReadOnly: boolean) => void;
  /** Marks lines: those that were changed just now, and those of the chosen step. */
  setMarked: (changed: readonly LineRange[], chosen: LineRange | null) => void;
  showLine: (line: number, hasFocus: boolean) => void;
  destroy: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--wait)" },
  { tag: [tags.comment], color: "var(--text-2)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.typeName, tags.labelName], color: "var(--loop)" },
]);

const THEME = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "var(--ground)" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace', lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--ground-2)", color: "var(--text-2)", borderRight: "1px solid var(--edge)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--ground-3) 45%, transparent)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-panels": { backgroundColor: "var(--ground-2)", color: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--ground)", color: "var(--text)", border: "1px solid var(--edge)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--ground-3)", color: "var(--text)", border: "0" },
  ".cm-line": { transition: "background-color 700ms" },
  ".cm-chosen": { boxShadow: "inset 3px 0 0 var(--accent)" },
  ".cm-changed": { backgroundColor: "var(--wait-soft)", transition: "none" },
  "@media (prefers-reduced-motion: reduce)": { ".cm-line": { transition: "none" } },
});

const setMarks = StateEffect.define<DecorationSet>();

const MARKS = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, change) => change.effects.reduce((now, effect) => (effect.is(setMarks) ? effect.value : now), marks.map(change.changes)),
  provide: (field) => EditorView.decorations.from(field),
});

function decorated(doc: Text, changed: readonly LineRange[], chosen: LineRange | null): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const within = (line: number, [from, to]: LineRange) => line >= from && line <= to;
  for (let number = 1; number <= doc.lines; number += 1) {
    const names = [changed.some((range) => within(number, range)) ? "cm-changed" : "", chosen && within(number, chosen) ? "cm-chosen" : ""].filter(Boolean);
    if (names.length > 0) builder.add(doc.line(number).from, doc.line(number).from, Decoration.line({ class: names.join(" ") }));
  }
  return builder.finish();
}

/** The offset of a place; columns count characters, not halves of them. */
function offsetOf(doc: Text, line: number, column: number): number {
  const { from, to, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const before = [...text].slice(0, Math.max(0, column - 1)).join("");
  return Math.min(to, from + before.length);
}

function markOf(doc: Text, found: Diagnostic): Mark {
  const from = offsetOf(doc, found.line ?? 1, found.column ?? 1);
  const end = doc.lineAt(from).to;
  const words = [`${found.code}: ${found.message}`, found.help].filter(Boolean).join("\n");
  return { from, to: Math.max(from, end), severity: found.severity === "error" ? "error" : "warning", message: words };
}

function keysOf({ onUndo, onRedo, onSave }: SourceOptions): Extension {
  const run = (act: () => void) => () => (act(), true);
  // Undo is that of the whole file, whatever changed it: the history of the library is not used.
  return Prec.highest(
    keymap.of([
      { key: "Mod-z", run: run(onUndo), preventDefault: true },
      { key: "Mod-y", run: run(onRedo), preventDefault: true },
      { key: "Mod-Shift-z", run: run(onRedo), preventDefault: true },
      { key: "Mod-s", run: run(onSave), preventDefault: true },
    ]),
  );
}

export function mountSource(host: HTMLElement, options: SourceOptions): SourceView {
  // In a shadow root the library hands its styles over as sheets, which the policy of the page allows.
  const place = host.appendChild(document.createElement("div"));
  place.className = "source-place";
  const root = place.attachShadow({ mode: "open" });
  const lock = new Compartment();
  let isOurs = false;
  const listen = EditorView.updateListener.of((update) => {
    if (isOurs) return;
    if (update.docChanged) options.onText(update.state.doc.toString());
    const isChosen = update.transactions.some((one) => one.isUserEvent("select"));
    if (isChosen) options.onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
  });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        keysOf(options),
        basicSetup,
        options.file.endsWith(".json") ? json() : yaml(),
        syntaxHighlighting(COLOURS),
        THEME,
        lintGutter(),
        MARKS,
        lock.of([]),
        EditorView.contentAttributes.of({ "aria-label": `source of ${options.file}`, tabindex: "0" }),
        listen,
      ],
    }),
  });
  // Keys typed here are no commands of the page.
  const keepKeys = (event: KeyboardEvent) => event.stopPropagation();
  place.addEventListener("keydown", keepKeys);
  const quietly = (act: () => void) => {
    isOurs = true;
    act();
    isOurs = false;
  };
  return {
    setText: (text) => {
      if (text === view.state.doc.toString()) return;
      quietly(() => view.dispatch({ changes: differing(view.state.doc.toString(), text), annotations: Transaction.addToHistory.of(false) }));
    },
    setProblems: (diagnostics) => view.dispatch(setDiagnostics(view.state, diagnostics.map((one) => markOf(view.state.doc, one)))),
    setReadOnly: (isReadOnly) => view.dispatch({ effects: lock.reconfigure(isReadOnly ? EditorState.readOnly.of(true) : []) }),
    setMarked: (changed, chosen) => view.dispatch({ effects: setMarks.of(decorated(view.state.doc, changed, chosen)) }),
    showLine: (line, hasFocus) => {
      const at = offsetOf(view.state.doc, line, 1);
      quietly(() => view.dispatch({ ...(hasFocus ? { selection: { anchor: at } } : {}), effects: EditorView.scrollIntoView(at, { y: "center" }) }));
      if (hasFocus) view.focus();
    },
    destroy: () => {
      place.removeEventListener("keydown", keepKeys);
      view.destroy();
      place.remove();
    },
  };
}

/** The one stretch in which two texts differ, so that the cursor stays where it is. */
function differing(before: string, after: string): { from: number; to: number; insert: string } {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from += 1;
  let same = 0;
  while (same < most - from && before[before.length - 1 - same] === after[after.length - 1 - same]) same += 1;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}
