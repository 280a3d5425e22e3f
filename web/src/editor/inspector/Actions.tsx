/** What can be done with steps: wrap, unwrap, remove; what is lost by it is said before. */
import { useState } from "react";
import { Field } from "../../dialogs/fields";
import type { Editor, SketchNode } from "../contract";
import { childrenOf, nameOf } from "./fields";
import { canExtract, canInline, lossesOf, wrapsOf } from "./loops/panels";

export function Actions({ editor, node }: { editor: Editor; node: SketchNode }) {
  const isHolder = node.body === "inline" || node.body === "members";
  const canOpen = isHolder || node.body === "file";
  return (
    <div className="inspector-actions">
      {canOpen && (
        <button type="button" className="button" onClick={() => (node.body === "file" ? void editor.openFile(node) : editor.drill(node.path))}>
          {node.body !== "file" ? "Show its steps" : `${editor.others.includes(node.file) ? "Save and open" : "Open"} ${node.file}`}
        </button>
      )}
      <WrapForm editor={editor} paths={[node.path]} />
      {isHolder && <Unwrap editor={editor} node={node} />}
      {canExtract(editor.dialect, node) && <ExtractForm editor={editor} path={node.path} />}
      {canInline(editor.dialect, node) && <Inline editor={editor} node={node} />}
      <RemoveButton editor={editor} nodes={[node]} />
    </div>
  );
}

/** Puts a holder around steps. */
export function WrapForm({ editor, paths }: { editor: Editor; paths: readonly string[] }) {
  const kinds = wrapsOf(editor.dialect);
  const [kind, setKind] = useState(kinds[0]?.[0] ?? "");
  const [name, setName] = useState("");
  const [isOpen, setOpen] = useState(false);
  if (kinds.length === 0) return null;
  const wrap = async () => {
    const made = await editor.apply([{ operation: "wrap", at: [...paths], kind, ...(name ? { name } : {}) }]);
    if (!made) return;
    setOpen(false);
    editor.select(made.select);
  };
  return (
    <details className="menu" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button">Wrap…</summary>
      <div className="menu-body">
        <Field label="in">
          {(id) => (
            <select id={id} value={kind} onChange={(event) => setKind(event.target.value)}>
              {kinds.map(([one, words]) => (
                <option key={one} value={one}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="called">
          {(id) => <input id={id} value={name} placeholder="an unused name" onChange={(event) => setName(event.target.value)} />}
        </Field>
        <button type="button" className="button button-main" onClick={() => void wrap()}>
          Wrap
        </button>
      </div>
    </details>
  );
}

/** Moves a step to a file of its own, which is called in its place; both are saved together. */
function ExtractForm({ editor, path }: { editor: Editor; path: string }) {
  const ending = editor.file.slice(editor.file.lastIndexOf("."));
  const usual = `${nameOf(path)}${ending}`;
  const [file, setFile] = useState("");
  const [isOpen, setOpen] = useState(false);
  const extract = async () => {
    if (await editor.apply([{ operation: "extract", at: [path], file: file || usual }])) setOpen(false);
  };
  return (
    <details className="menu" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button">Move to a file…</summary>
      <div className="menu-body">
        <Field label="new file" help="in the same folder; saved together with this file">
          {(id) => <input id={id} className="mono" value={file} placeholder={usual} onChange={(event) => setFile(event.target.value)} />}
        </Field>
        <button type="button" className="button button-main" onClick={() => void extract()}>
          Move
        </button>
      </div>
    </details>
  );
}

/** Puts what a step calls in the place of the call; the file that it is in stays. */
function Inline({ editor, node }: { editor: Editor; node: SketchNode }) {
  const inline = async () => {
    const made = await editor.apply([{ operation: "inline", at: node.path }]);
    if (made) editor.select(made.select);
  };
  return (
    <button type="button" className="button" title={`copies the steps of ${node.file} into this file; ${node.file} does not change`} onClick={() => void inline()}>
      Inline
    </button>
  );
}

function Unwrap({ editor, node }: { editor: Editor; node: SketchNode }) {
  const lost = lossesOf(node);
  const unwrap = async () => {
    const made = await editor.apply([{ operation: "unwrap", at: node.path }]);
    if (made) editor.select(made.select);
  };
  if (lost.length === 0) {
    return (
      <button type="button" className="button" onClick={() => void unwrap()}>
        Unwrap
      </button>
    );
  }
  return (
    <details className="menu">
      <summary className="button">Unwrap…</summary>
      <div className="menu-body">
        <p>These settings of {nameOf(node.path)} are lost: {lost.join(", ")}.</p>
        <button type="button" className="button button-main" onClick={() => void unwrap()}>
          Unwrap
        </button>
      </div>
    </details>
  );
}

/** Removes steps; of one that holds others it is asked what becomes of them. */
export function RemoveButton({ editor, nodes }: { editor: Editor; nodes: readonly SketchNode[] }) {
  const isHolder = nodes.some((node) => childrenOf(editor, node.path).length > 0);
  const isCanvas = nodes.some((node) => node.position !== null);
  const remove = (inside: "with" | "keep") => {
    const alone = nodes.filter((node) => !nodes.some((other) => node.path.startsWith(`${other.path}/`)));
    const bridge = isCanvas && inside === "with" ? { bridge: true } : {};
    void editor.apply(alone.map((node) => ({ operation: "remove", at: node.path, inside, ...bridge })));
  };
  if (!isHolder) {
    return (
      <button type="button" className="button button-bad" onClick={() => remove("with")}>
        Remove
      </button>
    );
  }
  return (
    <details className="menu">
      <summary className="button button-bad">Remove…</summary>
      <div className="menu-body">
        <button type="button" className="button button-bad" onClick={() => remove("with")}>
          With its steps
        </button>
        {nodes.length === 1 && (
          <button type="button" className="button" onClick={() => remove("keep")}>
            Keep its steps
          </button>
        )}
      </div>
    </details>
  );
}
