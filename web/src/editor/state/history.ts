/** Undo and redo as whole texts: whatever an operation did, going back gives the same bytes. */
import type { Diagnostic, Operation, Sketch } from "../contract";
import type { Others } from "./calls";

/** What was on the screen at one time. */
export interface Shot {
  text: string;
  others: Others;
  /** Absent where it has to be drawn anew. */
  sketch: Sketch | null;
  diagnostics: Diagnostic[];
  selected: string[];
  drill: string;
}

/** What led away from a shot: operations, or none where somebody typed. */
export interface Step {
  shot: Shot;
  operations: Operation[] | null;
}

export interface History {
  past: readonly Step[];
  future: readonly Step[];
}

export const STEPS_MAX = 200;
export const CHARACTERS_MAX = 20_000_000;

export const NO_HISTORY: History = { past: [], future: [] };

/** Another step; what was undone before it is gone, and so are the oldest steps beyond the limits. */
export function pushed(history: History, step: Step): History {
  const past = [...history.past, step].slice(-STEPS_MAX);
  let size = past.reduce((sum, one) => sum + one.shot.text.length, 0);
  while (size > CHARACTERS_MAX && past.length > 1) size -= past.shift()?.shot.text.length ?? 0;
  return { past, future: [] };
}

/** One step back from what is shown: the shot to show, and the history then. */
export function undone(history: History, now: Shot): { shot: Shot; history: History } | null {
  const step = history.past.at(-1);
  if (!step) return null;
  const future = [...history.future, { shot: now, operations: step.operations }];
  return { shot: step.shot, history: { past: history.past.slice(0, -1), future } };
}

export function redone(history: History, now: Shot): { shot: Shot; history: History } | null {
  const step = history.future.at(-1);
  if (!step) return null;
  const past = [...history.past, { shot: now, operations: step.operations }];
  return { shot: step.shot, history: { past, future: history.future.slice(0, -1) } };
}

/** A change since a text, to be made again on another one. */
export type Change = { operations: Operation[] } | { before: string; after: string };

/** What was changed since the saved text, in order; one change by hand where the steps are not known. */
export function changesSince(history: History, saved: string, text: string): Change[] {
  if (text === saved) return [];
  const { past } = history;
  const from = past.findLastIndex((step) => step.shot.text === saved);
  if (from < 0) return [{ before: saved, after: text }];
  return past.slice(from).map((step, index, steps) => {
    if (step.operations) return { operations: step.operations };
    return { before: step.shot.text, after: steps[index + 1]?.shot.text ?? text };
  });
}
