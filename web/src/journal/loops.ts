/** What happens to loops: limits, iterations with their verdicts, best, and why they stopped. */
import { placeOf, scopeOf, splitIteration } from "./address";
import {
  cancelOpen,
  faultFrom,
  findIteration,
  noteLoop,
  numberFrom,
  putIteration,
  scopeAt,
  textFrom,
  type Change,
} from "./places";
import type { Fact, Iteration, IterationStatus, Journal, Json, Limits, LoopState, Mark, Outside } from "./types";
import { isObject, NOTHING, usageFrom } from "./usage";

function loopAt(journal: Journal, address: string, at: number): LoopState {
  const known = journal.loops.get(address);
  if (known) return known;
  const scope = scopeAt(journal, scopeOf(address));
  noteLoop(journal, scope, address);
  return {
    address,
    path: address.replace(/\[\d+\]/g, ""),
    scope: scope.address,
    limits: {},
    target: null,
    status: "running",
    iterations: [],
    number: 0,
    score: null,
    best: null,
    returned: null,
    explored: null,
    failed: [],
    exitReason: null,
    stoppedBy: null,
    mark: null,
    isEdited: false,
    isStopping: false,
    isStopped: false,
    usage: NOTHING,
    startedAt: at,
    endedAt: null,
  };
}

const REOPENED = { status: "running", exitReason: null, stoppedBy: null, mark: null, isEdited: false, isStopping: false, isStopped: false, returned: null, explored: null, endedAt: null } as const;

const loopStarted: Change = (journal, { address, at, body }) => {
  const place = placeOf(address);
  const loop = loopAt(journal, place, at);
  const limits = limitsFrom(body["limits"]);
  // A loop that runs a second time (a later step of a run that was continued) begins anew.
  const anew = { iterations: [], number: 0, score: null, best: null, failed: [] };
  journal.loops.set(place, { ...loop, ...REOPENED, ...anew, limits, usage: NOTHING, startedAt: at });
};

const iterationStarted: Change = (journal, { seq, address, at, body }) => {
  const split = splitIteration(address);
  if (!split) return;
  const loop = loopAt(journal, split.loop, at);
  const number = numberFrom(body["number"]) ?? split.number;
  scopeAt(journal, placeOf(address));
  const iteration: Iteration = {
    number,
    address,
    status: "running",
    startedAt: at,
    endedAt: null,
    seconds: null,
    stood: 0,
    score: null,
    outside: null,
    met: null,
    approved: false,
    best: false,
    by: "",
    facts: [],
    usage: NOTHING,
    error: null,
    seq,
  };
  putIteration(loop.iterations, iteration);
  journal.loops.set(loop.address, { ...loop, ...REOPENED, number });
};

const iterationFinished: Change = (journal, { seq, address, at, body }) => {
  const split = splitIteration(address);
  const loop = split && journal.loops.get(split.loop);
  const begun = loop && findIteration(loop.iterations, split.number);
  if (!begun) return;
  cancelOpen(journal, placeOf(address), at);
  if (body["status"] === "not_begun") {
    (loop.iterations as Iteration[]).pop();
    journal.loops.set(loop.address, { ...loop, number: loop.number - 1 });
    return;
  }
  const facts = factsFrom(body["facts"]);
  const score = numberFrom(body["score"]);
  const best = body["best"] === true;
  const isAgain = begun.endedAt !== null && begun.address === address;
  const stood = begun.stood + (isAgain ? Math.max(0, journal.run.wentOnAt - (begun.endedAt ?? 0)) : 0);
  const seconds = numberFrom(body["seconds"]);
  putIteration(loop.iterations, {
    ...begun,
    status: textFrom(body["status"]) as IterationStatus,
    endedAt: at,
    seconds: seconds === null ? null : Math.max(0, seconds - stood),
    stood,
    score,
    outside: outsideFrom(body["outside"]),
    met: typeof body["met"] === "boolean" ? body["met"] : null,
    approved: body["approved"] === true,
    best,
    by: textFrom(body["by"]),
    facts,
    usage: usageFrom(body["usage"]),
    error: faultFrom(body["error"]),
    seq,
  });
  journal.loops.set(loop.address, {
    ...loop,
    target: facts.find((fact) => fact.at_least !== undefined)?.at_least ?? loop.target,
    score: score ?? loop.score,
    best: best ? begun.number : loop.best,
    failed: body["status"] === "failed" ? [...loop.failed, begun.number] : loop.failed,
  });
};

