/** A loop as a sentence: repeat until, at most, feed back, return. What is usual is grey and not written. */
import { isRecord, textOf } from "../../../app/values";
import type { Editor, Json, SketchNode } from "../../contract";
import { put, set, unset, valueAt, type Key } from "../fields";
import { NamedRows, type Named } from "../widgets/NamedRows";
import { NamesField } from "../widgets/NamesField";
import { ChoiceField, JsonField, NumberField, TextField } from "../widgets/Widgets";
import { changeLimit, LIMIT_NAMES, LIMITS, limitOf, limitWords, USUAL_ITERATIONS } from "./limits";
import { Until } from "./Until";
import { conditionWords, hasScore, readUntil } from "./conditions";

interface LoopProps {
  editor: Editor;
  node: SketchNode;
}

const keysOf = (name: string): Key[] => ["repeat", name];

export function Sentence({ editor, node }: LoopProps) {
  const said = (name: string) => valueAt(node.fields, keysOf(name));
  const until = readUntil(said("until"), keysOf("until"));
  const words = conditionWords(until);
  /** Sets one field of the loop; nothing is sent for a field that is not there and stays so. */
  const change = (name: string) => async (value: Json | undefined) =>
    (value === undefined && said(name) === undefined) || (await editor.apply([put(node.path, keysOf(name), value)])) !== null;
  const field = (name: string) => ({ value: said(name), onValue: change(name) });
  const barred = hasScore(until) ? {} : { best: "needs a score under until" };
  return (
    <div className="loop-panel sentence">
      <p className="sentence-words">
        <span aria-hidden="true">↻ </span>
        {words ? `until ${words}, ` : ""}
        {limitWords(said("at_most"))}
      </p>
      <Until editor={editor} node={node} until={until} written={said("until")} />
      <ChoiceField {...field("check")} label="checked" usual="after" choices={["after", "before"]} words={{ after: "after each iteration", before: "before each iteration" }} />
      <Limits editor={editor} node={node} />
      <div role="group" aria-label="feed back" className="sentence-part">
        <h3>feed back</h3>
        <Carry editor={editor} node={node} />
      </div>
      <ChoiceField {...field("return")} label="return" usual="last" choices={["last", "best", "first", "all"]} barred={barred} />
      <ChoiceField {...field("on_limit")} label="at the limit" usual="finish" choices={["finish", "fail", "pause"]} />
      <OnFailure editor={editor} node={node} />
      <ChoiceField {...field("ask_person")} label="ask a person" usual="never" choices={["never", "each", "at_limit"]} words={{ each: "each iteration", at_limit: "at the limit" }} />
      <details className="inspector-more">
        <summary>more…</summary>
        <TextField {...field("wait")} label="wait" usual="0s" help="between iterations, such as 5s" />
        <ChoiceField {...field("session")} label="conversations" usual="fresh" choices={["fresh", "continue"]} words={{ fresh: "start again each iteration", continue: "continue across iterations" }} />
        <JsonField {...field("collect")} label="collect" help="more results of the loop, by name, as JSON" />
        <JsonField {...field("memory")} label="memory" help="records of past iterations, as JSON" />
      </details>
    </div>
  );
}

