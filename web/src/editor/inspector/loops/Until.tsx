/** When a loop ends: a chip for each condition, with "or" and "and" between them. */
import { Field } from "../../../dialogs/fields";
import type { Editor, Json, SketchNode } from "../../contract";
import { childrenOf, nameOf, set } from "../fields";
import { NamesField } from "../widgets/NamesField";
import { useChosen } from "../widgets/useDraft";
import { JsonField, NumberField, TextField } from "../widgets/Widgets";
import { added, branchOf, changePart, CONDITIONS, fresh, partOf, removed, type Condition, type ConditionKind, type Group, type Unknown } from "./conditions";

interface UntilProps {
  editor: Editor;
  node: SketchNode;
  until: Condition | Group | Unknown | null;
  written: Json | undefined;
}

export function Until({ editor, node, until, written }: UntilProps) {
  const last = nameOf(childrenOf(editor, node.path).at(-1)?.path ?? "") || "step";
  const add = (word: "or" | "and") => void editor.apply([added(node.path, until, word, written, fresh("when", { last }))]);
  return (
    <div role="group" aria-label="repeat until" className="sentence-part">
      <h3>Repeat until</h3>
      {until === null && <p className="faint">no condition: it ends at its limit</p>}
      {until?.is === "unknown" && <JsonField label={<span className="sr-only">condition as JSON</span>} value={until.value} onValue={async (value) => (await editor.apply([set(node.path, until.keys, value ?? null)])) !== null} />}
      {until !== null && until.is !== "unknown" && <Part editor={editor} node={node} last={last} part={until} />}
      <div className="action-row">
        {until === null ? (
          <button type="button" className="button button-small" onClick={() => add("or")}>
            + condition
          </button>
        ) : (
          until.is !== "unknown" && (
            <>
              <button type="button" className="button button-small" onClick={() => add("or")}>
                + or
              </button>
              <button type="button" className="button button-small" onClick={() => add("and")}>
                + and
              </button>
            </>
          )
        )}
      </div>
    </div>
  );
}

interface PartProps {
  editor: Editor;
  node: SketchNode;
  last: string;
}

function Part({ part, ...props }: PartProps & { part: Condition | Group }) {
  if (part.is === "condition") return <Chip {...props} condition={part} />;
  return (
    <ul className="condition-group" aria-label={part.word === "or" ? "any of these" : "all of these"}>
      {part.parts.map((one, index) => (
        <li key={one.keys.join(".")}>
          {index > 0 && <span className="condition-word">{part.word}</span>}
          <Part {...props} part={one} />
        </li>
      ))}
    </ul>
  );
}

function Chip({ editor, node, last, condition }: PartProps & { condition: Condition }) {
  const [kind, choose] = useChosen(condition.kind, (next) => editor.apply([set(node.path, condition.keys, fresh(next as ConditionKind, { last }))]));
  return (
    <div className="condition" role="group" aria-label={CONDITIONS[condition.kind]}>
      <div className="condition-head">
        <Field label={<span className="sr-only">kind of condition</span>}>
          {(id) => (
            <select id={id} value={kind} onChange={(event) => choose(event.target.value)}>
              {Object.entries(CONDITIONS).map(([one, words]) => (
                <option key={one} value={one}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        <button type="button" className="button button-small" aria-label={`Remove the condition ${CONDITIONS[condition.kind]}`} onClick={() => void editor.apply([removed(node.path, condition)])}>
          ✕
        </button>
      </div>
      <Parts editor={editor} node={node} condition={condition} />
    </div>
  );
}

function Parts({ editor, node, condition }: Omit<PartProps, "last"> & { condition: Condition }) {
  const part = (name: string) => ({
    value: partOf(condition, name),
    onValue: async (value: Json | undefined) =>
      (value === undefined && partOf(condition, name) === undefined) || (await editor.apply([changePart(node.path, condition, name, value)])) !== null,
  });
  const hidden = (words: string) => <span className="sr-only">{words}</span>;
  const of = <TextField {...part("of")} label="of" usual="the last step" className="mono" />;
  switch (condition.kind) {
    case "when":
      return <NamesField {...part("test")} label={hidden("expression")} at={node.path} opens="words" isRequired />;
    case "score":
      return (
        <>
          <NumberField {...part("at_least")} label={hidden("at least")} usual="no threshold" />
          {partOf(condition, "pattern") === undefined ? <NamesField {...part("from")} label="from" at={node.path} opens="braces" /> : <TextField {...part("pattern")} label="pattern" className="mono" />}
          <details className="inspector-more">
            <summary>between…</summary>
            <NumberField {...part("low")} label="lowest score" usual="any" />
            <NumberField {...part("high")} label="highest score" usual="any" />
          </details>
        </>
      );
    case "judge":
      return (
        <>
          <NamesField {...part("question")} label={hidden("statement for the judge")} at={node.path} opens="braces" isRequired />
          <details className="inspector-more">
            <summary>more…</summary>
            {of}
            <TextField {...part("model")} label="model" />
            <NumberField {...part("votes")} label="votes" usual="1" />
          </details>
        </>
      );
    case "stable":
      return (
        <>
          <NumberField {...part("threshold")} label={hidden("how similar")} usual="0.95" min={0} max={1} outside="must be from 0 to 1" />
          {of}
        </>
      );
    case "plateau":
      return <NumberField {...part("patience")} label={hidden("iterations without a better score")} unit="iterations" min={1} outside="must be at least 1" />;
    case "branch":
      return <Branch editor={editor} node={node} condition={condition} />;
  }
}

function Branch({ editor, node, condition }: Omit<PartProps, "last"> & { condition: Condition }) {
  const [step, name] = branchOf(condition);
  const choosing = childrenOf(editor, node.path).filter((child) => child.kind === "choose" || child.kind === "if");
  const steps = choosing.map((child) => nameOf(child.path));
  const change = async (next: string, taken: string) => (await editor.apply([set(node.path, [...condition.keys, "branch"], { [next]: taken })])) !== null;
  return (
    <div className="sentence-limits">
      <Field label="step">
        {(id) => (
          <select id={id} value={step} onChange={(event) => void change(event.target.value, name)}>
            {(steps.includes(step) ? steps : [step, ...steps]).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      <TextField label="takes" value={name} isRequired onValue={(text) => change(step, String(text ?? ""))} />
    </div>
  );
}
