/** One's own changes, made again on a text that somebody else has written meanwhile. */
import { applyPatch, createPatch, structuredPatch } from "diff";
import { ApiError } from "../../api";
import { othersOf } from "./actions";
import type { Calls, Others } from "./calls";
import type { Change } from "./history";

export interface Replayed {
  text: string;
  others: Others;
  /** What could not be made again, in words. */
  refused: string[];
}

/** Operations are carried out on the other text; what was typed is merged by lines. */
export async function replay(calls: Calls, name: string, onto: string, changes: readonly Change[]): Promise<Replayed> {
  let text = onto;
  let others: Others = {};
  const refused: string[] = [];
  for (const change of changes) {
    if (!("operations" in change)) {
      const merged = applyPatch(text, createPatch(name, change.before, change.after), { fuzzFactor: 2 });
      if (merged === false) refused.push("what you typed: the lines around it have changed");
      else text = merged;
      continue;
    }
    try {
      const { operations } = change;
      const edited = await calls.edit({ name, text, others, operations, validate: false });
      text = edited.text;
      others = { ...others, ...othersOf(edited) };
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.status !== 422) throw fault;
      refused.push(`${change.operations.map((one) => one.operation).join(", ")}: ${fault.message}`);
    }
  }
  return { text, others, refused };
}

/** The lines of the common text that both have changed, each in another way: nobody can merge these. */
export function clashes(base: string, mine: string, theirs: string): string[] {
  const [own, other] = [mine, theirs].map((text) => structuredPatch("", "", base, text, "", "", { context: 0 }).hunks.filter((hunk) => hunk.oldLines > 0));
  const lines = base.split("\n");
  return (own ?? []).flatMap((one) => {
    const same = (other ?? []).find((two) => one.oldStart < two.oldStart + two.oldLines && two.oldStart < one.oldStart + one.oldLines);
    if (!same || same.lines.join("\n") === one.lines.join("\n")) return [];
    return [lines[Math.max(one.oldStart, same.oldStart) - 1] ?? ""];
  });
}
