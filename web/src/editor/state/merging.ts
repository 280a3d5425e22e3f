/** One's own changes, made again on a text that somebody else has written meanwhile. */
import { applyPatch, createPatch } from "diff";
import { ApiError } from "../../api";
import type { Calls } from "./calls";
import type { Change } from "./history";

export interface Replayed {
  text: string;
  /** What could not be made again, in words. */
  refused: string[];
}

/** Operations are carried out on the other text; what was typed is merged by lines. */
export async function replay(calls: Calls, name: string, onto: string, changes: readonly Change[]): Promise<Replayed> {
  let text = onto;
  const refused: string[] = [];
  for (const change of changes) {
    if (!("operations" in change)) {
      const merged = applyPatch(text, createPatch(name, change.before, change.after), { fuzzFactor: 2 });
      if (merged === false) refused.push("what was typed: the lines around it are others by now");
      else text = merged;
      continue;
    }
    try {
      const { operations } = change;
      text = (await calls.edit({ name, text, operations, validate: false })).text;
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.status !== 422) throw fault;
      refused.push(`${change.operations.map((one) => one.operation).join(", ")}: ${fault.message}`);
    }
  }
  return { text, refused };
}
