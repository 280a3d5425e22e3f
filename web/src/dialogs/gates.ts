/** What a decision means, by what asks for it; which question is meant, and who has answered it. */
import { splitIteration } from "../journal/address";
import type { GateState } from "../journal/types";

/** How many characters of feedback the server takes. */
export const FEEDBACK_MAX = 100_000;

export interface Choice {
  label: string;
  tone: "main" | "bad";
  help: string;
}

/** Whether what a question shows can be taken with edits. */
export const canEdit = ({ reason, show }: Pick<GateState, "reason" | "show">): boolean =>
  (reason === "gate" || reason === "iteration" || reason === "limit") && show !== null && show !== undefined;

export type Choices = Record<"approve" | "reject", Choice>;

const CHOICES: Record<string, Choices> = {
  gate: {
    approve: { label: "Approve", tone: "main", help: "The run continues." },
    reject: { label: "Reject", tone: "bad", help: "The run gets your rejection and your feedback." },
  },
  iteration: {
    approve: { label: "Accept and finish", tone: "main", help: "The loop ends with this iteration." },
    reject: { label: "Another iteration", tone: "main", help: "The next iteration gets your feedback." },
  },
  limit: {
    approve: { label: "Accept the result so far", tone: "main", help: "The loop ends with the result so far." },
    reject: { label: "Reject", tone: "bad", help: "The loop ends as rejected." },
  },
  in_doubt: {
    approve: { label: "Repeat it", tone: "main", help: "The call is sent again." },
    reject: { label: "Do not repeat it", tone: "bad", help: "The step fails." },
  },
};

export function choicesFor(reason: string): Choices {
  return CHOICES[reason] ?? (CHOICES["gate"] as Choices);
}

/** What was answered, in the words of the button. */
export function answerWords(reason: string, approved: boolean): string {
  return choicesFor(reason)[approved ? "approve" : "reject"].label;
}

const ANSWERERS: Record<string, string> = { python: "A Python program answered", "dry run": "The dry run answered" };

export function answererWords(by: string, isMine: boolean): string {
  return isMine ? "You answered" : (ANSWERERS[by] ?? "Someone else answered");
}

export const isOpen = (gate: GateState): boolean => gate.decided === null && gate.gone === "";

/**
 * The question that is shown, as it stands now: an address that asks again asks something new, which
 * must not take the place of what somebody reads.
 */
export function sameQuestion(shown: GateState | undefined, newest: GateState | undefined): GateState | undefined {
  if (!shown || !newest || shown.seq === newest.seq) return newest ?? shown;
  return isOpen(shown) ? { ...shown, gone: "it was asked again" } : shown;
}

const ASKERS: Record<string, string> = {
  gate: "an approval step of the workflow",
  iteration: "the loop, after each iteration",
  limit: "the loop, at its limit",
  in_doubt: "a step whose call was cut off",
};

export function askerWords(reason: string): string {
  return ASKERS[reason] ?? reason;
}

/**
 * The loop and the iteration that a question is about: `work[2]/:ask` is about iteration 2 of
 * `work`, `work/:limit` about the last one, and a gate about the iteration that it stands in.
 */
export function subjectOf(address: string, last: (loop: string) => number): { loop: string; number: number } | null {
  if (address.endsWith("/:limit")) {
    const loop = address.slice(0, -"/:limit".length);
    return { loop, number: last(loop) };
  }
  const end = address.lastIndexOf("]/");
  return end < 0 ? null : splitIteration(address.slice(0, end + 1));
}

/** The same question one iteration before; "" where there is none. */
export function questionBefore(address: string): string {
  const end = address.lastIndexOf("]/");
  const here = end < 0 ? null : splitIteration(address.slice(0, end + 1));
  return here && here.number > 1 ? `${here.loop}[${here.number - 1}]${address.slice(end + 1)}` : "";
}
