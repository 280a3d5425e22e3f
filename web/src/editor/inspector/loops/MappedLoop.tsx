/** A loop around a workflow: what is inside, while what it goes on, its maximum, and what is led in and out. */
import { useState } from "react";
import { useLoad } from "../../../app/session";
import { Field } from "../../../dialogs/fields";
import type { Editor, Json, Operation, SketchNode } from "../../contract";
import { childrenOf, put, set, unset, valueAt } from "../fields";
import { useChosen } from "../widgets/useDraft";
import { AnyWidget, Choice, ChoiceField, NumberField } from "../widgets/Widgets";
import { innerOutputs, typeOf } from "./mappings";
import { InputMappings, OutputMappings } from "./MappingTables";
import { Slots } from "./Slots";

interface LoopProps {
  editor: Editor;
  node: SketchNode;
}

const OPERATORS = ["==", "!=", "<", ">", "<=", ">="];

export function MappedLoop({ editor, node }: LoopProps) {
  const inner = childrenOf(editor, node.path);
  const most = valueAt(node.fields, ["data", "maxIterations"]);
  const condition = valueAt(node.fields, ["data", "continueWhile"]);
  // Loops of the two other forms say by slots or nodes inside what this one says by mappings.
  const isMapped = node.body !== "members" || condition !== undefined;
  return (
    <div className="loop-panel">
      <InnerWorkflow editor={editor} node={node} />
      {isMapped && <ContinueWhile editor={editor} node={node} inner={inner} />}
      <NumberField
        label="Max iterations"
        value={most}
        usual="10"
        min={1}
        outside="must be at least 1"
        onValue={async (value) => (value === undefined && most === undefined) || (await editor.apply([put(node.path, ["data", "maxIterations"], value)])) !== null}
      />
      {isMapped && <InputMappings editor={editor} node={node} inner={inner} />}
      {isMapped && <OutputMappings editor={editor} node={node} inner={inner} />}
      {node.body === "members" && <Slots editor={editor} node={node} inner={inner} />}
    </div>
  );
}

/** Where the inside stands: in this file, or in another one. */
function InnerWorkflow({ editor, node }: LoopProps) {
  const [isChoosing, setChoosing] = useState(false);
  const list = useLoad(async (client, signal) => (isChoosing ? client.workflows(signal) : null), [isChoosing]);
  const files = list.value?.workflows.filter((one) => one.dialect === editor.dialect && one.file !== editor.file).map((one) => one.file) ?? [];
  const ref = valueAt(node.fields, ["data", "workflowRef"]);
  const hasInline = valueAt(node.fields, ["data", "inlineWorkflow"]) !== undefined;
  const editInline = async () => {
    const steps: Operation[] = [];
    if (ref !== undefined && ref !== null) steps.push(unset(node.path, ["data", "workflowRef"]));
    if (!hasInline && node.body !== "members") steps.push(set(node.path, ["data", "inlineWorkflow"], { nodes: [], edges: [] }));
    if (steps.length === 0 || (await editor.apply(steps))) editor.drill(node.path);
  };
  const choose = async (file: string) => {
    if (file && (await editor.apply([set(node.path, ["data", "workflowRef"], file)]))) setChoosing(false);
  };
  return (
    <div role="group" aria-label="Inner workflow" className="sentence-part">
      <h3>Inner workflow</h3>
      {node.body === "file" && (
        <p>
          <code>{node.file}</code>
        </p>
      )}
      <div className="action-row">
        <button type="button" className="button" aria-pressed={node.body !== "file"} onClick={() => void editInline()}>
          Edit inline
        </button>
        <button type="button" className="button" aria-expanded={isChoosing} onClick={() => setChoosing(!isChoosing)}>
          Select file <span aria-hidden="true">▾</span>
        </button>
        {node.body === "file" && (
          <button type="button" className="button" onClick={() => void editor.openFile(node)}>
            {editor.others.includes(node.file) ? "Save and open it" : "Open it"}
          </button>
        )}
      </div>
      {isChoosing && (
        <Field label="File" help={list.value && files.length === 0 ? "the project has no other file of this format" : hasInline ? "the inline workflow stays in the file, but is not used" : ""}>
          {(id) => (
            <select id={id} value={node.body === "file" ? node.file : ""} onChange={(event) => void choose(event.target.value)}>
              <option value="">choose a file</option>
              {files.map((file) => (
                <option key={file}>{file}</option>
              ))}
            </select>
          )}
        </Field>
      )}
    </div>
  );
}

function ContinueWhile({ editor, node, inner }: LoopProps & { inner: readonly SketchNode[] }) {
  const at = (name: string) => ["data", "continueWhile", name];
  const part = (name: string) => valueAt(node.fields, at(name));
  const change = (name: string) => async (value: Json | undefined) => (await editor.apply([set(node.path, at(name), value ?? "")])) !== null;
  const value = part("value");
  const sendOutput = (chosen: string) => {
    const steps = [set(node.path, at("output"), chosen)];
    // A value that was meant for another output would never be equal to a verdict.
    if (widgetOf(typeOf(inner, chosen)) === "boolean" && typeof value !== "boolean") steps.push(set(node.path, at("value"), false));
    return editor.apply(steps);
  };
  // The field of the value is the chosen output's at once, not when the change has been made.
  const [output, choose] = useChosen(String(part("output") ?? ""), sendOutput);
  const type = typeOf(inner, output);
  const widget = widgetOf(type);
  const fits = value === undefined || widget === "boolean" || typeof value === (widget === "text" || widget === "any" ? "string" : widget);
  return (
    <div role="group" aria-label="Continue while" className="sentence-part">
      <h3>Continue while</h3>
      <Choice label="Output" current={output} choices={innerOutputs(inner)} onChoice={choose} help={type ? `a ${type}` : ""} />
      <ChoiceField label="Operator" value={part("operator")} usual="==" choices={OPERATORS} onValue={change("operator")} />
      <AnyWidget key={widget} widget={fits ? widget : "json"} label="Value" value={value} at={node.path} onValue={change("value")} />
    </div>
  );
}

const widgetOf = (type: string) => (type === "boolean" ? "boolean" : type === "number" || type === "integer" ? "number" : type === "string" ? "text" : "any");
