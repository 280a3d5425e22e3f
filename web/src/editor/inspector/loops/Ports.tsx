/** What a node takes and gives, by name: its ports, with their types, and where a loop leads them. */
import { visible } from "../../../journal/words";
import type { Editor, Json, SketchNode } from "../../contract";
import { valueAt, type Key } from "../fields";
import { useChosen } from "../widgets/useDraft";
import { AnyWidget, ChoiceField, TextField } from "../widgets/Widgets";
import { freeName, mappedTo, rowsIn, type Mapped, type Side } from "./mappings";
import { RowTable } from "./RowTable";

interface PortsProps {
  editor: Editor;
  node: SketchNode;
}

const TYPES = ["string", "number", "boolean", "json", "file", "files", "any"];
const SIDES: Record<Side, { title: string; word: string }> = { inputs: { title: "Inputs", word: "input" }, outputs: { title: "Outputs", word: "output" } };

export function Ports({ editor, node }: PortsProps) {
  return (
    <>
      <PortTable editor={editor} node={node} side="inputs" />
      <PortTable editor={editor} node={node} side="outputs" />
    </>
  );
}

type Change = (name: string) => (value: Json | undefined) => Promise<boolean>;

function PortTable({ editor, node, side }: PortsProps & { side: Side }) {
  const { title, word } = SIDES[side];
  const keys: Key[] = ["data", side];
  const fresh: Mapped = { name: freeName(rowsIn(valueAt(node.fields, keys)), "name", word), type: "string" };
  // The name stands in handles, mappings and texts, which are renamed with it.
  const rename = (old: Json | undefined) => async (name: Json | undefined) =>
    name === old || (await editor.apply([{ operation: "rename", at: node.path, port: `${word}:${String(old)}`, name: name ?? "" }])) !== null;
  return (
    <RowTable title={title} word={word} editor={editor} node={node} keys={keys} fresh={fresh}>
      {(row, index, change) => <PortRow editor={editor} node={node} side={side} row={row} label={`${word} ${index + 1}`} change={change} rename={rename(row["name"])} />}
    </RowTable>
  );
}

interface PortRowProps extends PortsProps {
  side: Side;
  row: Mapped;
  label: string;
  change: Change;
  rename: (name: Json | undefined) => Promise<boolean>;
}

function PortRow({ node, side, row, label, change, rename }: PortRowProps) {
  const hidden = (words: string) => <span className="sr-only">{`${words} of ${label}`}</span>;
  const more = side === "inputs" ? ["default", "description"] : ["description"];
  return (
    <>
      <TextField label={hidden("name")} value={row["name"]} isRequired className="mono" onValue={rename} />
      <ChoiceField label={hidden("type")} value={row["type"]} usual="any" choices={TYPES} onValue={change("type")} />
      {side === "inputs" && <Required label={label} value={row["required"]} onValue={change("required")} />}
      {node.kind === "loop" && node.body !== "members" && <Mapping node={node} side={side} name={String(row["name"] ?? "")} />}
      <details className="inspector-more port-more" open={more.some((name) => row[name] !== undefined) || undefined}>
        <summary>more of {label}</summary>
        {side === "inputs" && <AnyWidget widget={row["default"] !== undefined && typeof row["default"] !== "string" ? "json" : "any"} at={node.path} label={`default of ${label}`} value={row["default"]} onValue={change("default")} />}
        <TextField label={`description of ${label}`} value={row["description"]} onValue={change("description")} />
      </details>
    </>
  );
}

function Required({ label, value, onValue }: { label: string; value: Json | undefined; onValue: (value: Json | undefined) => Promise<boolean> }) {
  const [shown, choose] = useChosen(String(value === true), (chosen) => onValue(chosen === "true" ? true : undefined));
  return (
    <label className="check">
      <input type="checkbox" checked={shown === "true"} onChange={(event) => choose(String(event.target.checked))} /> required
      <span className="sr-only"> {label}</span>
    </label>
  );
}

/** Where the mappings of the loop lead a port; one that they do not name has no use yet. */
function Mapping({ node, side, name }: { node: SketchNode; side: Side; name: string }) {
  const ends = mappedTo(node, side, name);
  const arrow = side === "inputs" ? "→" : "←";
  return <p className="faint port-mapped">{ends.length > 0 ? `${arrow} ${visible(ends.join(", "))}` : "not mapped"}</p>;
}
