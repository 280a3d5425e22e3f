/** Which values were changed in a form, and to what. */
import { editedAs, parsedAs, textOf } from "../app/values";

/** Texts by the name of the value that they replace. */
export type Edits = Readonly<Record<string, string>>;

export function changesOf(
  values: Readonly<Record<string, unknown>>,
  edits: Edits,
): { set: Record<string, unknown>; problem: string } {
  const set: Record<string, unknown> = {};
  let problem = "";
  for (const [name, text] of Object.entries(edits)) {
    if (text === textOf(values[name])) continue;
    const parsed = parsedAs(editedAs(values[name]), text);
    if (parsed.problem === undefined) set[name] = parsed.value;
    else problem ||= `${name}: ${parsed.problem}`;
  }
  return { set, problem };
}
