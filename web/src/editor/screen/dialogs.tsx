/** The questions of the canvas: what to add, names, what to wrap in, and what happens to what is inside. */
import { useState, type FormEvent, type ReactNode } from "react";
import { Modal } from "../../dialogs/Modal";
import { Field } from "../../dialogs/fields";
import type { Json, Operation, SketchNode } from "../contract";
import { useEditorState, useOpenFile } from "../state";
import type { CanvasAsk } from "../canvas/asking";
import { addAfter, addAt, freeName, inside, nodeOf, remove } from "../canvas/commands";
import { isPlacedDialect } from "../canvas/model";
import { found, KindButton } from "./Palette";

interface AskedProps<Kind extends CanvasAsk["kind"]> {
  question: Extract<CanvasAsk, { kind: Kind }>;
  onClose: () => void;
}

export function CanvasDialog({ question, onClose }: { question: CanvasAsk | null; onClose: () => void }) {
  switch (question?.kind) {
    case "add":
      return <AddDialog question={question} onClose={onClose} />;
    case "rename":
      return <RenameDialog question={question} onClose={onClose} />;
    case "wrap":
      return <WrapDialog question={question} onClose={onClose} />;
    case "unwrap":
      return <UnwrapDialog question={question} onClose={onClose} />;
    case "remove":
      return <RemoveDialog question={question} onClose={onClose} />;
    case "feedback":
      return <FeedbackDialog question={question} onClose={onClose} />;
    case "ports":
      return <PortsDialog question={question} onClose={onClose} />;
    default:
      return null;
  }
}

interface AskFormProps {
  title: string;
  label: string;
  tone?: "main" | "bad";
  operations: () => Operation[];
  onClose: () => void;
  children?: ReactNode;
}

/** A dialog that carries operations out; it closes at once, the editor shows what is refused. */
function AskForm({ title, label, tone = "main", operations, onClose, children }: AskFormProps) {
  const { actions } = useOpenFile();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void actions.apply(operations());
    onClose();
  };
  return (
    <Modal title={title} onClose={onClose}>
      <form className="action-form" onSubmit={submit}>
        {children}
        <div className="action-row">
          <button className={`button button-${tone}`}>{label}</button>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Modal>
  );
}

function AddDialog({ question, onClose }: AskedProps<"add">) {
  const { store, actions } = useOpenFile();
  const palette = useEditorState((state) => state.palette);
  const [search, setSearch] = useState("");
  const groups = found(palette, search);
  const add = (kind: string) => {
    const { place } = question;
    void actions.inTurn(() => {
      const { sketch, drill, dialect, selected } = store.getState();
      const isPlaced = isPlacedDialect(dialect);
      return actions.apply(place && !isPlaced ? [addAt({ ...place, after: null }, { kind })] : addAfter(sketch, drill, isPlaced, place?.into ?? selected.at(-1), { kind }));
    });
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const first = groups[0]?.kinds[0];
    if (first) add(first.kind);
  };
  return (
    <Modal title="Add a step" onClose={onClose}>
      <form className="action-form quick-add" onSubmit={submit}>
        <Field label="Kind" help="Enter adds the first one">
          {(id) => <input id={id} value={search} autoFocus autoComplete="off" onChange={(event) => setSearch(event.target.value)} />}
        </Field>
        <ul>
          {groups.flatMap((group) =>
            group.kinds.map((kind) => (
              <li key={kind.kind}>
                <KindButton kind={kind} isDisabled={false} onAdd={add} />
              </li>
            )),
          )}
        </ul>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
      </form>
    </Modal>
  );
}

function RenameDialog({ question, onClose }: AskedProps<"rename">) {
  const old = question.path.slice(question.path.lastIndexOf("/") + 1);
  const [name, setName] = useState(old);
  const operations = () => (name && name !== old ? [{ operation: "rename", at: question.path, name }] : []);
  return (
    <AskForm title={`Rename ${old}`} label="Rename" operations={operations} onClose={onClose}>
      <Field label="Name" help="steps that use it get the new name">
        {(id) => <input id={id} value={name} autoFocus required onChange={(event) => setName(event.target.value)} onFocus={(event) => event.target.select()} />}
      </Field>
    </AskForm>
  );
}

const HOLDERS = { repeat: "repeat: a loop", each: "each: for every item of a list", together: "together: at the same time", if: "if: only when a condition is true" };

