/** When a loop ends: its conditions as a tree with their places in the file, and in words. */
import { isRecord } from "../../../app/values";
import { score } from "../../../journal/words";
import type { Json, Operation } from "../../contract";
import { put, set, unset, type Key } from "../fields";

export const CONDITIONS = {
  when: "expression",
  score: "score ≥",
  judge: "a judge says",
  stable: "output stable ≥",
  plateau: "no better for",
  branch: "branch taken",
} as const;

export type ConditionKind = keyof typeof CONDITIONS;

/** One condition: `keys` lead from the step to it, `value` is what the file has. */
export interface Condition {
  is: "condition";
  kind: ConditionKind;
  keys: Key[];
  value: Json;
}

/** Several of them: `keys` lead to the list of them. */
export interface Group {
  is: "group";
  word: "or" | "and";
  keys: Key[];
  parts: (Condition | Group)[];
}

/** What a form cannot show. */
export interface Unknown {
  is: "unknown";
  keys: Key[];
  value: Json;
}

const KINDS = Object.keys(CONDITIONS) as ConditionKind[];
const WORDS = { any: "or", all: "and" } as const;

/** The conditions of `until`; null where there is none. */
export function readUntil(value: Json | undefined, keys: Key[]): Condition | Group | Unknown | null {
  if (value === undefined || value === null) return null;
  return condition(value, keys) ?? { is: "unknown", keys, value };
}

function condition(value: Json, keys: Key[]): Condition | Group | null {
  if (typeof value === "string" || typeof value === "boolean") return { is: "condition", kind: "when", keys, value };
  if (Array.isArray(value)) return group("or", value, keys);
  const [name = "", ...more] = isRecord(value) ? Object.keys(value) : [];
  if (!isRecord(value) || more.length > 0) return null;
  const inner = value[name] as Json;
  if ((name === "any" || name === "all") && Array.isArray(inner)) return group(WORDS[name], inner, [...keys, name]);
  const kind = KINDS.find((one) => one === name);
  return kind ? { is: "condition", kind, keys, value } : null;
}

function group(word: "or" | "and", values: Json[], keys: Key[]): Group | null {
  const parts = values.map((value, index) => condition(value, [...keys, index]));
  return parts.every((part) => part !== null) ? { is: "group", word, keys, parts } : null;
}

/** Where the one thing stands that a condition mostly says, and what it is. */
const MAIN: Record<ConditionKind, string> = { when: "test", score: "at_least", judge: "question", stable: "threshold", plateau: "patience", branch: "" };

/** A part of a condition: its short form says its main part alone. */
export function partOf({ kind, value }: Condition, name: string): Json | undefined {
  const inner = isRecord(value) ? (value[kind] as Json) : value;
  if (isRecord(inner)) return inner[name] as Json | undefined;
  return name === MAIN[kind] ? inner : undefined;
}

/** Sets or removes a part of a condition; a short form stays short while it says enough. */
export function changePart(at: string, { kind, keys, value }: Condition, name: string, part: Json | undefined): Operation {
  const main = MAIN[kind];
  if (!isRecord(value)) return set(at, keys, name === main ? (part ?? "") : { [kind]: { [main]: value, [name]: part ?? null } });
  const inner = value[kind] as Json;
  if (isRecord(inner)) return put(at, [...keys, kind, name], part);
  return set(at, [...keys, kind], name === main ? (part ?? "") : { [main]: inner, [name]: part ?? null });
}

/** The step and the case of a branch. */
export function branchOf({ value }: Condition): [step: string, name: string] {
  const inner = isRecord(value) ? value["branch"] : null;
  const [step = "", name = ""] = isRecord(inner) ? (Object.entries(inner)[0] ?? []) : [];
  return [step, String(name)];
}

export interface Known {
  /** The step whose result a new condition reads. */
  last: string;
}

/** A new condition of a kind, as short as it can be said. */
export function fresh(kind: ConditionKind, { last }: Known): Json {
  switch (kind) {
    case "when":
      return `${last}.approved`;
    case "score":
      return { score: { from: `{{ ${last}.score }}`, at_least: 0.8 } };
    case "judge":
      return { judge: "The result is good" };
    case "stable":
      return { stable: 0.95 };
    case "plateau":
      return { plateau: 2 };
    case "branch":
      return { branch: { [last]: "done" } };
  }
}

const UNTIL: Key[] = ["repeat", "until"];

/** One more condition beside those that are there. */
export function added(at: string, until: Condition | Group | Unknown | null, word: "or" | "and", written: Json | undefined, next: Json): Operation {
  if (!until || until.is === "unknown" || written === undefined) return set(at, UNTIL, next);
  if (until.is === "group" && until.word === word) return set(at, [...until.keys, until.parts.length], next);
  if (until.is === "group" && word === "and") {
    // "a or b and c" is read as it is said: the last one of them needs the new one, too.
    const last = until.parts.at(-1);
    const index = until.parts.length - 1;
    if (last?.is === "group") return set(at, [...last.keys, last.parts.length], next);
    return set(at, [...until.keys, index], { all: [last?.value ?? null, next] });
  }
  return set(at, UNTIL, word === "or" ? [written, next] : { all: [written, next] });
}

/** Takes a condition out; a group that it leaves with nothing goes with it. */
export const removed = (at: string, { keys }: Pick<Condition, "keys">): Operation => unset(at, keys);

export function hasScore(until: Condition | Group | Unknown | null): boolean {
  if (!until || until.is === "unknown") return until !== null;
  return until.is === "condition" ? until.kind === "score" : until.parts.some(hasScore);
}

const cut = (text: string, most: number): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

/** A number without what floating point adds to it. */
const bare = (value: number): string => String(Number(value.toPrecision(12)));

const inner = (text: string): string => /^\s*\{\{(.*)\}\}\s*$/s.exec(text)?.[1]?.trim() ?? text;

/** A condition as the terminal says it. */
export function conditionWords(until: Condition | Group | Unknown | null): string {
  if (!until) return "";
  if (until.is === "unknown") return cut(JSON.stringify(until.value), 60);
  if (until.is === "group") return until.parts.map(conditionWords).filter(Boolean).join(` ${until.word} `);
  const part = (name: string) => partOf(until, name);
  switch (until.kind) {
    case "when":
      return cut(inner(String(part("test") ?? "")), 60);
    case "score":
      return typeof part("at_least") === "number" ? `score ≥ ${score(part("at_least") as number)}` : "";
    case "judge":
      return `judge: ${cut(String(part("question") ?? ""), 50)}`;
    case "stable":
      return `${bare(Number(part("threshold") ?? 0.95) * 100)}% alike`;
    case "plateau":
      return `no better score for ${String(part("patience") ?? "")}`;
    case "branch": {
      const [step, name] = branchOf(until);
      return `${step} takes '${name}'`;
    }
  }
}
