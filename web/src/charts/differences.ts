/** Differences of two texts, line by line, with the words that changed inside a changed line. */
import { diffLines, diffWordsWithSpace } from "diff";

export interface Piece {
  text: string;
  isChanged: boolean;
}

export interface Line {
  kind: "same" | "added" | "removed";
  /** Line numbers in the old and the new text, counted from 1. */
  before: number | null;
  after: number | null;
  pieces: Piece[];
}

export type Row = Line | { kind: "skipped"; count: number };

// The time grows with its square: this many take a tenth of a second.
const EDITS_MAX = 1_000;

/** All lines of both texts, the removed ones of a change before the added ones. */
export function linesOf(before: string, after: string): Line[] {
  // Two long texts that share nothing would take for ever: then one replaces the other as a whole.
  const changes = diffLines(before, after, { maxEditLength: EDITS_MAX }) ?? whole(before, after);
  const lines: Line[] = [];
  let [old, fresh] = [0, 0];
  for (const change of changes) {
    const kind = change.added ? "added" : change.removed ? "removed" : "same";
    for (const text of split(change.value)) {
      lines.push({
        kind,
        before: kind === "added" ? null : (old += 1),
        after: kind === "removed" ? null : (fresh += 1),
        pieces: [{ text, isChanged: false }],
      });
    }
  }
  markWords(lines);
  return lines;
}

/** Long stretches that are the same are left out, but for a few lines around each change. */
export function folded(lines: readonly Line[], context = 3): Row[] {
  const keep = new Set<number>();
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    for (let near = index - context; near <= index + context; near += 1) keep.add(near);
  });
  const rows: Row[] = [];
  lines.forEach((line, index) => {
    const last = rows.at(-1);
    if (keep.has(index) || keep.size === 0) rows.push(line);
    else if (last?.kind === "skipped") last.count += 1;
    else rows.push({ kind: "skipped", count: 1 });
  });
  return rows;
}

/** Old and new side by side: what was removed stands beside what came in its place. */
export function sides(rows: readonly Row[]): [Row | null, Row | null][] {
  const pairs: [Row | null, Row | null][] = [];
  let removed: Row[] = [];
  let added: Row[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      pairs.push([removed[index] ?? null, added[index] ?? null]);
    }
    removed = [];
    added = [];
  };
  for (const row of rows) {
    if (row.kind === "removed") removed.push(row);
    else if (row.kind === "added") added.push(row);
    else {
      flush();
      pairs.push([row, row]);
    }
  }
  flush();
  return pairs;
}

function split(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function whole(before: string, after: string) {
  return [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
}

/** Where as many lines were added as removed, the words that differ are marked pair by pair. */
function markWords(lines: Line[]): void {
  let index = 0;
  while (index < lines.length) {
    const removed = stretch(lines, index, "removed");
    const added = stretch(lines, index + removed.length, "added");
    if (removed.length > 0 && removed.length === added.length) {
      removed.forEach((line, nth) => markPair(line, added[nth] as Line));
    }
    index += Math.max(1, removed.length + added.length);
  }
}

function stretch(lines: readonly Line[], from: number, kind: Line["kind"]): Line[] {
  const found: Line[] = [];
  for (let at = from; lines[at]?.kind === kind; at += 1) found.push(lines[at] as Line);
  return found;
}

function markPair(removed: Line, added: Line): void {
  const [before, after] = [removed.pieces[0]?.text ?? "", added.pieces[0]?.text ?? ""];
  if (before.length + after.length > 4_000) return;
  const changes = diffWordsWithSpace(before, after);
  // Lines that share almost nothing are easier to read unmarked.
  const shared = changes.filter((one) => !one.added && !one.removed).reduce((sum, one) => sum + one.value.trim().length, 0);
  if (shared * 4 < Math.min(before.length, after.length)) return;
  removed.pieces = changes.filter((one) => !one.added).map((one) => ({ text: one.value, isChanged: Boolean(one.removed) }));
  added.pieces = changes.filter((one) => !one.removed).map((one) => ({ text: one.value, isChanged: Boolean(one.added) }));
}
