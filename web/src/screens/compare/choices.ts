/** What can be compared of two iterations: results of steps, and their parts. */
import { isRecord, textOf } from "../../app/values";

type Results = Readonly<Record<string, unknown>>;

const PARTS_MAX = 12;

/** Names such as `code`, `review`, `review.feedback`. */
export function nodeChoices(one: Results, other: Results): string[] {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return names.flatMap((name) => {
    const parts = new Set([...partsOf(one[name]), ...partsOf(other[name])]);
    return parts.size > PARTS_MAX ? [name] : [name, ...[...parts].map((part) => `${name}.${part}`)];
  });
}

function partsOf(value: unknown): string[] {
  return isRecord(value) && !("$ref" in value) ? Object.keys(value) : [];
}

/** The value that a choice names. */
export function chosenValue(results: Results, choice: string): unknown {
  if (choice in results) return results[choice];
  const dot = choice.lastIndexOf(".");
  const whole = results[choice.slice(0, dot)];
  return dot > 0 && isRecord(whole) ? whole[choice.slice(dot + 1)] : undefined;
}

/** The choice to begin with: the first that is text and has changed, else the first that changed. */
export function firstChoice(one: Results, other: Results): string {
  const changed = nodeChoices(one, other).filter((name) => textOf(chosenValue(one, name)) !== textOf(chosenValue(other, name)));
  const isText = (name: string) => typeof chosenValue(other, name) === "string";
  return changed.find(isText) ?? changed[0] ?? nodeChoices(one, other)[0] ?? "";
}

export interface NumberChange {
  name: string;
  before: number;
  after: number;
}

/** Numbers in the results that have changed: the parts of a score, counts, lengths. */
export function numberChanges(one: Results, other: Results): NumberChange[] {
  return nodeChoices(one, other).flatMap((name) => {
    const [before, after] = [chosenValue(one, name), chosenValue(other, name)];
    return typeof before === "number" && typeof after === "number" && before !== after ? [{ name, before, after }] : [];
  });
}

/** "#2", and of which run where that is another one. */
export function sideName(number: number, [run, against]: readonly [string, string], index: number): string {
  return index === 1 && against !== run ? `#${number} of ${against}` : `#${number}`;
}
