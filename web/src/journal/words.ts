/** What runs say about themselves, in plain words: the same that the terminal says. */
import type { Fact, Iteration, Mark, Outside, Usage } from "./types";
import { costOf } from "./usage";

const REASONS: Record<string, string> = {
  condition_met: "its condition was met",
  max_iterations: "it reached its limit of iterations",
  timeout: "it reached its limit of time",
  budget: "the next call did not fit into the budget",
  failed: "an iteration failed",
  cancelled: "the run was cancelled",
  accepted: "a person accepted an iteration",
  rejected: "a person rejected it",
};

const STOPPED_BY: Record<string, string> = {
  expression: "an expression became true",
  score: "the score reached its target",
  judge: "the judge said yes",
  branch: "the branch that ends it was taken",
  stable: "two results in a row were alike",
  plateau: "the score stopped improving",
  break: "a break step was reached",
  items: "no items were left",
  person: "a person approved it",
};

const ENDS: Record<string, string> = {
  condition_met: "condition met",
  max_iterations: "limit of iterations",
  timeout: "limit of time",
};

const MET_BY: Record<string, string> = {
  score: "score reached",
  judge: "judge said yes",
  branch: "branch taken",
  stable: "results alike",
  plateau: "no better score",
  break: "break reached",
  items: "no items left",
  person: "approved",
};

/** Why a loop ended, in two or three words. */
export function endWords(reason: string, stoppedBy: string | null = null): string {
  const met = reason === "condition_met" ? MET_BY[stoppedBy ?? ""] : undefined;
  return met ?? ENDS[reason] ?? reason;
}

/** The same as the journal and the terminal write it, for those who search for it. */
export const endCode = (reason: string, stoppedBy: string | null = null): string => (stoppedBy ? `${reason} (${stoppedBy})` : reason);

/** Why a loop ended, as a clause. */
export function reasonWords(reason: string, stoppedBy: string | null = null): string {
  if (reason === "condition_met" && stoppedBy) {
    return STOPPED_BY[stoppedBy] ?? `stopped by ${stoppedBy}`;
  }
  return REASONS[reason] ?? reason;
}

/** What a mark means: the run, or the loop, has a result that is not what it was after. */
export const MARK_WORDS: Record<Mark, string> = {
  limit: "it ended at a limit, before its condition was met",
  budget: "it ended at its budget, before its condition was met",
  warning: "a text was cut, left out or not clear: its warnings say which",
};

/** What was found at the end of an iteration. */
export function verdictWords(iteration: Iteration): string {
  if (iteration.error) return iteration.error.message;
  const met = iteration.facts.filter((fact) => fact.met);
  const told = iteration.met && met.length > 0 ? met : iteration.facts;
  const isScored = (fact: Fact) => fact.by !== "score" || typeof fact.score === "number";
  const outside = iteration.outside ? [outsideWords(iteration.outside)] : [];
  const facts = outside.length > 0 ? told.filter(isScored) : told;
  const isMeasured = (fact: Fact) => Object.keys(fact).some((name) => !["leaf", "by", "met"].includes(name));
  const words = facts.filter(isMeasured).map(factWords);
  return [...outside, ...words].join("; ") || iteration.by;
}

/** A score that does not count, such as `9 outside 0–1`. */
export function outsideWords({ score: number, low, high }: Outside): string {
  const plain = (value: number) => String(Number(value.toPrecision(12)));
  return `${plain(number)} outside ${plain(low)}–${plain(high)}`;
}

/** One condition's value, such as `score 0.40 < 0.95`. */
export function factWords(fact: Fact): string {
  switch (fact.by) {
    case "score":
      if (typeof fact.score !== "number") return "no score";
      return `score ${score(fact.score, fact.at_least)} ${fact.met ? "≥" : "<"} ${score(fact.at_least ?? 0, fact.score)}`;
    case "judge":
      if (fact.reason) return `judge: ${answerOf(fact)}. ${fact.reason}`;
      return fact.answer ? `judge: ${fact.answer}` : "judge: no clear answer";
    case "expression":
      return expressionWords(fact.expression ?? "", fact.met);
    case "stable":
      return `${percent(fact.similarity ?? 0)} alike`;
    case "plateau":
      return `${fact.stale ?? 0} without a better score`;
    case "branch":
      return `branch '${fact.branch ?? ""}'`;
    default:
      return fact.by;
  }
}

