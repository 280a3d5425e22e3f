/** Fields of the forms: amounts, and values that are edited as text or JSON. */
import { useId, type ReactNode } from "react";
import { parsedAs } from "../app/values";

interface FieldProps {
  label: ReactNode;
  help?: ReactNode;
  children: (id: string) => ReactNode;
}

export function Field({ label, help, children }: FieldProps) {
  const id = useId();
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {help && <p className="help">{help}</p>}
    </div>
  );
}

interface AmountProps {
  label: string;
  text: string;
  onText: (text: string) => void;
  unit?: "dollars" | "iterations";
  help?: ReactNode;
  isRequired?: boolean;
}

export function AmountField({ label, text, onText, unit = "iterations", help, isRequired = false }: AmountProps) {
  const isMoney = unit === "dollars";
  return (
    <Field label={label} help={help}>
      {(id) => (
        <span className="amount">
          {isMoney && <span aria-hidden="true">$</span>}
          <input
            id={id}
            type="number"
            inputMode={isMoney ? "decimal" : "numeric"}
            min={isMoney ? 0 : 1}
            step={isMoney ? "any" : 1}
            required={isRequired}
            value={text}
            onChange={(event) => onText(event.target.value)}
          />
        </span>
      )}
    </Field>
  );
}

/** The number that an amount field holds; undefined when it is empty. */
export function amountOf(text: string): number | undefined {
  return text.trim() === "" ? undefined : Number(text);
}

interface ValueFieldProps {
  name: string;
  type: string;
  text: string;
  onText: (text: string) => void;
  help?: ReactNode;
  isRequired?: boolean;
  note?: string;
}

const LINES_MAX = 10;

/** A value of a type of inputs. */
export function ValueField({ name, type, text, onText, help, isRequired = false, note = "" }: ValueFieldProps) {
  const problem = text === "" ? "" : (parsedAs(type, text).problem ?? "");
  const label = (
    <>
      {name} <span className="faint">{[type === "any" ? "text or JSON" : type, isRequired ? "needed" : "", note].filter(Boolean).join(", ")}</span>
    </>
  );
  const said = problem ? <span className="problem">{problem}</span> : help;
  if (type === "boolean") {
    return (
      <Field label={label} help={said}>
        {(id) => <input id={id} type="checkbox" checked={text === "true"} onChange={(event) => onText(String(event.target.checked))} />}
      </Field>
    );
  }
  if (type === "secret") {
    return (
      <Field label={label} help={said}>
        {(id) => <input id={id} type="password" autoComplete="off" required={isRequired} value={text} onChange={(event) => onText(event.target.value)} />}
      </Field>
    );
  }
  if (type === "number" || type === "integer") {
    return (
      <Field label={label} help={said}>
        {(id) => (
          <input id={id} type="number" step={type === "integer" ? 1 : "any"} required={isRequired} value={text} onChange={(event) => onText(event.target.value)} />
        )}
      </Field>
    );
  }
  const lines = Math.min(LINES_MAX, Math.max(2, text.split("\n").length));
  return (
    <Field label={label} help={said}>
      {(id) => (
        <textarea
          id={id}
          rows={lines}
          required={isRequired}
          spellCheck={type === "string"}
          className={type === "string" || type === "any" ? "" : "mono"}
          aria-invalid={problem !== ""}
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </Field>
  );
}
