/** A value of a run as people read it: text as text or Markdown, data as fields or a tree, big ones when asked for. */
import { lazy, Suspense, useState } from "react";
import { isValueRef, type ValueRef } from "../api";
import { isObject, type Json } from "../journal";
import { visible } from "../journal/words";
import { JsonTree } from "./JsonTree";
import { useClient } from "./session";
import { textOf } from "./values";
import { ValueTools } from "./ValueTools";

const Markdown = lazy(() => import("./Markdown"));

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
  return <Whole run={run} value={value as Json} />;
}

/** A value with what can be done with it; short ones need nothing. */
function Whole({ run, value }: { run: string; value: Json }) {
  const isMarked = typeof value === "string" && isMarkdown(value);
  const [isRendered, setRendered] = useState(isMarked);
  if (isValueRef(value)) return <Big run={run} reference={value} depth={0} />;
  if (isShort(value)) return <Part run={run} value={value} depth={0} />;
  const shown = isMarked && isRendered ? <Rendered text={value} /> : <Part run={run} value={value} depth={0} />;
  return (
    <ValueTools text={textOf(value)} isData={typeof value !== "string"} {...(isMarked ? { toggle: { isOn: isRendered, onChange: setRendered } } : {})}>
      {shown}
    </ValueTools>
  );
}

function Rendered({ text }: { text: string }) {
  return (
    <Suspense fallback={<Text text={text} />}>
      <Markdown text={text} />
    </Suspense>
  );
}

const MARKDOWN_MAX = 100_000;
const MARKS = [/^#{1,6} \S/m, /^\s*[-*+] \S/m, /^\s*\d+\. \S/m, /\*\*\S[^*]*\*\*/, /^```/m, /^\|.*\|\s*$/m, /\[[^\]]+\]\([^)\s]+\)/];

/** Whether a text has marks of Markdown; one line with a dash is no list. */
export function isMarkdown(text: string): boolean {
  if (text.length > MARKDOWN_MAX) return false;
  const found = MARKS.filter((mark) => mark.test(text)).length;
  return found > 1 || (found === 1 && (text.includes("\n") || /\*\*/.test(text)));
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
  return isShort(value) ? <span className="mono">{visible(String(value))}</span> : <JsonTree value={value} />;
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
  if (state.value !== undefined) return depth === 0 ? <Whole run={run} value={state.value} /> : <Part run={run} value={state.value} depth={depth} />;
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
