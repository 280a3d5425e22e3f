/** Trying a step alone, or one iteration of a loop, on the text as it is; results can be kept as pins. */
import { useEffect, useRef, useState } from "react";
import { ApiError, type RecordItem, type RunDetail } from "../../../api";
import { ErrorNotice } from "../../../app/Notice";
import { Link, runPath } from "../../../app/router";
import { useClient, useLoad } from "../../../app/session";
import { Value } from "../../../app/Value";
import { StatusBadge } from "../../../charts";
import { Command } from "../../../dialogs/ActionForm";
import { AmountField, Field } from "../../../dialogs/fields";
import { dollars } from "../../../journal/words";
import type { Editor, Json, SketchNode } from "../../contract";
import { Icon } from "../../canvas/icons";
import { useEditorState, useOpenFile } from "../../state";
import { ask, send } from "../calls";
import { JsonField } from "../widgets/Widgets";
import { BUDGET, commandOf, inputNames, loopFor, pathOf, requestOf, usable, type Pins, type Wish } from "./tries";

interface TryProps {
  editor: Editor;
  node: SketchNode;
}

/** Nothing where the server has no tries. */
export function Try({ editor, node }: TryProps) {
  const kept = useLoad((client) => ask<{ pins: Pins }>(client, `/api/pins?file=${encodeURIComponent(editor.file)}`).catch(() => null), [editor.file]);
  const client = useClient();
  const others = useEditorState((state) => state.others);
  if (!kept.value || editor.isReadOnly) return null;
  const { pins } = kept.value;
  const save = async (next: Pins) => {
    await send(client, "PUT", "/api/pins", { file: editor.file, pins: next, text: editor.text, others });
    kept.reload();
  };
  const keep = (path: string, value: Json) => void save({ ...pins, [path]: { value, stale: false } });
  return (
    <>
      <PinPart node={node} pins={pins} onSave={save} />
      <TryPart editor={editor} node={node} onKeep={keep} pins={pins} />
    </>
  );
}

function PinPart({ node, pins, onSave }: { node: SketchNode; pins: Pins; onSave: (pins: Pins) => Promise<void> }) {
  const pin = pins[node.path];
  // It opens and closes only by hand: what is below it keeps its place.
  const [isOpen] = useState(pin !== undefined);
  const change = async (value: Json | undefined) => {
    const { [node.path]: _, ...others } = pins;
    await onSave(value === undefined ? others : { ...others, [node.path]: { value, stale: false } });
    return true;
  };
  return (
    <details className="inspector-try" open={isOpen}>
      <summary>
        <Icon icon="pin" /> {pin ? (pin.stale ? "Pinned, but the step has changed since then" : "Pinned: tries do not run it") : "Pin a result"}
      </summary>
      {pin?.stale && <p className="faint">This pin is not used. Save it again if it is still right.</p>}
      <JsonField label="Result" help="as JSON; tries use it instead of running the step" value={pin?.value} onValue={change} />
      <button type="button" className="button button-small" disabled={!pin} onClick={() => void change(undefined)}>
        Unpin
      </button>
    </details>
  );
}

const HAS_EFFECTS = "C113";

