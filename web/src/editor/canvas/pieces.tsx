/** What stands on the canvas of the editor: steps, containers, and places that are still empty. */
import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import { createContext, memo, useContext, useState, type CSSProperties } from "react";
import { visible } from "../../journal/words";
import type { FormField, Json, Operation } from "../contract";
import { BACK, hasBack, portsOf, type EmptyData, type PieceData, type Port } from "./flow";
import { Icon } from "./icons";
import type { Box } from "./model";

export interface PieceActions {
  toggle: (path: string) => void;
  apply: (operations: Operation[]) => void;
}

export const PieceContext = createContext<PieceActions>({ toggle: () => undefined, apply: () => undefined });

type StepNode = Node<PieceData>;

/** Ports are named where a node has more than one of them. */
function Ports({ box, isConnectable }: { box: Box; isConnectable: boolean }) {
  const { inputs, outputs } = portsOf(box);
  const named = (ports: Port[], port: Port) => (ports.length > 1 || (box.form !== "step" && port.name) ? port.name : "");
  // Inside of an open container there is no room beside what it holds.
  const side = box.form === "container" && !box.card ? "port-name is-outside" : "port-name";
  return (
    <>
      {inputs.map((port) => (
        <Handle key={port.id} id={port.id} type="target" position={Position.Left} isConnectable={isConnectable} style={{ left: port.at.x, top: port.at.y }} className="edit-port">
          {named(inputs, port) && <span className={`${side} port-in`}>{visible(port.name)}</span>}
        </Handle>
      ))}
      {outputs.map((port) => (
        <Handle key={port.id} id={port.id} type="source" position={Position.Right} isConnectable={isConnectable} style={{ left: port.at.x, right: "auto", top: port.at.y }} className="edit-port">
          {named(outputs, port) && <span className={`${side} port-out`}>{visible(port.name)}</span>}
        </Handle>
      ))}
      {hasBack(box) && (
        <Handle id={`in:${BACK}`} type="target" position={Position.Bottom} isConnectable={isConnectable} className="edit-port edit-back" title="feedback: what you connect here goes to the next iteration">
          <span aria-hidden="true">↺</span>
        </Handle>
      )}
    </>
  );
}

function Title({ data, hasToggle }: { data: PieceData; hasToggle: boolean }) {
  const { node } = data.box;
  return (
    <span className="piece-title">
      {hasToggle && <Toggle box={data.box} />}
      <Icon icon={data.kind?.icon ?? ""} /> <span className="piece-name">{visible(node.title)}</span>
      <span className="sr-only">
        , {data.kind?.title ?? (node.kind || "no kind yet")}
        {data.box.isLoose && ", connect it to make it part of the loop"}
      </span>
    </span>
  );
}

function Toggle({ box }: { box: Box }) {
  const { toggle } = useContext(PieceContext);
  const isOpen = box.form === "container";
  return (
    <button
      type="button"
      className="toggle nodrag nopan"
      tabIndex={-1}
      aria-label={`${isOpen ? "collapse" : "expand"} ${visible(box.node.title)}`}
      onClick={(event) => {
        event.stopPropagation();
        toggle(box.node.path);
      }}
      onDoubleClick={(event) => event.stopPropagation()}
    >
      {isOpen ? "▾" : "▸"}
    </button>
  );
}

function Problems({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span className="badge tone-bad" title={count === 1 ? "1 problem" : `${count} problems`}>
      ✗ {count}
    </span>
  );
}

const look = (data: PieceData, selected: boolean): string =>
  [selected ? "is-selected" : "", data.box.isLoose ? "is-loose" : "", data.isLinking ? "is-linking" : "", data.problems > 0 ? "has-problems" : "", data.kind?.colour ? "has-colour" : ""].filter(Boolean).join(" ");

const coloured = (data: PieceData) => (data.kind?.colour ? { "--kind": data.kind.colour } : {}) as CSSProperties;

export const EditStep = memo(function EditStep({ data, selected }: NodeProps<StepNode>) {
  const { box, kind, problems } = data;
  const { node } = box;
  const hasFields = box.form === "collapsed" && cardFields(data).length > 0;
  return (
    <div className={`piece step edit-step ${look(data, selected)}`} data-path={node.path} data-kind={node.kind} style={coloured(data)} title={box.isLoose ? "connect it to make it part of the loop" : undefined}>
      {node.case !== null && <span className="piece-case">case {visible(node.case)}</span>}
      <div className="piece-head">
        <Title data={data} hasToggle={box.form === "collapsed"} />
        <Problems count={problems} />
      </div>
      {hasFields ? <CardFields data={data} /> : <div className="piece-detail">{visible(detailOf(node.fields, kind?.title ?? node.kind))}</div>}
      <Ports box={box} isConnectable={!data.isReadOnly} />
    </div>
  );
});

