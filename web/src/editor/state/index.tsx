/** One open file for everything that shows or changes it. */
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { useStore } from "zustand";
import { useClient } from "../../app/session";
import { navigate } from "../../app/router";
import type { Editor, SketchNode } from "../contract";
import { editPath, fileBeside } from "../paths";
import { actionsOf, type Actions } from "./actions";
import { callsOf, type Calls } from "./calls";
import { savingOf, type Saving } from "./saving";
import { createEditorStore, isReadOnly, type EditorState, type EditorStore } from "./store";

export interface OpenFile {
  store: EditorStore;
  calls: Calls;
  actions: Actions;
  saving: Saving;
}

const FileContext = createContext<OpenFile | null>(null);

export function OpenFileProvider({ file, drill, selected, children }: { file: string; drill: string; selected: string[]; children: ReactNode }) {
  const client = useClient();
  const [open] = useState<OpenFile>(() => {
    const store = createEditorStore(file);
    store.setState({ drill, selected });
    const calls = callsOf(client);
    const actions = actionsOf(store, calls);
    return { store, calls, actions, saving: savingOf(store, calls, actions) };
  });
  useEffect(() => {
    const leave = open.saving.watch();
    void open.actions.load();
    return () => {
      leave();
      open.actions.stop();
    };
  }, [open]);
  return <FileContext value={open}>{children}</FileContext>;
}

export function useOpenFile(): OpenFile {
  const open = useContext(FileContext);
  if (!open) throw new Error("useOpenFile needs an OpenFileProvider around it");
  return open;
}

export function useEditorState<T>(ask: (state: EditorState) => T): T {
  return useStore(useOpenFile().store, ask);
}

/** Shows a line of the source, where the source is seen. */
export function showLine(store: EditorStore, line: number): void {
  store.setState(({ shown }) => ({ shown: { line, turn: shown.turn + 1 } }));
}

/** Goes to the file that a step names; one that is new is saved first, together with this one. */
async function openFile({ store, saving }: OpenFile, node: SketchNode): Promise<void> {
  const { file, others } = store.getState();
  if (node.file in others && !(await saving.save())) return;
  navigate(editPath(fileBeside(file, node.file)));
}

/** The open file as the parts of the editor know it. */
export function useEditor(onShowLine: (line: number) => void): Editor {
  const open = useOpenFile();
  const { store, actions } = open;
  const state = useEditorState((all) => all);
  const { file, dialect, text, others, sketch, isBroken, diagnostics, palette, selected } = state;
  const readOnly = isReadOnly(state);
  return useMemo(
    () => ({
      file,
      dialect,
      text,
      sketch: isBroken ? null : sketch,
      diagnostics,
      palette,
      isReadOnly: readOnly,
      selected,
      apply: (operations) => actions.apply(operations),
      select: (paths) => store.setState({ selected: paths }),
      drill: (path) => store.setState({ drill: path, selected: [] }),
      others: Object.keys(others),
      openFile: (node) => openFile(open, node),
      showLine: onShowLine,
    }),
    [file, dialect, text, others, sketch, isBroken, diagnostics, palette, readOnly, selected, actions, store, open, onShowLine],
  );
}
