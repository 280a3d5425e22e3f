/** The head of the editor: the file, what is not saved, undo, save, run, and how it is looked at. */
import { navigate } from "../../app/router";
import { useMay } from "../../app/session";
import { useEditorState, useOpenFile } from "../state";
import { errorsOf, isChanged, isDirty, isReadOnly, type Mode } from "../state/store";
import { editPath } from "../paths";
import { NEEDS_WIDTH } from "./address";

interface HeadProps {
  isNarrow: boolean;
  mode: Mode;
  query: Record<string, string>;
  onRun: () => void;
  onNew: () => void;
}

const MODES: Record<Mode, string> = { canvas: "Canvas", split: "Split", source: "Source", outline: "Outline" };
export function Head({ mode, isNarrow, query, onRun, onNew }: HeadProps) {
  const file = useEditorState((state) => state.file);
  const dialect = useEditorState((state) => state.dialect);
  const canSave = useEditorState((state) => state.canSave);
  return (
    <header className="edit-head">
      <h1>
        {file} {dialect && <span className="badge tone-idle">{dialect}</span>}
      </h1>
      {canSave && <UndoButtons />}
      {canSave && <SaveButton />}
      {canSave && (
        <button type="button" className="button" onClick={onNew}>
          New…
        </button>
      )}
      <RunButton onRun={onRun} />
      {/* It comes and goes: after the buttons, so that they keep their places. */}
      <Changes />
      <div className="view-modes" role="group" aria-label="view">
        {(Object.keys(MODES) as Mode[]).filter((one) => !isNarrow || !NEEDS_WIDTH.has(one)).map((one) => (
          <button key={one} type="button" className="button button-small" aria-pressed={mode === one} onClick={() => navigate(editPath(file), { ...query, mode: one }, { replace: true })}>
            {MODES[one]}
          </button>
        ))}
      </div>
    </header>
  );
}

function Changes() {
  const { saving } = useOpenFile();
  const changed = useEditorState(isChanged);
  const count = useEditorState((state) => (isDirty(state) ? saving.changes().length : 0));
  if (!changed) return null;
  return (
    <span className="edit-changes" role="status">
      <span aria-hidden="true">● </span>
      {count === 0 ? "changing…" : count === 1 ? "1 change" : `${count} changes`}
    </span>
  );
}

function UndoButtons() {
  const { actions } = useOpenFile();
  const canUndo = useEditorState((state) => state.history.past.length > 0 && !isReadOnly(state));
  const canRedo = useEditorState((state) => state.history.future.length > 0 && !isReadOnly(state));
  return (
    <>
      <button type="button" className="button" data-repeats disabled={!canUndo} title="Ctrl+Z" onClick={actions.undo}>
        Undo
      </button>
      <button type="button" className="button" data-repeats disabled={!canRedo} title="Ctrl+Shift+Z" onClick={actions.redo}>
        Redo
      </button>
    </>
  );
}

function SaveButton() {
  const { saving } = useOpenFile();
  const changed = useEditorState((state) => isChanged(state) || (state.isOpen && state.saved.etag === null));
  const problems = useEditorState(errorsOf);
  const isOff = useEditorState((state) => state.isSaving || state.offer !== null || state.conflict !== null);
  const words = problems === 0 ? "Save" : problems === 1 ? "Save with 1 problem" : `Save with ${problems} problems`;
  return (
    <button type="button" className="button button-main edit-save" disabled={!changed || isOff} title="Ctrl+S" onClick={() => void saving.save()}>
      {words}
    </button>
  );
}

function RunButton({ onRun }: { onRun: () => void }) {
  const { may, why } = useMay("start");
  const problems = useEditorState((state) => errorsOf(state) + (state.isBroken ? 1 : 0));
  const isOff = useEditorState((state) => state.offer !== null || state.conflict !== null);
  return (
    <button type="button" className="button" disabled={problems > 0 || isOff || !may} title={why || (problems > 0 ? "a file with problems cannot run" : undefined)} onClick={onRun}>
      Run…
    </button>
  );
}
