/** The inputs of a workflow as fields of a form, and what was typed as values. */
import type { InputItem, WorkflowItem } from "../../api";
import { editedAs, isRecord, parsedAs, textOf } from "../../app/values";

export type Texts = Readonly<Record<string, string>>;

export interface InputField {
  name: string;
  type: string;
  isRequired: boolean;
  help: string;
}

/** The name of the field for inputs that the file does not declare; no input can have it. */
export const MORE = "more inputs";

export function fieldsOf(item: WorkflowItem): InputField[] {
  const declared = item.inputs.map((input) => ({
    name: input.name,
    type: typeOf(input),
    isRequired: input.required,
    help: input.description,
  }));
  const more = { name: MORE, type: "json", isRequired: false, help: 'any other inputs, such as {"topic": "rain"}' };
  return item.open_inputs ? [...declared, more] : declared;
}

/** What may be anything is edited as what its default is. */
function typeOf(input: InputItem): string {
  return input.type === "any" && input.default !== null ? editedAs(input.default) : input.type;
}

/** What the fields begin with: the values of an earlier run, else the defaults; secrets are given anew. */
export function textsFor(item: WorkflowItem, earlier: Readonly<Record<string, unknown>>): Texts {
  const names = new Set(item.inputs.map((input) => input.name));
  const texts = Object.fromEntries(item.inputs.map((input) => [input.name, input.type === "secret" ? "" : textOf(earlier[input.name] ?? input.default)]));
  const more = Object.fromEntries(Object.entries(earlier).filter(([name]) => !names.has(name)));
  if (item.open_inputs && Object.keys(more).length > 0) texts[MORE] = textOf(more);
  return texts;
}

/** The values to start with; what is left empty, or is as its default, is not given. */
export function inputsFrom(item: WorkflowItem, texts: Texts): { inputs: Record<string, unknown>; problem: string } {
  const inputs: Record<string, unknown> = {};
  let problem = "";
  for (const input of item.inputs) {
    const text = texts[input.name] ?? "";
    if (text === "" && input.required) problem ||= `${input.name} is required`;
    if (text === textOf(input.default) || (text === "" && input.type !== "boolean")) continue;
    const parsed = parsedAs(typeOf(input), text);
    if (parsed.problem === undefined) inputs[input.name] = parsed.value;
    else problem ||= `${input.name}: ${parsed.problem}`;
  }
  const more = texts[MORE] ?? "";
  if (!item.open_inputs || more === "") return { inputs, problem };
  const parsed = parsedAs("json", more);
  if (!isRecord(parsed.value)) return { inputs, problem: problem || `${MORE}: ${parsed.problem ?? "this is not an object"}` };
  return { inputs: { ...parsed.value, ...inputs }, problem };
}
