/** What runs say about themselves, in plain words: the same that the terminal says. */
import type { Fact, Iteration } from "./types";

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
  score: "the score reached its goal",
  judge: "the judge said yes",
  branch: "the branch that ends it was taken",
  stable: "two results in a row were alike",
  plateau: "the score did not get better any more",
  break: "a break step was reached",
  items: "no items were left",
  person: "a person approved it",
};

/** Why a loop ended, as a clause. */
export function reasonWords(reason: string, stoppedBy: string | null = null): string {
  if (reason === "condition_met" && stoppedBy) {
    return STOPPED_BY[stoppedBy] ?? `stopped by ${stoppedBy}`;
  }
  return REASONS[reason] ?? reason;
}

/** What was found at the end of an iteration. */
export function verdictWords(iteration: Iteration): string {
  if (iteration.error) return iteration.error.message;
  const met = iteration.facts.filter((fact) => fact.met);
  const told = iteration.met && met.length > 0 ? met : iteration.facts;
  const words = told.filter((fact) => Object.keys(fact).length > 2).map(factWords);
  return words.join("; ") || iteration.by;
}

/** One condition's value, such as `score 0.40 < 0.95`. */
export function factWords(fact: Fact): string {
  switch (fact.by) {
    case "score":
      if (typeof fact.score !== "number") return "no score";
      return `score ${score(fact.score)} ${fact.met ? "≥" : "<"} ${score(fact.at_least ?? 0)}`;
    case "judge":
      return fact.answer ? `judge: ${fact.answer}` : "judge: no clear answer";
    case "expression":
      return `${fact.expression ?? ""} is ${String(Boolean(fact.met))}`;
    case "stable":
      return `${Math.round((fact.similarity ?? 0) * 100)}% alike`;
    case "plateau":
      return `${fact.stale ?? 0} without a better score`;
    case "branch":
      return `branch '${fact.branch ?? ""}'`;
    default:
      return fact.by;
  }
}

/** A score with two digits, as the terminal shows it. */
export function score(number: number): string {
  return number.toFixed(2);
}

export function dollars(amount: number): string {
  if (amount === 0) return "$0";
  return amount < 0.01 ? `$${amount.toFixed(4)}` : `$${amount.toFixed(2)}`;
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
