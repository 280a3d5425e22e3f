/** What has to be said before somebody goes on: refusals, drafts, other writers, and what is off. */
import { Diff } from "../../charts/Diff";
import { navigate } from "../../app/router";
import { useProject } from "../../app/session";
import { Command } from "../../dialogs/ActionForm";
import { Modal } from "../../dialogs/Modal";
import { visible } from "../../journal/words";
import { useEditorState, useOpenFile } from "../state";
import { editPath } from "../paths";

export function Banners({ onLine }: { onLine: (line: number) => void }) {
  return (
    <>
      <ReadOnly />
      <AsText />
      <DraftOffer />
      <Conflict />
      <Notice />
      <Refusal onLine={onLine} />
      <Broken onLine={onLine} />
    </>
  );
}

function ReadOnly() {
  const isOff = useEditorState((state) => state.isOpen && !state.canSave);
  const role = useProject()?.role ?? "admin";
  if (!isOff) return null;
  if (role !== "admin") {
    return (
      <div className="edit-banner">
        <p>Read-only: a token with the role {role} may not save files.</p>
      </div>
    );
  }
  return (
    <div className="edit-banner">
      <p>Read-only: this server does not write files.</p>
      <Command text="whorl serve --edit" />
    </div>
  );
}

/** Dialects without a palette are edited as text. */
function AsText() {
  const { store, calls } = useOpenFile();
  const file = useEditorState((state) => state.file);
  const dialect = useEditorState((state) => state.dialect);
  const isText = useEditorState((state) => state.isOpen && state.canSave && state.dialect !== "" && state.palette.groups.length === 0);
  if (!isText) return null;
  const convert = async () => {
    const name = `${file.replace(/\.(ya?ml|json)$/, "")}-native.yaml`;
    try {
      await calls.make({ file: name, convert: file });
      navigate(editPath(name));
    } catch (fault) {
      store.setState({ notice: (fault as Error).message });
    }
  };
  return (
    <div className="edit-banner">
      <p>{dialect} files are edited as text.</p>
      <button type="button" className="button" onClick={() => void convert()}>
        Make a native copy
      </button>
    </div>
  );
}

const counted = (count: number): string => (count === 1 ? "1 change" : `${count} changes`);

function DraftOffer() {
  const { saving } = useOpenFile();
  const offer = useEditorState((state) => state.offer);
  if (!offer) return null;
  return (
    <div className="edit-banner" role="alert">
      <p>
        There is an unsaved draft from {new Date(offer.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}; {counted(offer.changes)}.
      </p>
      <button type="button" className="button button-main" onClick={saving.resume}>
        Restore the draft
      </button>
      <button type="button" className="button" onClick={saving.discard}>
        Discard
      </button>
    </div>
  );
}

function Conflict() {
  const { store } = useOpenFile();
  const conflict = useEditorState((state) => state.conflict);
  const isOpen = useEditorState((state) => state.isComparing);
  const isOwn = useEditorState((state) => state.fromTabs.includes(state.conflict?.etag ?? ""));
  if (!conflict) return null;
  const compare = (isComparing: boolean) => () => store.setState({ isComparing });
  return (
    <div className="edit-banner edit-banner-bad" role="alert">
      <p>{isOwn ? "You have saved another version of this file in another tab." : "Another program has changed this file on the disk."} What is here is not saved.</p>
      <button type="button" className="button button-main" onClick={compare(true)}>
        Compare…
      </button>
      {isOpen && <ConflictDialog onClose={compare(false)} />}
    </div>
  );
}

function ConflictDialog({ onClose }: { onClose: () => void }) {
  const { saving } = useOpenFile();
  const theirs = useEditorState((state) => state.conflict?.text ?? "");
  const mine = useEditorState((state) => state.text);
  const count = saving.changes().length;
  const both = saving.clashing();
  const choose = (act: () => void) => () => {
    act();
    onClose();
  };
  return (
    <Modal title="Two versions of the file" onClose={onClose}>
      <p className="faint">Lines with - are in the file on the disk; lines with + are here.</p>
      <div className="conflict-diff" tabIndex={0} role="region" aria-label="difference">
        <Diff before={theirs} after={mine} label="from the disk to here" />
      </div>
      {both.length > 0 && (
        <div className="problem" role="status">
          Both of you changed {both.length === 1 ? "this line" : "these lines"}, so nothing can be merged:
          {both.map((line, index) => (
            <pre key={index}>{visible(line)}</pre>
          ))}
        </div>
      )}
      <div className="action-row">
        <button type="button" className="button" onClick={choose(saving.takeTheirs)}>
          Use theirs
        </button>
        <button type="button" className="button" onClick={choose(saving.keepMine)}>
          Keep mine
        </button>
        {both.length === 0 && (
          <button type="button" className="button button-main" onClick={choose(() => void saving.replayMine())}>
            Apply my {counted(count)} on theirs
          </button>
        )}
        <button type="button" className="button" onClick={onClose}>
          Later
        </button>
      </div>
    </Modal>
  );
}

function Notice() {
  const { store } = useOpenFile();
  const notice = useEditorState((state) => state.notice);
  if (!notice) return null;
  return (
    <div className="edit-banner" role="status">
      <p>{notice}</p>
      <button type="button" className="button" onClick={() => store.setState({ notice: "" })}>
        Close
      </button>
    </div>
  );
}

const READ_BY_OTHERS = "C106";

function Refusal({ onLine }: { onLine: (line: number) => void }) {
  const { store, actions } = useOpenFile();
  const refused = useEditorState((state) => state.refused);
  if (!refused) return null;
  const { code, message, help, line, operations } = refused;
  return (
    <div className="edit-banner edit-banner-bad" role="alert">
      <p>
        {code && <span className="badge tone-bad">{code}</span>} Nothing was changed: {message}
        {help && <span className="help">. {help}</span>}
      </p>
      {line !== null && (
        <button type="button" className="button" onClick={() => onLine(line)}>
          Show line {line}
        </button>
      )}
      {code === READ_BY_OTHERS && (
        <button type="button" className="button" onClick={() => void actions.apply(operations, "leave")}>
          Do it, and do not change the steps that use it
        </button>
      )}
      <button type="button" className="button" onClick={() => store.setState({ refused: null })}>
        Close
      </button>
    </div>
  );
}

function Broken({ onLine }: { onLine: (line: number) => void }) {
  const isBroken = useEditorState((state) => state.isBroken);
  const first = useEditorState((state) => state.diagnostics[0]);
  if (!isBroken) return null;
  const line = first?.line ?? null;
  return (
    <div className="edit-banner edit-banner-bad" role="alert">
      <p>
        The file has an error{line === null ? "" : ` in line ${line}`}: {first?.message ?? "it is not a workflow"}. The picture shows the last version without an error.
      </p>
      <button type="button" className="button" onClick={() => onLine(line ?? 1)}>
        Fix it in the source
      </button>
    </div>
  );
}
