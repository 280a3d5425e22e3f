/** The fields of a step: which of them a form shows, by which widget, and what else the file says. */
import { isRecord } from "../../app/values";
import type { Editor, FormField, Json, Operation, PaletteKind, SketchNode } from "../contract";

export type Key = string | number;

/** A field of a form, with what a newer server may say about it. */
export type Field = FormField & { default?: Json; group?: string };

export type Widget = "text" | "long text" | "number" | "choice" | "boolean" | "expression" | "json" | "any";

export function valueAt(fields: Json | undefined, keys: readonly Key[]): Json | undefined {
  let value = fields;
  for (const key of keys) {
    if (Array.isArray(value) && typeof key === "number") value = value[key];
    else if (isRecord(value) && typeof key === "string" && Object.hasOwn(value, key)) value = value[key] as Json;
    else return undefined;
  }
  return value;
}

export const set = (at: string, field: readonly Key[], value: Json): Operation => ({ operation: "set", at, field: [...field], value });

export const unset = (at: string, field: readonly Key[]): Operation => ({ operation: "unset", at, field: [...field] });

/** Sets a field, or takes it out of the file where there is no value for it. */
export const put = (at: string, field: readonly Key[], value: Json | undefined): Operation =>
  value === undefined ? unset(at, field) : set(at, field, value);

/** The last part of a path as a person wrote it. */
export function nameOf(path: string): string {
  const last = path.slice(path.lastIndexOf("/") + 1);
  return last.replace(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}

export function kindOf(editor: Editor, kind: string): PaletteKind | undefined {
  return editor.palette.groups.flatMap((group) => group.kinds).find((one) => one.kind === kind);
}

export const childrenOf = (editor: Editor, path: string): SketchNode[] => editor.sketch?.nodes.filter((node) => node.parent === path) ?? [];

const WIDGETS: readonly Widget[] = ["text", "long text", "number", "choice", "boolean", "expression", "json"];

/** Types that are sentences are known by how they begin, unless they allow something else as well. */
const SENTENCES: readonly [RegExp, Widget][] = [
  [/^a text, which may hold \{\{ \}\}$/, "long text"],
  [/^an expression such as \S+$/, "expression"],
  [/^true or false$/, "boolean"],
  [/^a (whole )?number( from [\d.,]+ to [\d.,]+)?$/, "number"],
  [/^a (text|name|duration[^{]*)$/, "text"],
];

/** How a field is edited; a value that does not fit its type is edited as what it is. */
export function widgetFor(field: Pick<Field, "type" | "choices">, value: Json | undefined): Widget {
  const widget = field.choices.length > 0 ? "choice" : typed(field.type);
  if (value === undefined || value === null) return widget;
  if (typeof value === "string") return widget === "number" || widget === "boolean" || widget === "json" || widget === "any" ? longer(value) : widget;
  if (typeof value === "number") return widget === "number" ? widget : "json";
  return widget === "boolean" && typeof value === "boolean" ? widget : "json";
}

const typed = (type: string): Widget =>
  WIDGETS.find((one) => one === type) ?? SENTENCES.find(([words]) => words.test(type))?.[1] ?? "any";

const longer = (value: string): Widget => (value.includes("\n") || value.includes("{{") ? "long text" : "text");

export interface Row {
  field: Field;
  value: Json | undefined;
}

/** What a form shows at once (needed, or in the file), and what it keeps folded away. */
export function rowsOf(form: readonly Field[], node: Pick<SketchNode, "fields" | "body">, without: readonly (readonly Key[])[] = []): { shown: Row[]; folded: Row[] } {
  const isHeld = node.body === "inline";
  const rows = form
    .filter(({ field }) => !without.some((keys) => isPrefix(keys, field)) && !form.some((other) => isPrefix(field, other.field) && other.field.length > field.length))
    .map((field) => ({ field, value: valueAt(node.fields, field.field) }))
    .flatMap((row) => (isHeld && isRecord(row.value) ? partsOf(row) : [row]))
    // Steps that a holder may hold are put into it, not typed.
    .filter((row) => !(isHeld && row.value === undefined && row.field.type === "steps by name"));
  const isShown = ({ field, value }: Row) => field.required || value !== undefined;
  return { shown: rows.filter(isShown), folded: rows.filter((row) => !isShown(row)) };
}

/** Of an object that holds steps, the single values beside them. */
function partsOf({ field, value }: Row): Row[] {
  return Object.entries(value as { [key: string]: Json })
    .filter(([, part]) => typeof part !== "object")
    .map(([name, part]) => ({ field: { ...field, field: [...field.field, name], label: name, type: "any", choices: [], required: false, help: "" }, value: part }));
}

const isPrefix = (keys: readonly Key[], of: readonly Key[]): boolean => keys.length <= of.length && keys.every((key, index) => key === of[index]);

/** What the file says beside what a form knows; `children` are the steps inside, which are left out. */
export function othersOf(form: readonly Field[], fields: Json, children: readonly SketchNode[] | null, without: readonly (readonly Key[])[] = []): Row[] {
  const known: (readonly Key[])[] = [...form.map(({ field }) => field), ...without];
  const names = new Set(children?.map((child) => nameOf(child.path).replace(/~\d+$/, "")));
  const holdsSteps = (value: Json): boolean =>
    isRecord(value) && (Object.keys(value).every((name) => names.has(name)) || Object.values(value).some((part) => holdsSteps(part as Json)));
  const found: Row[] = [];
  const look = (value: Json, keys: string[]) => {
    const leads = known.some((one) => one.length > keys.length && isPrefix(keys, one));
    if (leads && isRecord(value)) {
      for (const [name, part] of Object.entries(value)) look(part as Json, [...keys, name]);
    } else if (!known.some((one) => isPrefix(one, keys)) && !(children && holdsSteps(value))) {
      found.push({ field: { field: keys, label: keys.join("."), type: "any", help: "", choices: [], required: false }, value });
    }
  };
  look(fields, []);
  return found.filter(({ field }) => field.field.length > 0);
}
