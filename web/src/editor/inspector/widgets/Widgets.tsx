/** The widgets of forms: each shows a value as the file has it, and gives back another one, or none. */
import { useState, type ReactNode } from "react";
import { parsedAs, textOf } from "../../../app/values";
import { Field } from "../../../dialogs/fields";
import type { Json } from "../../contract";
import { NamesField } from "./NamesField";
import { useChosen, useDraft } from "./useDraft";
import type { Widget } from "../fields";

export interface WidgetProps {
  label: ReactNode;
  help?: ReactNode;
  value: Json | undefined;
  /** What holds where the file says nothing; shown grey, and not written. */
  usual?: string;
  /** Gives the new value, undefined for "not in the file"; says whether the change was made. */
  onValue: (value: Json | undefined) => Promise<boolean>;
}

interface AnyWidgetProps extends WidgetProps {
  widget: Widget;
  choices?: readonly string[];
  /** The step whose names can be completed. */
  at: string;
}

export function AnyWidget({ widget, choices = [], at, ...props }: AnyWidgetProps) {
  switch (widget) {
    case "choice":
      return <ChoiceField {...props} choices={choices} />;
    case "boolean":
      return <ChoiceField {...props} value={typeof props.value === "boolean" ? String(props.value) : props.value} choices={["true", "false"]} onValue={(value) => props.onValue(value === undefined ? undefined : value === "true")} />;
    case "number":
      return <NumberField {...props} />;
    case "long text":
      return <NamesField {...props} at={at} opens="braces" />;
    case "expression":
      return <NamesField {...props} at={at} opens="words" />;
    case "json":
      return <JsonField {...props} />;
    case "text":
      return <TextField {...props} />;
    case "any":
      return <TextField {...props} parse={(text) => (parsedAs("any", text).value ?? text) as Json} />;
  }
}

interface TextFieldProps extends WidgetProps {
  parse?: (text: string) => Json;
  isRequired?: boolean;
  className?: string;
}

/** One line of text; an empty one takes the field out of the file, unless it is needed. */
export function TextField({ label, help, value, usual = "", onValue, parse = (text) => text, isRequired = false, className = "" }: TextFieldProps) {
  const draft = useDraft(textOf(value), (text) => onValue(text === "" && !isRequired ? undefined : parse(text)));
  return (
    <Field label={label} help={help}>
      {(id) => (
        <input
          id={id}
          className={className}
          value={draft.text}
          placeholder={usual}
          aria-invalid={draft.isRefused}
          onChange={(event) => draft.change(event.target.value)}
          onBlur={draft.flush}
          onKeyDown={(event) => onEnter(event.key, draft.flush)}
        />
      )}
    </Field>
  );
}

const onEnter = (key: string, flush: () => void) => {
  if (key === "Enter") flush();
};

interface NumberFieldProps extends WidgetProps {
  min?: number;
  max?: number;
  /** What is said about a number outside of them. */
  outside?: string;
  className?: string;
  unit?: string;
}

/** A number; one outside of its bounds is taken for the nearest, and that is said. */
export function NumberField({ label, help, value, usual = "", onValue, min, max, outside = "", className = "", unit = "" }: NumberFieldProps) {
  const [said, say] = useState("");
  const draft = useDraft(textOf(value), (text) => onValue(text.trim() === "" ? undefined : Number(text)));
  const change = (text: string) => {
    const number = Number(text);
    const taken = text.trim() === "" ? text : String(Math.min(max ?? Infinity, Math.max(min ?? -Infinity, number)));
    const isClamped = text.trim() !== "" && Number(taken) !== number;
    say(isClamped ? outside : "");
    draft.change(isClamped ? taken : text);
  };
  return (
    <Field label={label} help={said ? <span role="status">{said}</span> : help}>
      {(id) => (
        <span className="amount">
          <input
            id={id}
            className={className}
            type="number"
            step="any"
            min={min}
            max={max}
            value={draft.text}
            placeholder={usual}
            aria-invalid={draft.isRefused}
            onChange={(event) => change(event.target.value)}
            onBlur={draft.flush}
            onKeyDown={(event) => onEnter(event.key, draft.flush)}
          />
          {unit && <span className="faint">{unit}</span>}
        </span>
      )}
    </Field>
  );
}

interface ChoiceFieldProps extends WidgetProps {
  choices: readonly string[];
  /** What choices are called, where the file's word is not the best one. */
  words?: Readonly<Record<string, string>>;
  /** Choices that cannot be taken now, with the reason. */
  barred?: Readonly<Record<string, string>>;
}

export function ChoiceField({ value, onValue, ...props }: ChoiceFieldProps) {
  const [current, choose] = useChosen(value === undefined || value === null ? "" : textOf(value), (chosen) => onValue(chosen || undefined));
  return <Choice {...props} current={current} onChoice={choose} />;
}

interface ChoiceProps extends Omit<ChoiceFieldProps, "value" | "onValue"> {
  current: string;
  onChoice: (chosen: string) => void;
}

/** The choices alone, for a form that itself keeps what was chosen. */
export function Choice({ label, help, current, usual = "", onChoice, choices, words = {}, barred = {} }: ChoiceProps) {
  const listed = current === "" || choices.includes(current) ? choices : [current, ...choices];
  const usualWord = words[usual] ?? usual;
  return (
    <Field label={label} help={help}>
      {(id) => (
        <select id={id} className={current === "" ? "is-usual" : ""} value={current} onChange={(event) => onChoice(event.target.value)}>
          <option value="">{usualWord ? `${usualWord} (default)` : "not set"}</option>
          {listed.map((choice) => (
            <option key={choice} value={choice} disabled={choice in barred && choice !== current}>
              {words[choice] ?? choice}
              {choice in barred ? ` – ${barred[choice] ?? ""}` : ""}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

const LINES_MAX = 20;

/** Any value as JSON; what is no JSON is said and not sent. */
export function JsonField({ label, help, value, usual = "", onValue }: WidgetProps) {
  const [problem, setProblem] = useState("");
  const draft = useDraft(textOfJson(value), async (text) => {
    if (text.trim() === "") return onValue(undefined);
    const parsed = parsedAs("json", text);
    setProblem(parsed.problem ?? "");
    return parsed.problem === undefined && onValue(parsed.value as Json);
  });
  return (
    <Field label={label} help={problem ? <span className="problem">{problem}</span> : help}>
      {(id) => (
        <textarea
          id={id}
          className="mono"
          spellCheck={false}
          rows={Math.min(LINES_MAX, draft.text.split("\n").length)}
          value={draft.text}
          placeholder={usual}
          aria-invalid={draft.isRefused || problem !== ""}
          onChange={(event) => draft.change(event.target.value)}
          onBlur={draft.flush}
        />
      )}
    </Field>
  );
}

const WIDTH = 60;

/** JSON on one line where it fits. */
function textOfJson(value: Json | undefined): string {
  if (value === undefined) return "";
  const line = JSON.stringify(value);
  return line.length <= WIDTH ? line : JSON.stringify(value, null, 2);
}