function TryPart({ editor, node, pins, onKeep }: TryProps & { pins: Pins; onKeep: (path: string, value: Json) => void }) {
  const client = useClient();
  const loop = loopFor(editor, node);
  const [wish, setWish] = useState<Wish>({ inputs: {}, budget: BUDGET, run: "", iteration: "1" });
  const [run, setRun] = useState("");
  const [error, setError] = useState<unknown>(null);
  const runs = useLoad((api, signal) => api.runs({ limit: 50 }, signal), []);
  const found = usable(runs.value?.runs ?? [], editor.file);
  const others = useEditorState((state) => state.others);
  const start = (effects: boolean) => {
    setError(null);
    send<{ run: string }>(client, "POST", "/api/tries", requestOf(editor, others, node, wish, effects)).then((made) => setRun(made.run), setError);
  };
  const isAsked = error instanceof ApiError && error.code === HAS_EFFECTS;
  const part = useAsked(node.path);
  return (
    <details ref={part} className="inspector-try">
      <summary>{loop?.path === node.path ? "Try one iteration" : "Try this step"}</summary>
      {inputNames(editor).map((name) => (
        <Field key={name} label={name}>
          {(id) => <input id={id} value={wish.inputs[name] ?? ""} placeholder="as in the file" onChange={(event) => setWish({ ...wish, inputs: { ...wish.inputs, [name]: event.target.value } })} />}
        </Field>
      ))}
      {loop && found.length > 0 && (
        <Field label="Values of" help="tries start with the values of that iteration">
          {(id) => (
            <select id={id} value={wish.run} onChange={(event) => setWish({ ...wish, run: event.target.value })}>
              <option value="">no run</option>
              {found.map((one) => (
                <option key={one.id} value={one.id}>
                  {`${one.id}: ${one.iteration} ${one.iteration === 1 ? "iteration" : "iterations"}, ${one.status}`}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {wish.run && <AmountField label="its iteration" text={wish.iteration} onText={(iteration) => setWish({ ...wish, iteration })} />}
      <AmountField label="Budget" unit="dollars" text={wish.budget} onText={(budget) => setWish({ ...wish, budget })} />
      <Held node={node} pins={pins} />
      <div className="action-row">
        <button type="button" className="button button-main" onClick={() => start(false)}>
          Try
        </button>
        {isAsked && (
          <button type="button" className="button button-bad" onClick={() => start(true)}>
            Allow this and try
          </button>
        )}
      </div>
      {error !== null && <ErrorNotice error={error} />}
      <Command text={commandOf(editor, node, wish)} />
      {run && <Outcome key={run} run={run} node={node} onKeep={onKeep} />}
    </details>
  );
}

/** Opens the part and goes there where somebody has asked for a try of the step. */
function useAsked(path: string) {
  const { store } = useOpenFile();
  const isWanted = useEditorState((state) => state.trying === path);
  const part = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!isWanted || !part.current) return;
    store.setState({ trying: "" });
    part.current.open = true;
    part.current.querySelector("summary")?.focus();
  }, [isWanted, store]);
  return part;
}

/** Which steps are not run, because a result stands for them. */
function Held({ node, pins }: { node: SketchNode; pins: Pins }) {
  const held = Object.entries(pins).filter(([path, pin]) => path.startsWith(`${node.path}/`) && !pin.stale);
  if (held.length === 0) return null;
  return <p className="faint">Not run, because pinned: {held.map(([path]) => path).join(", ")}</p>;
}

const ENDED = ["succeeded", "failed", "cancelled", "paused", "waiting", "interrupted"];
const ASK_AGAIN_MS = 500;

interface OutcomeProps {
  run: string;
  node: SketchNode;
  onKeep: (path: string, value: Json) => void;
}

function Outcome({ run, node, onKeep }: OutcomeProps) {
  const [turn, setTurn] = useState(0);
  const detail = useLoad<RunDetail>((client, signal) => client.run(run, signal), [run], [turn]);
  const status = detail.value?.status ?? "running";
  const isEnded = ENDED.includes(status);
  const records = useLoad(async (client, signal) => (isEnded ? client.records(run, { depth: 4, limit: 50 }, signal) : null), [run, isEnded]);
  useEffect(() => {
    if (isEnded) return;
    const timer = setTimeout(() => setTurn(turn + 1), ASK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [turn, isEnded]);
  const given = records.value?.records.filter((record) => record.output !== null && record.output !== undefined) ?? [];
  return (
    <section aria-label="outcome of the try" className="try-outcome" aria-live="polite">
      <p>
        <StatusBadge status={status} /> {detail.value && <span className="faint">{dollars(detail.value.cost_usd)}</span>} <Link to={runPath(run)}>Open the run</Link>
      </p>
      {detail.value?.error && <p className="problem">{detail.value.error}</p>}
      {given.map((record) => (
        <Given key={record.address} run={run} record={record} path={pathOf(node, record)} onKeep={onKeep} />
      ))}
    </section>
  );
}

function Given({ run, record, path, onKeep }: { run: string; record: RecordItem; path: string; onKeep: OutcomeProps["onKeep"] }) {
  return (
    <div className="try-given">
      <div className="mapping-head">
        <h3>{path}</h3>
        <button type="button" className="button button-small" aria-label={`Keep ${path} as pin`} onClick={() => onKeep(path, record.output as Json)}>
          <Icon icon="pin" /> Keep as pin
        </button>
      </div>
      <Value run={run} value={record.output} />
    </div>
  );
}
