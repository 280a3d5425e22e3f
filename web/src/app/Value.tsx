/** A value of a run as people read it: text as it is, data as fields, big ones when asked for. */
import { useState } from "react";
import { isValueRef, type ValueRef } from "../api";
import { isObject, type Json } from "../journal";
import { visible } from "../journal/words";
import { useClient } from "./session";

interface ValueProps {
  run: string;
  value: unknown;
  /** What stands there if there is none. */
  empty?: string;
}

const TEXT_MAX = 20_000;
const FIELDS_MAX = 16;
const DEPTH_MAX = 2;

export function Value({ run, value, empty = "Nothing." }: ValueProps) {
  if (value === null || value === undefined || value === "") return <p className="faint value-none">{empty}</p>;
  return <Part run={run} value={value as Json} depth={0} />;
}

function Part({ run, value, depth }: { run: string; value: Json; depth: number }) {
  if (isValueRef(value)) return <Big run={run} reference={value} depth={depth} />;
  if (typeof value === "string" && !(depth > 0 && isShort(value))) return <Text text={value} />;
  if (isObject(value) && isReadable(value, depth)) {
    return (
      <dl className="fields">
        {Object.entries(value).map(([name, part]) => (
          <div key={name} className={isShort(part) ? "field field-short" : "field"}>
            <dt>{visible(name)}</dt>
            <dd>
              <Part run={run} value={part} depth={depth + 1} />
            </dd>
          </div>
        ))}
      </dl>
    );
  }
  return isShort(value) ? <span className="mono">{visible(String(value))}</span> : <Text text={JSON.stringify(value, null, 2)} />;
}

function isReadable(value: { [name: string]: Json }, depth: number): boolean {
  const count = Object.keys(value).length;
  return depth < DEPTH_MAX && count > 0 && count <= FIELDS_MAX;
}

function isShort(value: Json): boolean {
  return typeof value === "string" ? value.length <= 48 && !value.includes("\n") : !isObject(value) && !Array.isArray(value);
}

function Text({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > TEXT_MAX;
  return (
    <>
      <pre className="value" tabIndex={0}>{visible(isLong && !isWhole ? text.slice(0, TEXT_MAX) : text)}</pre>
      {isLong && !isWhole && (
        <button type="button" className="button button-small" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString("en")} characters
        </button>
      )}
    </>
  );
}

/** A value that is stored apart: its beginning, and the rest when somebody wants it. */
function Big({ run, reference, depth }: { run: string; reference: ValueRef; depth: number }) {
  const client = useClient();
  const [state, setState] = useState<{ value?: Json; error?: string; isLoading?: boolean }>({});
  if (state.value !== undefined) return <Part run={run} value={state.value} depth={depth} />;
  const load = () => {
    setState({ isLoading: true });
    client.value(run, reference.$ref).then(
      (loaded) => setState({ value: loaded.value as Json }),
      (fault: unknown) => setState({ error: fault instanceof Error ? fault.message : String(fault) }),
    );
  };
  return (
    <>
      <pre className="value" tabIndex={0}>{visible(reference.preview)}…</pre>
      <button type="button" className="button button-small" onClick={load} disabled={state.isLoading}>
        {state.isLoading ? "Loading…" : `Load all (${sizeWords(reference.size)})`}
      </button>
      {state.error && (
        <p className="problem" role="alert">
          {visible(state.error)}
        </p>
      )}
    </>
  );
}

export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