const answerOf = ({ met }: Fact): string => (met === null ? "no clear answer" : met ? "yes" : "no");

function expressionWords(expression: string, met: boolean | null): string {
  if (met === null) return `${expression} is not known`;
  // A sentence, which is so or is not.
  return expression.includes(" is ") ? `${expression}: ${met ? "yes" : "no"}` : `${expression} is ${met}`;
}

type Others = (number | null | undefined)[];

/** How many digits a number needs so that it does not read the same as others that differ from it. */
function digitsFor(number: number, others: Others, least: number, most: number): number {
  const isAlike = (digits: number) => others.some((other) => other != null && other !== number && other.toFixed(digits) === number.toFixed(digits));
  let digits = least;
  while (digits < most && isAlike(digits)) digits += 1;
  return digits;
}

/** A score with two to four digits, and more where only they tell it from its target, or others. */
export function score(number: number, ...others: Others): string {
  return trimmed(number.toFixed(digitsFor(number, others, 4, 15)));
}

/** Without zeros at the end, but for the first two digits. */
const trimmed = (text: string): string => text.replace(/(\.\d\d\d*?)0+$/, "$1");

/** A share of 1, rounded down: what is nearly all is not all. */
const percent = (share: number): string => `${Math.floor(share * 10_000 + 1e-6) / 100}%`;

const SMALLEST = 0.000001;

/** An amount of money: cents, small ones with more digits, and never nothing for something. */
export function dollars(amount: number | null, ...others: Others): string {
  if (amount === null) return "not known";
  if (amount === 0) return "$0";
  if (amount < SMALLEST) return `<$${SMALLEST.toFixed(6)}`;
  // Sums of the same amounts in another order differ behind what counts; half a unit is rounded up.
  const same = Math.round(amount * 1e9) / 1e9;
  const least = same >= 0.095 ? 2 : Math.max(4, 1 - Math.floor(Math.log10(same)));
  return `$${trimmed((same + 1e-12).toFixed(digitsFor(same, others, least, 6)))}`;
}

/** What something cost: where the price of a call is not known, the rest of it. */
export function cost(usage: Pick<Usage, "cost_usd" | "unpriced">, ...others: Others): string {
  const known = costOf(usage);
  return `${usage.unpriced > 0 && known !== null ? "at least " : ""}${dollars(known, ...others)}`;
}

/** What a run cost; what was reserved for calls in doubt stands apart. */
export function paid(amount: number | null, reserved: number): string {
  if (amount === null || reserved <= 0) return dollars(amount);
  const known = amount - reserved > 1e-9 ? `${dollars(amount - reserved)} + ` : "";
  return `${known}${dollars(reserved)} reserved`;
}

/** A budget as it was given: it is a promise, so nothing of it is rounded away. */
export function budget(amount: number): string {
  return amount < SMALLEST ? dollars(amount) : `$${trimmed(amount.toFixed(6))}`;
}

export function tokens(count: number): string {
  if (count < 1_000) return String(count);
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** A duration: 0.4s, 38s, 2m 32s, 3h 5m, 2d 4h. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)}s`;
  if (seconds < 60) return `${Math.round(seconds)}s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h ${Math.floor((whole % 3_600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d ${Math.floor((whole % 86_400) / 3_600)}h`;
}

/** How long ago something was, in one unit. */
export function age(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

// R16: text of models may hold control characters; everything else is shown as it is.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text as it may be shown: without control characters and without marks that turn its direction. */
export function visible(text: string): string {
  return text.replace(CONTROL, "\ufffd");
}
