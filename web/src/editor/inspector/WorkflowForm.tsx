/** The workflow itself: what it is called, what it takes and gives, its model and its budget. */
import { isRecord, textOf } from "../../app/values";
import type { Editor, Json, Operation } from "../contract";
import { othersOf, put, set, valueAt, type Field, type Key } from "./fields";
import { FormRow, Others } from "./StepForm";
import { NamedRows, type Named } from "./widgets/NamedRows";
import { NamesField } from "./widgets/NamesField";
import { useChosen } from "./widgets/useDraft";
import { AnyWidget, ChoiceField, TextField } from "./widgets/Widgets";

const field = (keys: string[], label: string, type: string, help = ""): Field => ({ field: keys, label, type, help, choices: [], required: false });

/** What forms show of a file as a whole, by dialect; everything else is listed. */
const FORMS: Record<string, Field[]> = {
  native: [
    field(["name"], "name", "text"),
    field(["description"], "description", "long text", "what the workflow does, for its readers"),
    field(["model"], "model", "any", "the default for all steps: provider/model; in a list, the next one is used when one fails"),
    field(["system"], "system", "long text", "default system prompt for all ask steps"),
    field(["budget"], "budget", "any", "dollars for the whole run, or {cost, tokens, calls, time}"),
  ],
  shodan: [field(["metadata", "name"], "name", "text"), field(["metadata", "description"], "description", "long text")],
};
const USUAL = [field(["name"], "name", "text"), field(["description"], "description", "long text")];
const TABLES: Key[][] = [["inputs"], ["outputs"]];

export function WorkflowForm({ editor }: { editor: Editor }) {
  const fields = editor.sketch?.fields;
  const isNative = editor.dialect === "native";
  const form = FORMS[editor.dialect] ?? USUAL;
  const others = fields === undefined ? [] : othersOf(form, fields, null, isNative ? TABLES : []);
  return (
    <fieldset className="inspector-fields" disabled={editor.isReadOnly}>
      <legend className="inspector-legend">
        The workflow <span className="badge tone-idle">{editor.dialect}</span>
      </legend>
      {fields !== undefined && form.map((one) => <FormRow key={one.label} editor={editor} at="" row={{ field: one, value: valueAt(fields, one.field) }} />)}
      {isNative && fields !== undefined && (
        <>
          <Inputs editor={editor} inputs={valueAt(fields, ["inputs"])} />
          <Outputs editor={editor} outputs={valueAt(fields, ["outputs"])} />
        </>
      )}
      <Others rows={others} />
    </fieldset>
  );
}

const named = (value: Json | undefined): Named => (isRecord(value) ? (value as Named) : {});

function Outputs({ editor, outputs }: { editor: Editor; outputs: Json | undefined }) {
  const last = editor.sketch?.nodes.findLast((node) => node.parent === "")?.title ?? "step";
  const change = (name: string) => async (value: Json | undefined) => (await editor.apply([set("", ["outputs", name], value ?? "")])) !== null;
  const row = (name: string, value: Json) =>
    typeof value === "string" ? (
      <NamesField label={<span className="sr-only">{`value of ${name}`}</span>} value={value} at="" opens="braces" isRequired onValue={change(name)} />
    ) : (
      <AnyWidget widget="json" label={<span className="sr-only">{`value of ${name}`}</span>} value={value} at="" onValue={change(name)} />
    );
  return (
    <div role="group" aria-label="outputs" className="sentence-part">
      <h3>outputs</h3>
      <NamedRows editor={editor} at="" keys={["outputs"]} values={named(outputs)} word="output" fresh={["result", `{{ ${last} }}`]} row={row} />
    </div>
  );
}

const TYPES = ["string", "number", "integer", "boolean", "json", "list", "file", "files", "any", "secret"];

function Inputs({ editor, inputs }: { editor: Editor; inputs: Json | undefined }) {
  return (
    <div role="group" aria-label="inputs" className="sentence-part">
      <h3>inputs</h3>
      <NamedRows editor={editor} at="" keys={["inputs"]} values={named(inputs)} word="input" fresh={["input", "string"]} row={(name, value) => <InputRow editor={editor} name={name} value={value} />} />
    </div>
  );
}

/** The type of an input, and what else is said about it; a bare type stays bare while that is all. */
function InputRow({ editor, name, value }: { editor: Editor; name: string; value: Json }) {
  const keys = ["inputs", name];
  const isObject = isRecord(value);
  const written = String((isObject ? value["type"] : value) ?? "string");
  const [type, isOptional] = [written.replace(/\?$/, ""), written.endsWith("?")];
  const make = async (operation: Operation) => (await editor.apply([operation])) !== null;
  const setType = (next: string) => make(set("", isObject ? [...keys, "type"] : keys, next));
  const [shown, choose] = useChosen(isOptional ? "?" : "", (mark) => setType(`${type}${mark}`));
  const more = (part: string) => (next: Json | undefined) => {
    if (isObject) return make(put("", [...keys, part], next));
    return next === undefined ? Promise.resolve(true) : make(set("", keys, { type: written, [part]: next }));
  };
  return (
    <>
      <ChoiceField label={<span className="sr-only">{`type of ${name}`}</span>} value={type} usual="string" choices={TYPES} onValue={(next) => setType(`${textOf(next) || "string"}${isOptional ? "?" : ""}`)} />
      <label className="check">
        <input type="checkbox" checked={shown === "?"} onChange={(event) => choose(event.target.checked ? "?" : "")} /> optional
      </label>
      <details className="inspector-more">
        <summary>more…</summary>
        <AnyWidget widget={isObject && typeof value["default"] === "string" ? "text" : "any"} label="default" value={isObject ? (value["default"] as Json | undefined) : undefined} at="" onValue={more("default")} />
        <TextField label="description" value={isObject ? (value["description"] as Json | undefined) : undefined} onValue={more("description")} />
      </details>
    </>
  );
}
