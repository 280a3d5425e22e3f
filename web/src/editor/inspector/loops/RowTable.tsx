/** A list of the file as rows: each can be changed, moved and removed, and more can be added. */
import { useState, type ReactNode } from "react";
import type { Editor, Json, Operation, SketchNode } from "../../contract";
import { useOpenFile } from "../../state";
import { put, unset, valueAt, type Key } from "../fields";
import { useLatest } from "../widgets/useDraft";
import { addRow, moveRow, rowsIn, type Mapped } from "./mappings";

interface RowTableProps {
  title: string;
  word: string;
  editor: Editor;
  node: SketchNode;
  keys: Key[];
  fresh: Mapped;
  children: (row: Mapped, index: number, change: (name: string) => (value: Json | undefined) => Promise<boolean>) => ReactNode;
}

export function RowTable({ title, word, editor, node, keys, fresh, children }: RowTableProps) {
  const { actions } = useOpenFile();
  const [dragged, setDragged] = useState<number | null>(null);
  const rows = rowsIn(valueAt(node.fields, keys));
  const latest = useLatest({ rows, fresh });
  const make = async (operation: Operation | null) => operation !== null && (await editor.apply([operation])) !== null;
  // Rows are known by their numbers: each change begins with what the one before left.
  const add = () => void actions.inTurn(() => make(addRow(node.path, keys, latest.current.rows, latest.current.fresh)));
  const move = (from: number, to: number) => void actions.inTurn(() => make(moveRow(node.path, keys, latest.current.rows, from, to)));
  const remove = (index: number) => void actions.inTurn(() => make(unset(node.path, [...keys, index])));
  const change = (index: number) => (name: string) => (value: Json | undefined) => make(put(node.path, [...keys, index, name], value));
  return (
    <div role="group" aria-label={title} className="sentence-part">
      <div className="mapping-head">
        <h3>{title}</h3>
        <button type="button" className="button button-small" aria-label={`Add an ${word}`} onClick={add}>
          + Add
        </button>
      </div>
      {rows.length === 0 && <p className="faint">none</p>}
      <ol className="mapping-rows">
        {rows.map((row, index) => (
          <li
            key={index}
            className="mapping-row"
            draggable={!editor.isReadOnly}
            onDragStart={() => setDragged(index)}
            onDragEnd={() => setDragged(null)}
            onDragOver={(event) => dragged !== null && event.preventDefault()}
            onDrop={() => dragged !== null && move(dragged, index)}
          >
            <div className="mapping-ends">{children(row, index, change(index))}</div>
            <div className="mapping-tools">
              <button type="button" className="button button-small" aria-label={`Move ${word} ${index + 1} up`} disabled={index === 0} onClick={() => move(index, index - 1)}>
                ↑
              </button>
              <button type="button" className="button button-small" aria-label={`Move ${word} ${index + 1} down`} disabled={index === rows.length - 1} onClick={() => move(index, index + 1)}>
                ↓
              </button>
              <button type="button" className="button button-small" aria-label={`Remove ${word} ${index + 1}`} onClick={() => remove(index)}>
                ✕
              </button>
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