function Limits({ editor, node }: LoopProps) {
  const written = valueAt(node.fields, keysOf("at_most"));
  const change = (limit: (typeof LIMIT_NAMES)[number]) => async (value: Json | undefined) => {
    if (value === undefined && limitOf(written, limit) === undefined) return true;
    return (await editor.apply([changeLimit(node.path, written, limit, value)])) !== null;
  };
  const shown = LIMIT_NAMES.filter((limit) => limit === "iterations" || limitOf(written, limit) !== undefined);
  const hidden = LIMIT_NAMES.filter((limit) => !shown.includes(limit));
  const row = (limit: (typeof LIMIT_NAMES)[number]) => {
    const { words, isNumber, usual } = LIMITS[limit];
    const value = limitOf(written, limit);
    const label = <span className={limit === "iterations" ? "" : "sr-only"}>{limit === "iterations" ? "at most" : `at most, ${words}`}</span>;
    if (isNumber && (value === undefined || typeof value === "number")) {
      return <NumberField key={limit} label={label} value={value} usual={limit === "iterations" ? String(USUAL_ITERATIONS) : usual} unit={words} onValue={change(limit)} />;
    }
    return <TextField key={limit} label={label} value={value} usual={usual} help={words} onValue={change(limit)} />;
  };
  return (
    <div role="group" aria-label="at most" className="sentence-limits">
      {shown.map(row)}
      {hidden.length > 0 && (
        <details className="inspector-more">
          <summary>another limit…</summary>
          <div className="sentence-limits">{hidden.map(row)}</div>
        </details>
      )}
    </div>
  );
}

function Carry({ editor, node }: LoopProps) {
  const carry = valueAt(node.fields, keysOf("carry"));
  const inner = editor.sketch?.nodes.filter((one) => one.parent === node.path) ?? [];
  const last = inner.at(-1)?.title ?? "step";
  const row = (name: string, value: Json) => <CarryRow editor={editor} node={node} name={name} value={value} />;
  return <NamedRows editor={editor} at={node.path} keys={keysOf("carry")} values={isRecord(carry) ? (carry as Named) : {}} word="value" fresh={["feedback", `{{ ${last} }}`]} row={row} />;
}

const isPair = (value: Json): value is Named => isRecord(value) && Object.keys(value).length > 0 && Object.keys(value).every((name) => name === "first" || name === "then");

function CarryRow({ editor, node, name, value }: LoopProps & { name: string; value: Json }) {
  const keys = [...keysOf("carry"), name];
  const make = async (operation: Parameters<Editor["apply"]>[0][number]) => (await editor.apply([operation])) !== null;
  if (!isPair(value)) {
    return (
      <>
        <span aria-hidden="true">←</span>
        <NamesField label={<span className="sr-only">{`value of ${name}`}</span>} value={textOf(value)} at={node.path} opens="braces" isRequired onValue={(text) => make(set(node.path, keys, text ?? ""))} />
        <button type="button" className="button button-small" onClick={() => void make(set(node.path, keys, { first: "", then: value }))}>
          + first
        </button>
      </>
    );
  }
  return (
    <>
      <span aria-hidden="true">←</span>
      {(["first", "then"] as const).map((part) => (
        <NamesField key={part} label={part} value={textOf(value[part])} at={node.path} opens="braces" onValue={(text) => make(text === undefined && part === "first" ? set(node.path, keys, value["then"] ?? "") : put(node.path, [...keys, part], text))} />
      ))}
    </>
  );
}

const USUAL_TRIES = 2;

function OnFailure({ editor, node }: LoopProps) {
  const value = valueAt(node.fields, keysOf("on_failure"));
  const times = valueAt(value, ["retry"]);
  const isRetry = times !== undefined;
  const choose = async (chosen: Json | undefined) => {
    if (chosen === undefined) return value === undefined || (await editor.apply([unset(node.path, keysOf("on_failure"))])) !== null;
    return (await editor.apply([set(node.path, keysOf("on_failure"), chosen === "retry" ? { retry: USUAL_TRIES } : chosen)])) !== null;
  };
  const retry = async (number: Json | undefined) => (await editor.apply([set(node.path, [...keysOf("on_failure"), "retry"], number ?? USUAL_TRIES)])) !== null;
  return (
    <div className="sentence-limits">
      <ChoiceField label="on failure" value={isRetry ? "retry" : value} usual="halt" choices={["halt", "continue", "retry"]} words={{ halt: "stop" }} onValue={choose} />
      {isRetry && <NumberField label={<span className="sr-only">number of retries</span>} value={times} unit="times" onValue={retry} />}
    </div>
  );
}
