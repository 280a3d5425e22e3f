/** What happens to nodes: tasks with their attempts, gates, and control nodes that tell their end. */
import { attemptOf, isInner, placeOf } from "./address";
import {
  changeAttempt,
  changeRun,
  faultFrom,
  nodeAt,
  putNode,
  settle,
  spend,
  textFrom,
  type Change,
  type FullEvent,
} from "./places";
import type { Attempt, Journal, NodeStatus } from "./types";
import { isObject, NOTHING, plus, usageFrom, usageOfReserve } from "./usage";

function begin(journal: Journal, event: FullEvent, facts: Partial<Attempt>): void {
  const node = nodeAt(journal, event.address);
  const attempt: Attempt = {
    address: event.address,
    number: attemptOf(event.address),
    status: "running",
    kind: "",
    model: "",
    startedAt: event.at,
    endedAt: null,
    inputs: null,
    value: null,
    usage: NOTHING,
    reserve: NOTHING,
    error: null,
    text: "",
    seq: event.seq,
    ...facts,
  };
  // The same attempt begins again when a call that was in doubt is repeated.
  const others = node.attempts.filter((one) => one.address !== event.address);
  putNode(journal, { ...node, status: attempt.status, attempts: [...others, attempt] });
}

const taskStarted: Change = (journal, event) => {
  const inputs = event.body["inputs"] ?? null;
  const reserve = usageOfReserve(event.body["reserve"]);
  const model = isObject(inputs) ? textFrom(inputs["model"]) : "";
  begin(journal, event, { kind: textFrom(event.body["kind"]), model, inputs, reserve });
  changeRun(journal, { reserved: plus(journal.run.reserved, reserve) });
  if (journal.run.status === "waiting") changeRun(journal, { status: "running" });
};

const taskEnded: Change = (journal, event) => {
  const { address, at, body } = event;
  const used = usageFrom(body["usage"]);
  let before = changeAttempt(journal, address, {});
  if (!before) {
    // What is wrong with its inputs ends a task before it begins.
    begin(journal, event, {});
    before = changeAttempt(journal, address, {});
  }
  settle(journal, address);
  changeAttempt(journal, address, {
    status: event.kind === "task.finished" ? "succeeded" : "failed",
    endedAt: at,
    model: textFrom(body["model"]) || before?.model || "",
    value: body["value"] ?? null,
    usage: plus(before?.usage ?? NOTHING, used),
    error: faultFrom(body["error"]),
    text: "",
  });
  spend(journal, placeOf(address), used);
};

/** Nobody will say what the call used, so all that was reserved for it counts as spent. */
const taskInDoubt: Change = (journal, { address }) => {
  const reserve = changeAttempt(journal, address, { status: "in_doubt" })?.reserve ?? NOTHING;
  settle(journal, address);
  spend(journal, placeOf(address), { ...reserve, in_doubt: 1, doubt_usd: reserve.cost_usd });
};

const nodeEnded: Change = (journal, event) => {
  const { address, at, kind, body } = event;
  const usual = kind === "node.skipped" ? "skipped" : "succeeded";
  const status = (textFrom(body["status"]) || usual) as NodeStatus;
  const error = faultFrom(body["error"]);
  if (!changeAttempt(journal, address, { status, endedAt: at, error })) {
    begin(journal, event, { status, endedAt: at, error });
  }
  const node = nodeAt(journal, address);
  putNode(journal, { ...node, branch: textFrom(body["branch"]) });
};

export const nodeChanges: Record<string, Change> = {
  "task.started": taskStarted,
  "task.finished": taskEnded,
  "task.failed": taskEnded,
  "task.in_doubt": taskInDoubt,
  "task.retrying": (journal, { address }) => {
    changeAttempt(journal, address, { status: "retrying" });
  },
  // The intent stands in the journal, but the call was refused: it has not been sent.
  "budget.reached": (journal, { address, at, body }) => {
    settle(journal, address);
    const status = body["pauses"] === true ? "waiting" : "cancelled";
    changeAttempt(journal, address, { status, endedAt: at });
  },
  "node.finished": nodeEnded,
  "node.skipped": nodeEnded,
  "gate.waiting": (journal, event) => {
    if (!isInner(event.address)) begin(journal, event, { status: "waiting", kind: "gate" });
  },
  "gate.decided": (journal, { address, at, body }) => {
    if (!journal.asking.has(address)) return;
    const status = body["approved"] === true ? "succeeded" : "failed";
    changeAttempt(journal, address, { status, endedAt: at });
  },
};
