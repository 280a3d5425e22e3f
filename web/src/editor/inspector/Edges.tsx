/** The edges of a step as a list: each can be cut, and new ones are made by menus. */
import { useState } from "react";
import { Field } from "../../dialogs/fields";
import type { Editor, SketchEdge, SketchNode } from "../contract";
import { disconnect, edgeWords, loopAround, partnersOf } from "./connections";
import { nameOf } from "./fields";

interface EdgesProps {
  editor: Editor;
  node: SketchNode;
}

export function Edges({ editor, node }: EdgesProps) {
  const edges = editor.sketch?.edges.filter((edge) => edge.from === node.path || edge.to === node.path) ?? [];
  const isDrawn = edges.length > 0 || (!editor.isReadOnly && partnersOf(editor, node).length > 0);
  if (!isDrawn) return null;
  return (
    <section className="inspector-edges" aria-label="edges of the step">
      <h3>Edges</h3>
      <ul className="inspector-list">
        {edges.map((edge, index) => (
          <EdgeRow key={index} editor={editor} node={node} edge={edge} />
        ))}
      </ul>
      {!editor.isReadOnly && <Connect editor={editor} node={node} />}
      {!editor.isReadOnly && <FeedBack editor={editor} node={node} />}
    </section>
  );
}

function EdgeRow({ editor, node, edge }: EdgesProps & { edge: SketchEdge }) {
  const other = edge.from === node.path ? edge.to : edge.from;
  const words = edgeWords(edge);
  // What is carried is a field of the loop, and is changed there.
  const canCut = !editor.isReadOnly && !(edge.kind === "feedback" && edge.span === null);
  return (
    <li className="edge-row">
      <button type="button" className="link-button" title={`go to ${nameOf(other)}`} onClick={() => editor.select([other])}>
        {words}
      </button>
      {canCut && (
        <button type="button" className="button button-small" aria-label={`Disconnect: ${words}`} onClick={() => void editor.apply([disconnect(edge)])}>
          ✕
        </button>
      )}
    </li>
  );
}

const FIRST = "";

function Connect({ editor, node }: EdgesProps) {
  const [to, setTo] = useState("");
  const [ports, setPorts] = useState<[string, string]>([FIRST, FIRST]);
  const partners = partnersOf(editor, node);
  const target = partners.find((one) => one.path === to);
  if (partners.length === 0) return null;
  const hasPorts = node.position !== null || node.ports.outputs.length > 0;
  const connect = async () => {
    const [from_port = "", to_port = ""] = ports;
    const made = await editor.apply([
      { operation: "connect", from: { at: node.path, port: from_port || (node.ports.outputs[0] ?? "") }, to: { at: to, port: to_port || (target?.ports.inputs[0] ?? "") }, ...(hasPorts ? {} : { kind: "order" }) },
    ]);
    if (made) setTo("");
  };
  return (
    <div className="connect-row">
      <Field label={hasPorts ? "Connect to" : "Comes before"}>
        {(id) => (
          <select id={id} value={to} onChange={(event) => setTo(event.target.value)}>
            <option value="">choose a step</option>
            {partners.map((one) => (
              <option key={one.path} value={one.path}>
                {nameOf(one.path)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {target && node.ports.outputs.length > 1 && <PortChoice label="from output" names={node.ports.outputs} value={ports[0]} onValue={(port) => setPorts([port, ports[1]])} />}
      {target && target.ports.inputs.length > 1 && <PortChoice label="to input" names={target.ports.inputs} value={ports[1]} onValue={(port) => setPorts([ports[0], port])} />}
      {target && (
        <button type="button" className="button" onClick={() => void connect()}>
          Connect
        </button>
      )}
    </div>
  );
}

function PortChoice({ label, names, value, onValue }: { label: string; names: string[]; value: string; onValue: (port: string) => void }) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value || names[0]} onChange={(event) => onValue(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Carries what a step gives into the next iteration of the loop around it. */
function FeedBack({ editor, node }: EdgesProps) {
  const [port, setPort] = useState("");
  const [isOpen, setOpen] = useState(false);
  const loop = loopAround(editor, node);
  if (!loop) return null;
  const feed = async () => {
    const made = await editor.apply([{ operation: "connect", kind: "feedback", from: { at: node.path, port }, to: { at: loop.path, port: "" }, ...(port ? { name: port } : {}) }]);
    if (made) setOpen(false);
  };
  return (
    <details className="menu" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button">Feed back to {nameOf(loop.path)}…</summary>
      <div className="menu-body">
        <Field label="field" help="empty: the whole result">
          {(id) => <input id={id} value={port} placeholder="feedback" onChange={(event) => setPort(event.target.value)} />}
        </Field>
        <button type="button" className="button button-main" onClick={() => void feed()}>
          Feed back
        </button>
      </div>
    </details>
  );
}
