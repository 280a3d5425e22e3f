/** A loop that holds nodes of the file: its slots on the rim, and the nodes that are its interface. */
import type { Editor, Json, SketchNode } from "../../contract";
import { set, unset, valueAt, type Key } from "../fields";
import { ChoiceField, TextField } from "../widgets/Widgets";
import { addRow, rowsIn } from "./mappings";

interface SlotsProps {
  editor: Editor;
  node: SketchNode;
  inner: readonly SketchNode[];
}

const KEYS: Key[] = ["data", "dockSlots"];
const TYPES = { iteration: "counts iterations", continue: "decides whether the loop continues", feedback: "is carried to the next iteration" };

export function Slots({ editor, node, inner }: SlotsProps) {
  const faces = inner.filter((child) => child.kind.startsWith("interface-"));
  const slots = rowsIn(valueAt(node.fields, KEYS));
  const change = (index: number, name: string) => async (value: Json | undefined) => (await editor.apply([set(node.path, [...KEYS, index, name], value ?? "")])) !== null;
  if (faces.length > 0 && slots.length === 0) {
    return (
      <div role="group" aria-label="Interface" className="sentence-part">
        <h3>Interface</h3>
        <ul className="inspector-list">
          {faces.map((face) => (
            <li key={face.path}>
              <button type="button" className="link-button" onClick={() => editor.select([face.path])}>
                {face.title}
              </button>{" "}
              <span className="faint">{[...face.ports.inputs, ...face.ports.outputs].join(", ")}</span>
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div role="group" aria-label="Slots" className="sentence-part">
      <div className="mapping-head">
        <h3>Slots</h3>
        <button type="button" className="button button-small" aria-label="Add a slot" onClick={() => void editor.apply([addRow(node.path, KEYS, slots, { name: `slot_${slots.length + 1}`, type: "feedback" })])}>
          + Add
        </button>
      </div>
      <ol className="mapping-rows">
        {slots.map((slot, index) => (
          <li key={index} className="mapping-row">
            <div className="mapping-ends">
              <TextField label={<span className="sr-only">{`name of slot ${index + 1}`}</span>} value={slot["name"]} isRequired onValue={change(index, "name")} />
              <ChoiceField label={<span className="sr-only">{`type of slot ${index + 1}`}</span>} value={slot["type"]} choices={Object.keys(TYPES)} words={TYPES} onValue={change(index, "type")} />
            </div>
            <button type="button" className="button button-small" aria-label={`Remove slot ${index + 1}`} onClick={() => void editor.apply([unset(node.path, [...KEYS, index])])}>
              ✕
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
