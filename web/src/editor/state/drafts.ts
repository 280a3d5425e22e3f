/** Drafts: what is not saved yet, kept in the browser for each file. */
import type { Others } from "./calls";

export interface Draft {
  text: string;
  /** The text before the last change, for undo. */
  before: string;
  /** The saved text that it was made from, and its version. */
  base: string;
  etag: string | null;
  changes: number;
  /** New files that belong to it. */
  others?: Others;
  /** When it was kept, in milliseconds. */
  at: number;
}

const keyOf = (project: string, file: string): string => `whorl.draft:${project}:${file}`;

export function readDraft(project: string, file: string): Draft | null {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(project, file)) ?? "null") as Partial<Draft> | null;
    const isWhole = typeof kept?.text === "string" && typeof kept.base === "string" && typeof kept.at === "number";
    return isWhole ? (kept as Draft) : null;
  } catch {
    return null;
  }
}

/** Keeps a draft, or forgets it (null); says whether the browser could. */
export function keepDraft(project: string, file: string, draft: Draft | null): boolean {
  try {
    if (draft) localStorage.setItem(keyOf(project, file), JSON.stringify(draft));
    else localStorage.removeItem(keyOf(project, file));
    return true;
  } catch {
    return false;
  }
}