/** The first words of what a step is told, else what it is. */
function detailOf(fields: Json, kind: string): string {
  const found = fields && typeof fields === "object" && !Array.isArray(fields) ? fields : {};
  const data = found["data"] && typeof found["data"] === "object" && !Array.isArray(found["data"]) ? found["data"] : found;
  for (const name of ["ask", "prompt", "run", "command", "http", "url", "use", "call", "value", "template", "message", "approve", "wait", "script", "if"]) {
    const text = data[name];
    if (typeof text === "string" && text.trim()) return text.trim().split("\n")[0] ?? kind;
  }
  return kind || "no kind yet";
}

export const EditContainer = memo(function EditContainer({ data, selected }: NodeProps<StepNode>) {
  const { box, problems } = data;
  const { node, card } = box;
  return (
    <div className={`piece container edit-container ${look(data, selected)}`} data-path={node.path} data-kind={node.kind} style={coloured(data)}>
      {node.case !== null && <span className="piece-case">case {visible(node.case)}</span>}
      <div className="piece-head">
        <Title data={data} hasToggle />
        <Problems count={problems} />
      </div>
      {!card && <div className="piece-detail">{visible(sentenceOf(node.fields) || data.kind?.title || node.kind)}</div>}
      {card && (
        <div className="edit-card" style={{ left: card.x, top: card.y, width: card.width, height: card.height }}>
          <div className="edit-card-head">
            <Icon icon={data.kind?.icon ?? ""} /> {(data.kind?.title ?? node.kind).toUpperCase()}
          </div>
          <CardFields data={data} />
        </div>
      )}
      <Ports box={box} isConnectable={!data.isReadOnly} />
    </div>
  );
});

/** "until review.approved · at most 5". */
function sentenceOf(fields: Json): string {
  const repeat = fields && typeof fields === "object" && !Array.isArray(fields) ? fields["repeat"] : null;
  if (!repeat || typeof repeat !== "object" || Array.isArray(repeat)) return "";
  const { until, at_most: most } = repeat;
  const limit = most && typeof most === "object" && !Array.isArray(most) ? most["iterations"] : most;
  return [typeof until === "string" ? `until ${until}` : until ? "until …" : "", limit ? `at most ${String(limit)}` : ""].filter(Boolean).join(" · ");
}

const LABELS: Record<string, string> = { maxIterations: "Max iterations", exitCondition: "Exit", feedbackMode: "Feedback" };

/** The fields that a new node of this kind has: they are set on the node itself. */
function cardFields({ kind, box }: PieceData): FormField[] {
  if (!kind || box.node.body !== "members" || typeof kind.fields !== "object" || kind.fields === null) return [];
  const names = Object.keys(kind.fields);
  return names.flatMap((name) => kind.form.filter((field) => field.field.at(-1) === name && (field.choices.length > 0 || field.type === "number")));
}

function CardFields({ data }: { data: PieceData }) {
  return (
    <div className="card-fields nodrag nopan nowheel" onDoubleClick={(event) => event.stopPropagation()}>
      {cardFields(data).map((field) => (
        <CardField key={field.field.join(".")} data={data} field={field} />
      ))}
    </div>
  );
}

function valueAt(fields: Json, keys: readonly string[]): Json | undefined {
  let value: Json | undefined = fields;
  for (const key of keys) value = value && typeof value === "object" && !Array.isArray(value) ? value[key] : undefined;
  return value;
}

const MOST = 50;

function CardField({ data, field }: { data: PieceData; field: FormField }) {
  const { apply } = useContext(PieceContext);
  const { node } = data.box;
  const written = valueAt(node.fields, field.field);
  const shown = typeof written === "string" || typeof written === "number" ? String(written) : "";
  const [typed, setTyped] = useState<string | null>(null);
  const name = field.field.at(-1) ?? "";
  const label = LABELS[name] ?? field.label;
  const set = (value: Json) => apply([{ operation: "set", at: node.path, field: field.field, value }]);
  const common = { disabled: data.isReadOnly, "aria-label": `${label} of ${node.title}` };
  if (field.choices.length > 0) {
    return (
      <label className="card-field">
        <span>{label}</span>
        <select {...common} value={shown} onChange={(event) => set(event.target.value)}>
          {!field.choices.includes(shown) && <option value={shown}>{shown || "–"}</option>}
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      </label>
    );
  }
  const change = (text: string) => {
    if (text === "") return setTyped("");
    const number = Math.min(MOST, Math.max(1, Math.round(Number(text))));
    setTyped(null);
    if (Number.isFinite(number)) set(number);
  };
  return (
    <label className="card-field">
      <span>{label}</span>
      <input {...common} type="number" min={1} max={MOST} value={typed ?? shown} onChange={(event) => change(event.target.value)} onBlur={() => setTyped(null)} />
    </label>
  );
}

export const EmptySpot = memo(function EmptySpot({ data }: NodeProps<Node<EmptyData>>) {
  return (
    <div className="edit-empty" data-into={data.place.into} data-case={data.place.case ?? ""}>
      {data.place.case !== null && <span className="piece-case">case {visible(data.place.case)}</span>}
      <span aria-hidden="true">+</span> drop a step here
    </div>
  );
});