function WrapDialog({ question, onClose }: AskedProps<"wrap">) {
  const dialect = useEditorState((state) => state.dialect);
  const sketch = useEditorState((state) => state.sketch);
  const kinds = Object.entries(HOLDERS).slice(0, isPlacedDialect(dialect) ? 2 : undefined);
  const [kind, setKind] = useState("repeat");
  const [name, setName] = useState(() => freeName(sketch, "loop"));
  const { paths } = question;
  const operations = () => [{ operation: "wrap", at: paths, kind, name }];
  return (
    <AskForm title={paths.length === 1 ? `Wrap ${paths[0]}` : `Wrap ${paths.length} steps`} label="Wrap" operations={operations} onClose={onClose}>
      <Field label="Name">{(id) => <input id={id} value={name} autoFocus required onChange={(event) => setName(event.target.value)} onFocus={(event) => event.target.select()} />}</Field>
      <Field label="In">
        {(id) => (
          <select id={id} value={kind} onChange={(event) => setKind(event.target.value)}>
            {kinds.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
    </AskForm>
  );
}

const KEPT = new Set(["steps", "then", "else", "cases"]);

/** What only the holder says, which goes with it. */
function onlyOf(node: SketchNode | undefined): string[] {
  const plain = (value: Json | undefined): { [key: string]: Json } => (value && typeof value === "object" && !Array.isArray(value) ? value : {});
  const fields = plain(node?.fields);
  return [...new Set(["repeat", "data", "choose"].flatMap((name) => Object.keys(plain(fields[name]))).concat("each" in fields ? ["each"] : [], "if" in fields ? ["if"] : []))].filter((name) => !KEPT.has(name));
}

function UnwrapDialog({ question, onClose }: AskedProps<"unwrap">) {
  const sketch = useEditorState((state) => state.sketch);
  const lost = onlyOf(nodeOf(sketch, question.path));
  return (
    <AskForm title={`Unwrap ${question.path}`} label="Unwrap" operations={() => [{ operation: "unwrap", at: question.path }]} onClose={onClose}>
      <p>{lost.length > 0 ? `Its steps stay. These settings are lost: ${lost.join(", ")}.` : "Its steps stay where it was."}</p>
    </AskForm>
  );
}

function RemoveDialog({ question, onClose }: AskedProps<"remove">) {
  const { actions } = useOpenFile();
  const sketch = useEditorState((state) => state.sketch);
  const isPlaced = useEditorState((state) => isPlacedDialect(state.dialect));
  const held = question.paths.reduce((sum, path) => sum + inside(sketch, path).length, 0);
  const keep = () => {
    void actions.apply(remove(question.paths, isPlaced, true));
    onClose();
  };
  return (
    <AskForm title={`Remove ${question.paths.join(", ")}?`} label="Remove with its steps" tone="bad" operations={() => remove(question.paths, isPlaced)} onClose={onClose}>
      <p>It contains {held === 1 ? "1 step" : `${held} steps`}.</p>
      <button type="button" className="button" onClick={keep}>
        Remove it, keep its steps
      </button>
    </AskForm>
  );
}

/** The names of what a step gives, as far as it says. */
function givenBy(node: SketchNode | undefined): string[] {
  const fields = node?.fields;
  const returns = fields && typeof fields === "object" && !Array.isArray(fields) ? fields["returns"] : null;
  return returns && typeof returns === "object" && !Array.isArray(returns) ? Object.keys(returns) : [];
}

const TEXTS = ["ask", "prompt"] as const;

/** The text of a step that a value can be written into. */
function textOf(node: SketchNode): { field: string; text: string } | null {
  const { fields } = node;
  if (!fields || typeof fields !== "object" || Array.isArray(fields)) return null;
  for (const field of TEXTS) {
    const text = fields[field];
    if (typeof text === "string") return { field, text };
  }
  return null;
}

function FeedbackDialog({ question, onClose }: AskedProps<"feedback">) {
  const sketch = useEditorState((state) => state.sketch);
  const { from, loop } = question;
  const given = givenBy(nodeOf(sketch, from));
  const [port, setPort] = useState(given.find((name) => name === "feedback") ?? "");
  const [name, setName] = useState("feedback");
  const readers = sketch.nodes.filter((node) => node.path.startsWith(`${loop}/`) && node.path !== from && textOf(node));
  const [reader, setReader] = useState(readers[0]?.path ?? "");
  const operations = (): Operation[] => {
    const connect = { operation: "connect", kind: "feedback", from: { at: from, port }, to: { at: loop, port: "" }, name };
    const node = nodeOf(sketch, reader);
    const told = node && textOf(node);
    if (!node || !told) return [connect];
    const value = `${told.text.trimEnd()}\n{{ ${name} | default('') }}${told.text.endsWith("\n") ? "\n" : ""}`;
    return [connect, { operation: "set", at: node.path, field: [told.field], value }];
  };
  return (
    <AskForm title={`Feed back ${from}`} label="Feed back" operations={operations} onClose={onClose}>
      <Field label="Field" help="empty: the whole result">
        {(id) => (
          <>
            <input id={id} value={port} list={`${id}-given`} autoFocus onChange={(event) => setPort(event.target.value)} />
            <datalist id={`${id}-given`}>
              {given.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field label="Name in the next iteration">{(id) => <input id={id} value={name} required onChange={(event) => setName(event.target.value)} />}</Field>
      <Field label="Written into" help="at the end of its text">
        {(id) => (
          <select id={id} value={reader} onChange={(event) => setReader(event.target.value)}>
            <option value="">no prompt: only carry it</option>
            {readers.map((node) => (
              <option key={node.path}>{node.path}</option>
            ))}
          </select>
        )}
      </Field>
    </AskForm>
  );
}

/** Which ports an edge joins, where steps have several. */
function PortsDialog({ question, onClose }: AskedProps<"ports">) {
  const sketch = useEditorState((state) => state.sketch);
  const { from, to } = question;
  const [outputs, inputs] = [nodeOf(sketch, from.at)?.ports.outputs ?? [], nodeOf(sketch, to.at)?.ports.inputs ?? []];
  // The same name on both sides is what is meant most often.
  const both = outputs.find((name) => inputs.includes(name));
  const [output, setOutput] = useState(from.port ?? both ?? outputs[0] ?? "");
  const [input, setInput] = useState(to.port ?? (inputs.includes(output) ? output : (inputs[0] ?? "")));
  const operations = (): Operation[] => [{ operation: "connect", from: { at: from.at, port: output }, to: { at: to.at, port: input } }];
  return (
    <AskForm title={`Connect ${from.at} to ${to.at}`} label="Connect" operations={operations} onClose={onClose}>
      {from.port === null && <PortField label="Output" names={outputs} value={output} onValue={setOutput} />}
      {to.port === null && <PortField label="Input" names={inputs} value={input} onValue={setInput} />}
    </AskForm>
  );
}

function PortField({ label, names, value, onValue }: { label: string; names: string[]; value: string; onValue: (name: string) => void }) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} autoFocus onChange={(event) => onValue(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
