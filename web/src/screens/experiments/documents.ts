/** What experiments found, in the shapes that the commands print with --json, and words for them. Pure. */
import type { Span } from "../../api";
import { words } from "../../journal";
import type { Rule } from "./answering";

export interface VariantReport {
  name: string;
  cases: number;
  grade: Span;
  difference: Span | null;
  words: string;
  could_see: number | null;
  solved: number | null;
  cost_usd: Span;
  per_solved: Span | null;
  iterations: number;
  wins: number;
  ties: number;
  losses: number;
  /** Whether the difference to the baseline is one that does not matter. */
  within_margin: boolean;
  /** How many of its trials have failed by themselves, by code, and how many have ended. */
  failed: Record<string, number>;
  ended: number;
  /** How many of its trials asked a model without a known price. */
  unpriced: number;
}

export interface Report {
  grader: string;
  baseline: string;
  is_complete: boolean;
  variants: Record<string, VariantReport>;
  left_out: string[];
  /** Variants that have no grade, or no pair, for some of the cases. */
  fewer: string[];
  /** What has to be known of costs, and of grades that are missing. */
  notes: string[];
  rho: number | null;
  extra_usd: number;
  people: Record<string, [graded: number, of: number]>;
  faults: string[];
  on_failure: string;
  /** Runs of cases, variants or versions that the file has no more. */
  others: number;
}

export interface RuleRow {
  rule: string;
  grade: number | null;
  cost_usd: number | null;
  iterations: number | null;
  to_best: Span | null;
  is_frontier: boolean;
  unknown: number;
  why: string;
  /** Between which limits the grade lies where not all runs answer. */
  bounds?: [number, number] | null;
  /** The rule in the words of the facts. */
  asked: Rule;
}

export interface Sweep {
  loop: string;
  /** So many of so many trials are in these numbers. */
  runs: number;
  trials: number;
  rules: RuleRow[];
  not_ranked: RuleRow[];
  own: string | null;
  recommended: string | null;
  /** Why no rule is recommended. */
  not_recommended: string;
  honest: { grade: number; cost_usd: number; times: number; of: number } | null;
  ideal: Record<string, { grade: number | null; cost_usd: number | null; iterations: number | null }>;
  /** Null where an iteration has no grade. */
  curve: Record<string, (number | null)[]>;
  bands: Record<string, [low: number, high: number][]>;
  words: string[];
  use: string[];
}

type Wrong = [count: number, of: number, interval: [low: number, high: number]];

export interface JudgeReport {
  question: string;
  results: number;
  cases: number;
  accuracy: Span;
  usual: number;
  usual_label: boolean;
  kappa: Span | null;
  words: string;
  wrong_yes: Wrong;
  wrong_no: Wrong;
  unclear: number;
  not_unanimous: number | null;
  votes: Record<string, [accuracy: number, calls: number]>;
  /** On how many results judge and label agree, and by how many votes each verdict is. */
  agreed: number;
  verdict_votes: number;
  /** The results that have most votes, whose votes are compared. */
  voted: { results: number; cases: number; votes: number; differing: number } | null;
  /** What the loop gives and costs: by votes, with its own rule, with a judge that is always right. */
  loop: Record<string, [grade: number | null, cost: number | null]>;
  /** Over so many runs. */
  loop_runs: number;
  disagreements: Disagreement[];
  /** Results that have no verdict or no label, and what to do about it. */
  notes: string[];
}

export interface Disagreement {
  case: string;
  run: string;
  iteration: number | null;
  verdict: boolean;
  label: boolean;
  words: string[];
}

export const gradeWords = (grade: number | null | undefined): string => (grade == null ? "–" : grade.toFixed(2));

/** What something costs; not known where a model has no price. */
export const costWords = (usd: number | null | undefined): string => (usd == null ? "not known" : words.dollars(usd));

export const percentWords = (share: number): string => `${Math.round(share * 100)} %`;

export const NOTHING_YET = "Nothing has run yet.";

/** `1 run`, `2 runs`. */
export const countWords = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** `0.02 to 0.10`; empty where there are too few cases for an interval. */
export function intervalWords(span: Span | null, format: (value: number) => string = gradeWords): string {
  return span?.low == null || span.high == null ? "" : `${format(span.low)} to ${format(span.high)}`;
}

/** ` (0.02 to 0.10)`; empty where there are too few cases for an interval. */
export function limitsWords(span: Span | null, format: (value: number) => string = gradeWords): string {
  const interval = intervalWords(span, format);
  return interval && ` (${interval})`;
}

/** How many trials of each variant have failed, and how that counts. */
export function failureWords(report: Report): string[] {
  const effect = report.on_failure === "zero" ? "graded 0" : "left out";
  return Object.values(report.variants).flatMap(({ name, failed, ended }) => {
    const count = Object.values(failed).reduce((sum, one) => sum + one, 0);
    return count > 0 ? [`${name}: ${count} of ${countWords(ended, "trial")} failed (${Object.keys(failed).join(", ")}): ${effect}`] : [];
  });
}

/** `+0.06 (0.02 to 0.10) better`. */
export function differenceWords({ difference, words: said, could_see, within_margin }: VariantReport): string {
  if (!difference || difference.value === null) return "";
  const signed = `${difference.value > 0 ? "+" : ""}${difference.value.toFixed(2)}`;
  const interval = intervalWords(difference);
  const could = could_see == null ? "" : `; ${could_see.toFixed(2)} would be seen`;
  const small = within_margin && ["better", "worse"].includes(said) ? ", within the margin" : "";
  return [signed, interval && `(${interval})`, said && `${said}${small}${could}`].filter(Boolean).join(" ");
}

export function perSolvedWords(span: Span | null): string {
  if (!span || span.value === null) return "none solved";
  const most = span.high == null ? "no upper limit" : words.dollars(span.high);
  return span.low == null ? words.dollars(span.value) : `${words.dollars(span.value)} (${words.dollars(span.low)} to ${most})`;
}

/** The rules that a person wants to see: the frontier, or where no cost is known the best one, their own, the recommended one; each once, by cost. */
export function shownRules(sweep: Sweep): RuleRow[] {
  const best = sweep.rules.some((row) => row.is_frontier) ? undefined : sweep.rules.reduce<RuleRow | undefined>((top, row) => ((row.grade ?? 0) > (top?.grade ?? -1) ? row : top), undefined);
  const wanted = (row: RuleRow) => row.is_frontier || row === best || row.rule === sweep.own || row.rule === sweep.recommended;
  const byName = new Map(sweep.rules.filter(wanted).map((row) => [row.rule, row]));
  return [...byName.values()].sort((one, other) => (one.cost_usd ?? 0) - (other.cost_usd ?? 0));
}
