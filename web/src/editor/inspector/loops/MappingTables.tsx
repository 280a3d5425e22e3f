/** The two tables of a loop: what is led into each iteration, and what comes out of the loop. */
import { useState, type ReactNode } from "react";
import type { Editor, Json, Operation, SketchNode } from "../../contract";
import { set, unset, valueAt, type Key } from "../fields";
import { useOpenFile } from "../../state";
import { useChosen, useLatest } from "../widgets/useDraft";
import { TextField } from "../widgets/Widgets";
import { addRow, freeTarget, ITERATIONS, labelOf, moveRow, results, rowsIn, sources, TAKES, targets, withCurrent, type Choice, type Mapped } from "./mappings";

interface TableProps {
  editor: Editor;
  node: SketchNode;
  inner: readonly SketchNode[];
}

export function InputMappings({ editor, node, inner }: TableProps) {
  const keys: Key[] = ["data", "inputMappings"];
  const [from, into] = [sources(node, inner), targets(inner)];
  const fresh: Mapped = { source: from[0]?.value ?? { type: "outer", name: "input" }, target: into[0]?.value ?? { node: "node", input: "input" }, iterations: "all" };
  return (
    <MappingTable title="Input mappings" word="input mapping" editor={editor} node={node} keys={keys} fresh={fresh}>
      {(row, index, change) => (
        <>
          <End label={`source of input mapping ${index + 1}`} choices={from} value={row["source"]} onValue={change("source")} />
          <span aria-hidden="true">→</span>
          <End label={`target of input mapping ${index + 1}`} choices={into} value={row["target"]} onValue={change("target")} />
          <Words label={`iterations of input mapping ${index + 1}`} words={ITERATIONS} value={row["iterations"] ?? "all"} onValue={change("iterations")} />
        </>
      )}
    </MappingTable>
  );
}

export function OutputMappings({ editor, node, inner }: TableProps) {
  const keys: Key[] = ["data", "outputMappings"];
  const given = results(inner);
  const rows = rowsIn(valueAt(node.fields, keys));
  const fresh: Mapped = { source: given[0]?.value ?? { node: "node", output: "output" }, target: freeTarget(rows, "result"), take: "last" };
  return (
    <MappingTable title="Output mappings" word="output mapping" editor={editor} node={node} keys={keys} fresh={fresh}>
      {(row, index, change) => (
        <>
          <End label={`source of output mapping ${index + 1}`} choices={given} value={row["source"]} onValue={change("source")} />
          <span aria-hidden="true">→</span>
          <TextField label={<span className="sr-only">{`target of output mapping ${index + 1}`}</span>} value={row["target"]} isRequired onValue={(value) => change("target")(value ?? "")} />
          {valueAt(row["source"], ["type"]) !== "builtin" && <Words label={`take of output mapping ${index + 1}`} words={TAKES} value={row["take"] ?? "last"} onValue={change("take")} />}
        </>
      )}
    </MappingTable>
  );
}

interface MappingTableProps {
  title: string;
  word: string;
  editor: Editor;
  node: SketchNode;
  keys: Key[];
  fresh: Mapped;
  children: (row: Mapped, index: number, change: (name: string) => (value: Json) => Promise<boolean>) => ReactNode;
}

function MappingTable({ title, word, editor, node, keys, fresh, children }: MappingTableProps) {
  const { actions } = useOpenFile();
  const [dragged, setDragged] = useState<number | null>(null);
  const rows = rowsIn(valueAt(node.fields, keys));
  const latest = useLatest({ rows, fresh });
  const make = async (operation: Operation | null) => operation !== null && (await editor.apply([operation])) !== null;
  // Rows are known by their numbers: each change begins with what the one before left.
  const add = () => void actions.inTurn(() => make(addRow(node.path, keys, latest.current.rows, latest.current.fresh)));
  const move = (from: number, to: number) => void actions.inTurn(() => make(moveRow(node.path, keys, latest.current.rows, from, to)));
  const remove = (index: number) => void actions.inTurn(() => make(unset(node.path, [...keys, index])));
  const change = (index: number) => (name: string) => (value: Json) => make(set(node.path, [...keys, index, name], value));
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

interface EndProps {
  label: string;
  choices: Choice[];
  value: Json | undefined;
  onValue: (value: Json) => Promise<boolean>;
}

/** One end of a mapping. */
function End({ label, choices, value, onValue }: EndProps) {
  const listed = withCurrent(choices, value);
  const [shown, choose] = useChosen(labelOf(value), async (chosen) => {
    const found = listed.find((choice) => choice.label === chosen);
    if (found) await onValue(found.value);
  });
  return (
    <select aria-label={label} value={shown} onChange={(event) => choose(event.target.value)}>
      {listed.map((choice) => (
        <option key={choice.label}>{choice.label}</option>
      ))}
    </select>
  );
}

interface WordsProps {
  label: string;
  words: Readonly<Record<string, string>>;
  value: Json;
  onValue: (value: Json) => Promise<boolean>;
}

function Words({ label, words, value, onValue }: WordsProps) {
  const [shown, choose] = useChosen(String(value), onValue);
  return (
    <select aria-label={label} value={shown} onChange={(event) => choose(event.target.value)}>
      {Object.entries(words).map(([one, shown]) => (
        <option key={one} value={one}>
          {shown}
        </option>
      ))}
    </select>
  );
}
