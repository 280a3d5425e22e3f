/** Which records a picture needs, and what is read out of them: they hold what no event tells. Pure. */
import type { RecordItem } from "../api";
import { scopeOf, splitIteration } from "./address";
import { findIteration, noteLoop, scopeAt } from "./places";
import { addressOf, type Chosen } from "./select";
import type { Iteration, Journal, Json } from "./types";
import { isObject } from "./usage";

/** The last record of each place, whatever its attempt. */
export type Records = ReadonlyMap<string, RecordItem>;

export const NO_RECORDS: Records = new Map();

/** Stands for all items or iterations of a place: `all[*]`. */
const ALL = "[*]";
/** Of a loop with more iterations than this, nothing is read but the one that is looked at. */
const ITERATIONS_MAX = 200;

export const listOf = (place: string): string | null => (place.endsWith(ALL) ? place.slice(0, -ALL.length) : null);

/** The places whose records a graph needs: the run, the chosen iterations, and all items of lists. */
export function placesWanted(journal: Journal, paths: readonly string[], chosen: Chosen): string[] {
  const wanted = new Set([""]);
  for (const path of paths) {
    const address = addressOf(journal, path, chosen);
    wanted.add(scopeOf(address));
    const loop = journal.loops.get(address);
    if (journal.items.has(address) && (loop?.number ?? 0) <= ITERATIONS_MAX) wanted.add(address + ALL);
  }
  return [...wanted];
}

/** Up to which event the records of a place may change; what has ended stays as it is. */
export function changesUntil(journal: Journal, place: string): number {
  let until = journal.lastSeq;
  for (let scope = listOf(place) === null ? place : scopeOf(place); scope; ) {
    const split = splitIteration(scope);
    const loop = split && journal.loops.get(split.loop);
    const iteration = loop && findIteration(loop.iterations, split.number);
    if (iteration && iteration.status !== "running") until = Math.min(until, iteration.seq);
    scope = split ? scopeOf(split.loop) : "";
  }
  return until;
}

/** Items that only compute have no events: records tell how many there are. Gives whether that is new. */
export function noteItems(journal: Journal, records: Iterable<RecordItem>): boolean {
  let isNew = false;
  for (const { address, kind, repetitions } of records) {
    if (kind !== "foreach" || (repetitions ?? 0) <= (journal.items.get(address) ?? 0)) continue;
    noteLoop(journal, scopeAt(journal, scopeOf(address)), address);
    journal.items.set(address, repetitions ?? 0);
    isNew = true;
  }
  if (isNew) journal.version += 1;
  return isNew;
}

const REVIEWS = /feedback|critique|review|comment|reason|remark|issue|problem|advice|hint|note/i;

/**
 * What a reviewer said about an iteration: the judge's reason, else words of such a name among its
 * results, else those that were fed back into the next one.
 */
export function reviewOf(iteration: Iteration, loop: string, records: Records): string {
  const reason = iteration.facts.find((fact) => fact.reason)?.reason;
  if (reason) return reason;
  // What the next one was given may have been changed since, by a fork.
  const own = textIn(records.get(`${loop}[${iteration.number}]`)?.output as Json | undefined, 2);
  return own || textIn(records.get(`${loop}[${iteration.number + 1}]`)?.inputs as Json | undefined);
}

/** A text under a name that reviews have, some levels deep. */
function textIn(value: Json | undefined, depth = 1): string {
  if (!isObject(value) || "$ref" in value) return "";
  for (const [name, part] of Object.entries(value)) {
    if (typeof part === "string" && part && REVIEWS.test(name)) return part;
  }
  if (depth <= 1) return "";
  return Object.values(value).map((part) => textIn(part, depth - 1)).find(Boolean) ?? "";
}