const loopFinished: Change = (journal, { address, at, body }) => {
  const place = placeOf(address);
  const loop = loopAt(journal, place, at);
  const failed = body["failed_iterations"];
  journal.loops.set(place, {
    ...loop,
    status: "finished",
    number: numberFrom(body["iterations"]) ?? loop.number,
    score: numberFrom(body["score"]),
    best: "best_iteration" in body ? numberFrom(body["best_iteration"]) : loop.best,
    returned: numberFrom(body["returned_iteration"]),
    explored: numberFrom(body["explored"]),
    failed: Array.isArray(failed) ? (failed as number[]) : loop.failed,
    exitReason: textFrom(body["exit_reason"]) || null,
    stoppedBy: textFrom(body["stopped_by"]) || null,
    mark: markFrom(body["mark"]),
    isEdited: body["edited"] === true,
    isStopping: false,
    isStopped: loop.isStopping && body["exit_reason"] === "accepted",
    usage: usageFrom(body["usage"]),
    endedAt: at,
  });
};

/** More iterations were given: the limit counts from where the loop stands. */
const runContinued: Change = (journal, { body }) => {
  const loop = journal.loops.get(placeOf(textFrom(body["at"])));
  if (loop) journal.loops.set(loop.address, { ...loop, ...REOPENED });
};

/** Without an iteration, a person wants the loop to end after the one that is under way. */
const runAccepted: Change = (journal, { body }) => {
  const loop = journal.loops.get(placeOf(textFrom(body["at"])));
  if (loop?.status === "running" && !("iteration" in body)) journal.loops.set(loop.address, { ...loop, isStopping: true });
};

/** An iteration whose first call the budget refuses has not begun. */
const runWaiting: Change = (journal, { body }) => {
  const addresses = body["not_begun"];
  for (const address of Array.isArray(addresses) ? addresses : []) {
    const split = splitIteration(textFrom(address));
    const loop = split && journal.loops.get(split.loop);
    if (loop) journal.loops.set(loop.address, { ...loop, number: split.number - 1 });
  }
};

/** The run goes on, and with it what had not begun. */
const runResumed: Change = (journal) => {
  for (const loop of journal.loops.values()) {
    const last = loop.iterations[loop.iterations.length - 1];
    if (loop.status === "running" && last && last.number > loop.number)
      journal.loops.set(loop.address, { ...loop, number: last.number });
  }
};

function limitsFrom(told: Json | undefined): Limits {
  return isObject(told) ? (told as Limits) : {};
}

/** Only the run itself knows what the limits are now. */
const loopContinued: Change = (journal, { address, body }) => {
  const loop = journal.loops.get(address);
  if (loop) journal.loops.set(loop.address, { ...loop, ...REOPENED, limits: limitsFrom(body["limits"]) });
};

function factsFrom(told: Json | undefined): Fact[] {
  return Array.isArray(told) ? (told.filter(isObject) as Fact[]) : [];
}

function outsideFrom(told: Json | undefined): Outside | null {
  if (!isObject(told)) return null;
  const [score, low, high] = [told["score"], told["low"], told["high"]].map(numberFrom);
  return score == null || low == null || high == null ? null : { score, low, high };
}

const markFrom = (told: Json | undefined): Mark | null => (told === "limit" || told === "budget" ? told : null);

export const loopChanges: Record<string, Change> = {
  "loop.started": loopStarted,
  "iteration.started": iterationStarted,
  "iteration.finished": iterationFinished,
  "loop.finished": loopFinished,
  "run.continued": (journal, event) => {
    runResumed(journal, event);
    runContinued(journal, event);
  },
  "run.resumed": runResumed,
  "run.accepted": runAccepted,
  "run.waiting": runWaiting,
  "loop.continued": loopContinued,
};
