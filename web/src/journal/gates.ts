/** What happens to questions: asked, answered once, or no longer of interest to anybody. */
import { placeOf } from "./address";
import { changeRun, textFrom, type Change } from "./places";
import type { Journal } from "./types";

const TIMEOUT = "/:timeout";

const gateWaiting: Change = (journal, { seq, at, address, body }) => {
  journal.gates.set(address, {
    address,
    seq,
    reason: textFrom(body["reason"]),
    message: textFrom(body["message"]),
    show: body["show"] ?? null,
    since: at,
    decided: null,
    gone: "",
  });
  // One that asks again has its turn after those that wait already.
  journal.asking.delete(address);
  journal.asking.add(address);
};

/** The first answer counts: one that came too late stands in the journal and changes nothing. */
const gateDecided: Change = (journal, { at, address, body }) => {
  const gate = journal.gates.get(address);
  const [feedback, by] = [textFrom(body["feedback"]), textFrom(body["by"])];
  const decided = { approved: body["approved"] === true, feedback, by, at, isEdited: "value" in body && by !== "call" };
  if (gate && journal.asking.delete(address)) journal.gates.set(address, { ...gate, decided });
  if (journal.run.status === "waiting") changeRun(journal, { status: "running" });
};

/** Closes the questions of a place and of everything inside it. */
function close(journal: Journal, place: string, why: string): void {
  const isInside = (address: string) => place === "" || address === place || address.startsWith(`${place}/`) || address.startsWith(`${place}[`);
  for (const address of [...journal.asking].filter((one) => isInside(placeOf(one)))) {
    journal.asking.delete(address);
    const gate = journal.gates.get(address);
    if (gate) journal.gates.set(address, { ...gate, gone: why });
  }
}

export const gateChanges: Record<string, Change> = {
  "gate.waiting": gateWaiting,
  "gate.decided": gateDecided,
  "timer.fired": (journal, { address }) => {
    if (address.endsWith(TIMEOUT)) close(journal, placeOf(address.slice(0, -TIMEOUT.length)), "its time ran out");
  },
  "iteration.finished": (journal, { address }) => close(journal, placeOf(address), "its iteration has ended"),
  "loop.finished": (journal, { address }) => close(journal, placeOf(address), "its loop has ended"),
  "node.finished": (journal, { address }) => close(journal, placeOf(address), "its step has ended"),
  "run.continued": (journal, { body }) => close(journal, `${placeOf(textFrom(body["at"]))}/:limit`, "its loop was continued"),
  "run.cancelled": (journal) => close(journal, "", "the run was cancelled"),
  "run.finished": (journal) => close(journal, "", "the run has ended"),
};
