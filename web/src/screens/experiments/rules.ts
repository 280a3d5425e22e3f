/** Changing a rule in an editor: which numbers it has, between which limits, and what may be added. Pure. */
import { leavesOf, type Condition, type Facts, type Leaf, type Rule } from "./answering";

/** The number of a condition that a person may move. */
export interface Dial {
  field: "at_least" | "threshold" | "patience" | "votes";
  label: string;
  min: number;
  max: number;
  step: number;
}

export const longestOf = (facts: Facts): number => Math.max(1, ...facts.runs.map((run) => run.iterations.at(-1)?.number ?? 0));

/** The rule that an editor begins with: that of the file, or, where its limit is computed, none. */
export const firstRule = (facts: Facts): Rule => facts.own ?? { until: null, at_most: longestOf(facts), return: "last" };

export function dialOf(facts: Facts, leaf: Leaf): Dial | null {
  switch (leaf.kind) {
    case "score": {
      const [min, max] = [leaf.low ?? lowest(facts, leaf), leaf.high ?? highest(facts, leaf)];
      return leaf.at_least == null ? null : { field: "at_least", label: "score at least", min, max, step: (max - min) / 100 };
    }
    case "stable":
      return { field: "threshold", label: "alike by", min: 0, max: 1, step: 0.01 };
    case "plateau":
      return { field: "patience", label: "no better score for", min: 1, max: longestOf(facts), step: 1 };
    case "judge":
      return { field: "votes", label: "votes", min: 1, max: Math.max(1, leaf.votes ?? 1, mostVotes(facts, leaf)), step: 1 };
    default:
      return null;
  }
}

const valuesOf = (facts: Facts, leaf: Leaf): number[] =>
  facts.runs.flatMap((run) => run.iterations.flatMap((row) => (typeof row.atoms[leaf.atom ?? ""] === "number" ? [row.atoms[leaf.atom ?? ""] as number] : [])));

const lowest = (facts: Facts, leaf: Leaf): number => valuesOf(facts, leaf).reduce((least, one) => Math.min(least, one), leaf.at_least ?? 0);

const highest = (facts: Facts, leaf: Leaf): number => valuesOf(facts, leaf).reduce((most, one) => Math.max(most, one), leaf.at_least ?? 1);

const mostVotes = (facts: Facts, leaf: Leaf): number =>
  facts.runs.reduce((most, run) => run.iterations.reduce((more, row) => Math.max(more, row.votes[leaf.atom ?? ""]?.length ?? 0), most), 1);

/** A condition with each part changed, or left out. */
export function mapLeaves(condition: Condition | null, change: (leaf: Leaf) => Leaf | null): Condition | null {
  if (condition === null) return null;
  const isAny = "any" in condition;
  if (!isAny && !("all" in condition)) return change(condition);
  const parts = (isAny ? condition.any : condition.all).flatMap((part) => mapLeaves(part, change) ?? []);
  if (parts.length === 0) return null;
  return isAny ? { any: parts } : { all: parts };
}

export const withNumber = (rule: Rule, leaf: Leaf, dial: Dial, value: number): Rule => ({
  ...rule,
  until: mapLeaves(rule.until, (one) => (one === leaf ? { ...one, [dial.field]: Number(value.toFixed(4)) } : one)),
});

/** The rule without a condition. A score stays as what ranks iterations. */
export const without = (rule: Rule, leaf: Leaf): Rule => ({
  ...rule,
  until: mapLeaves(rule.until, (one) => (one !== leaf ? one : one.kind === "score" ? { ...one, at_least: null } : null)),
});

/** What may be added to a rule: conditions of the file that it does not have, a threshold, a plateau. */
export function addable(facts: Facts, rule: Rule): Leaf[] {
  const has = leavesOf(rule.until);
  const known = leavesOf(facts.own?.until ?? null);
  const score = known.find((leaf) => leaf.kind === "score");
  const same = (one: Leaf, other: Leaf) => one.kind === other.kind && one.atom === other.atom && (one.kind !== "score" || other.at_least != null);
  const wanted = known.map((leaf) => (leaf.kind === "score" ? { ...leaf, at_least: leaf.at_least ?? middle(facts, leaf) } : leaf));
  if (score && !known.some((leaf) => leaf.kind === "plateau")) wanted.push({ kind: "plateau", words: "plateau 2", patience: 2, min_delta: 0 });
  return wanted.filter((leaf, index) => wanted.findIndex((one) => one.kind === leaf.kind && one.atom === leaf.atom) === index && !has.some((one) => same(leaf, one)));
}

const middle = (facts: Facts, leaf: Leaf): number => {
  const sorted = valuesOf(facts, leaf).toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0.5;
};

/** The rule with one condition more, of which any ends the loop. */
export function withLeaf(rule: Rule, leaf: Leaf): Rule {
  const kept = leaf.kind === "score" ? mapLeaves(rule.until, (one) => (one.kind === "score" && one.atom === leaf.atom ? null : one)) : rule.until;
  const others = kept === null ? [] : "any" in kept ? kept.any : [kept];
  // The score that comes first is the one that ranks.
  return { ...rule, until: { any: leaf.kind === "score" ? [leaf, ...others] : [...others, leaf] } };
}
