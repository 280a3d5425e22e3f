/** Completing names in texts: where a list opens, what it shows, and what taking a name makes of the text. */
import type { Name } from "../calls";

export type Opens = "braces" | "words";

/** Where the word begins that is being typed. */
export interface Opened {
  from: number;
  typed: string;
}

const IN_BRACES = /\{\{\s*(?:[^{}]*[\s(|,+=<>!])?([\w.[\]'-]*)$/;
const ANYWHERE = /([A-Za-z_][\w.-]*)$/;

export function openedAt(text: string, caret: number, opens: Opens): Opened | null {
  const before = text.slice(0, caret);
  const found = (opens === "braces" ? IN_BRACES : ANYWHERE).exec(before);
  if (!found) return null;
  const typed = found[1] ?? "";
  return { from: caret - typed.length, typed };
}

/** The names that go on as it was typed, then those that hold it. */
export function matching(names: readonly Name[], typed: string): Name[] {
  const wanted = typed.toLowerCase();
  const begins = names.filter(({ name }) => name.toLowerCase().startsWith(wanted) && name !== typed);
  const holds = wanted.length > 1 ? names.filter(({ name }) => name.toLowerCase().includes(wanted) && !name.toLowerCase().startsWith(wanted)) : [];
  return [...begins, ...holds];
}

/** The text with a name in the place of what was typed; braces that are open are closed. */
export function taken(text: string, caret: number, { from }: Opened, name: string, opens: Opens): { text: string; caret: number } {
  const [before, behind] = [text.slice(0, from), text.slice(caret)];
  const space = opens === "braces" && before.endsWith("{{") ? " " : "";
  const isClosed = opens === "words" || /^[^{]*\}\}/.test(behind);
  const written = `${before}${space}${name}${isClosed ? "" : " }}"}`;
  return { text: written + behind, caret: written.length };
}
