/** One's own changes, made again on a text that somebody else has written meanwhile. */
import { applyPatch, createPatch } from "diff";
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
