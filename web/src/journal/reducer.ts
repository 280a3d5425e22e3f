/**
 * The reducer: folds journal events into what the page shows.
 *
 * No clock, no network: the same events give the same state. Each event costs the same however
 * long the run is, and one that was taken in before is skipped, so streams may overlap.
 */
import { placeOf } from "./address";
import { gateChanges } from "./gates";
import { loopChanges } from "./loops";
import { nodeChanges } from "./nodes";
import { changeAttempt, type Change } from "./places";
import { runChanges } from "./run";
import type { Journal, JournalEvent } from "./types";
import { NOTHING } from "./usage";

const TEXT_MAX = 200_000;
const TEXT_KEPT = 150_000;

export function emptyJournal(): Journal {
  const root = { address: "", parent: null, loop: "", number: 0, nodes: [], loops: [] };
  return {
    version: 0,
    lastSeq: 0,
    lastAt: 0,
    run: {
      id: "",
      status: "running",
      startedAt: null,
      endedAt: null,
      input: null,
      output: null,
      outputs: null,
      limits: {},
      usage: NOTHING,
      reserved: NOTHING,
      error: null,
      pausedFor: "",
      forkedFrom: "",
      wentOnAt: 0,
    },
    nodes: new Map(),
    loops: new Map(),
    gates: new Map(),
    asking: new Set(),
    warnings: [],
    scopes: new Map([["", root]]),
    items: new Map(),
    places: new Map(),
    open: new Set(),
  };
}

/** Takes one event in; gives whether it changed anything. */
export function reduce(journal: Journal, event: JournalEvent): boolean {
  if (event.seq === null) return addText(journal, event.address, event.text ?? "");
  if (event.seq <= journal.lastSeq) return false;
  const full = { ...event, seq: event.seq, at: event.at ?? journal.lastAt, body: event.body ?? {} };
  journal.lastSeq = event.seq;
  journal.lastAt = Math.max(journal.lastAt, full.at);
  journal.version += 1;
  for (const change of CHANGES.get(event.kind) ?? []) change(journal, full);
  return true;
}

/**
 * Takes streamed text in, which is in no journal; text of a task that has ended is ignored.
 * Whoever comes late, or comes back, is told the whole of it first.
 */
export function addText(journal: Journal, address: string, text: string, isWhole = false): boolean {
  const last = journal.nodes.get(placeOf(address))?.attempts.at(-1);
  if (!text || last?.status !== "running") return false;
  const whole = isWhole ? text : last.text + text;
  const kept = whole.length > TEXT_MAX ? whole.slice(-TEXT_KEPT) : whole;
  changeAttempt(journal, last.address, { text: kept });
  journal.version += 1;
  return true;
}

// Several parts may look at the same kind of event, each in its own file.
const CHANGES = new Map<string, Change[]>();
for (const changes of [runChanges, nodeChanges, loopChanges, gateChanges]) {
  for (const [kind, change] of Object.entries(changes)) {
    CHANGES.set(kind, [...(CHANGES.get(kind) ?? []), change]);
  }
}
