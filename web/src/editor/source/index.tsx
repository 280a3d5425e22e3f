/** The source of the open file: typed into, with problems in the margin, beside the picture. */
import { useEffect, useRef, useState } from "react";
import { Loading } from "../../app/Notice";
import type { SketchNode } from "../contract";
import { isReadOnly, type EditorState } from "../state/store";
import { useEditorState, useOpenFile } from "../state";
import type { LineRange } from "../state/words";
import type { SourceView } from "./codemirror";

const FLASH_MS = 900;

/** The innermost step that a line belongs to. */
function nodeAt(nodes: readonly SketchNode[], line: number): SketchNode | undefined {
  return nodes.findLast(({ span }) => span !== null && line >= (span["line"] ?? 0) && line <= (span["end_line"] ?? 0));
}

function linesOf({ sketch, selected }: EditorState): LineRange | null {
  const span = sketch.nodes.find((node) => node.path === selected[0])?.span;
  return span ? [span["line"] ?? 1, span["end_line"] ?? 1] : null;
}

export function Source() {
  const { store, actions, saving } = useOpenFile();
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<SourceView | null>(null);
  useEffect(() => {
    let mounted: SourceView | null = null;
    let isGone = false;
    void import("./codemirror").then(({ mountSource }) => {
      if (isGone || !host.current) return;
      mounted = mountSource(host.current, {
        text: store.getState().text,
        file: store.getState().file,
        onText: actions.typed,
        onLine: (line) => {
          const found = nodeAt(store.getState().sketch.nodes, line);
          if (found) store.setState({ selected: [found.path] });
        },
        onUndo: actions.undo,
        onRedo: actions.redo,
        onSave: () => void saving.save(),
      });
      setView(mounted);
    });
    return () => {
      isGone = true;
      mounted?.destroy();
    };
  }, [store, actions, saving]);
  return (
    <section className="edit-source" aria-label="source" onBlur={actions.closeStep}>
      {!view && <Loading what="the source editor" />}
      <div ref={host} className="source-host" />
      {view && <Following view={view} />}
    </section>
  );
}

/** Keeps the text editor at what the file is. */
function Following({ view }: { view: SourceView }) {
  const { store } = useOpenFile();
  const text = useEditorState((state) => state.text);
  const diagnostics = useEditorState((state) => state.diagnostics);
  const readOnly = useEditorState(isReadOnly);
  const flash = useEditorState((state) => state.flash);
  const shown = useEditorState((state) => state.shown);
  const first = useEditorState((state) => state.selected[0]);
  const sketch = useEditorState((state) => state.sketch);
  const [changed, setChanged] = useState(flash);
  const seen = useRef({ line: 0, path: first });
  useEffect(() => view.setText(text), [view, text]);
  useEffect(() => view.setProblems(diagnostics), [view, diagnostics, text]);
  useEffect(() => view.setReadOnly(readOnly), [view, readOnly]);
  useEffect(() => {
    const isFresh = changed !== flash;
    const lines = linesOf(store.getState());
    view.setMarked(isFresh ? flash.lines : [], lines);
    if (lines && seen.current.path !== first) view.showLine(lines[0], false);
    seen.current.path = first;
    if (!isFresh) return;
    const timer = setTimeout(() => setChanged(flash), FLASH_MS);
    return () => clearTimeout(timer);
  }, [view, store, flash, changed, first, sketch]);
  useEffect(() => {
    if (shown.turn > 0 && seen.current.line !== shown.turn) view.showLine(shown.line, true);
    seen.current.line = shown.turn;
  }, [view, shown]);
  return null;
}
