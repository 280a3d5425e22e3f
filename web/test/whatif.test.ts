import { readFileSync } from "node:fs";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { answerAll, answerOf, isKnown, type Answer, type Facts, type Rule, type RunFacts } from "../src/screens/experiments/answering";
import { costWords, shownRules, type RuleRow, type Sweep } from "../src/screens/experiments/documents";
import { Frontier } from "../src/screens/experiments/Frontier";
import { addable, dialOf, withLeaf, withNumber, without } from "../src/screens/experiments/rules";

interface Asked {
  rule: Rule;
  words: string;
  answers: Answer[];
  grade: number | null;
  cost_usd: number | null;
  unknown: number;
}

/** Written and checked by `tests/experiments/test_vectors.py`. */
const VECTORS = JSON.parse(readFileSync(new URL("./vectors/what-if.json", import.meta.url), "utf8")) as { facts: Facts; asked: Asked[] }[];

const rounded = (answer: Answer): Answer => (isKnown(answer) ? { ...answer, cost_usd: Number(answer.cost_usd.toFixed(9)) } : answer);

describe("what another rule would have done", () => {
  it("is what Python answers, run by run", () => {
    let known = 0;
    for (const [program, { facts, asked }] of VECTORS.entries()) {
      for (const { rule, answers, words } of asked) {
        const found = facts.runs.map((run) => rounded(answerOf(facts, run, rule)));
        expect(found, `program ${program}: ${words}`).toEqual(answers);
        known += found.filter(isKnown).length;
      }
    }
    expect(known).toBeGreaterThan(200);
  });

  it("has the words, the grade and the cost over all runs that Python has", () => {
    for (const { facts, asked } of VECTORS) {
      for (const { rule, words, grade, cost_usd, unknown } of asked) {
        const found = answerAll(facts, rule);
        expect([found.words, found.unknown]).toEqual([words, unknown]);
        if (grade === null) expect([found.grade, found.cost_usd]).toEqual([null, null]);
        else expect(found.grade).toBeCloseTo(grade, 8);
        if (cost_usd !== null) expect(found.cost_usd).toBeCloseTo(cost_usd, 8);
      }
    }
  });

  it("costs what nobody knows where a run has no price", () => {
    const { facts, asked } = VECTORS.find((one) => one.asked.some(({ cost_usd }) => cost_usd !== null)) as (typeof VECTORS)[number];
    const [first, ...rest] = facts.runs;
    const unpriced = { ...facts, runs: [{ ...(first as RunFacts), is_priced: false }, ...rest] };
    for (const { rule, grade } of asked) {
      const found = answerAll(unpriced, rule);
      expect(found.cost_usd).toBeNull();
      if (grade !== null) expect(found.grade).toBeCloseTo(grade, 8);
    }
  });

  it("is the same over 1,000 runs as over each of them, and tells what that takes", () => {
    const { facts, asked } = VECTORS.find((one) => one.asked.every(({ unknown }) => unknown === 0)) as (typeof VECTORS)[number];
    const many = { ...facts, runs: Array.from({ length: 1_000 / facts.runs.length }, () => facts.runs).flat() };
    for (const { rule } of asked) answerAll(many, rule);
    const began = process.cpuUsage();
    const found = asked.map(({ rule }) => answerAll(many, rule));
    const used = process.cpuUsage(began).user / 1_000 / asked.length;
    console.info(`a rule over ${many.runs.length} runs: ${used.toFixed(1)} ms CPU (goal 16 ms)`);
    expect(found.map(({ cases }) => cases.length)).toEqual(asked.map(() => 1_000));
    for (const [index, { grade }] of asked.entries()) expect(found[index]?.grade).toBeCloseTo(grade ?? NaN, 8);
  });
});

const SCORE = { kind: "score" as const, atom: "a0", at_least: 0.9, low: 0, high: 1, words: "score 0.9" };
const JUDGE = { kind: "judge" as const, atom: "a1", votes: 3, words: "Is it good?" };
const FACTS: Facts = { loop: "polish", own: { until: { any: [SCORE, JUDGE] }, at_most: 5, return: "last" }, check: "after",
      on_limit: "finish",
      sees_best: false, failed_grade: null,
      on_failure: "halt", obstacle: "", obstacle_at_most: "", obstacle_until: "",
      obstacle_score: "", runs: [] };

describe("a rule that is edited", () => {
  const own = FACTS.own as Rule;

  it("has another threshold, and else stays", () => {
    const dial = dialOf(FACTS, SCORE);
    expect(dial).toMatchObject({ field: "at_least", min: 0, max: 1 });
    expect(withNumber(own, SCORE, dial as NonNullable<typeof dial>, 0.5).until).toEqual({ any: [{ ...SCORE, at_least: 0.5 }, JUDGE] });
  });

  it("loses a condition and gets it back; a score goes on ranking", () => {
    const ranked = without(own, SCORE);
    expect(ranked.until).toEqual({ any: [{ ...SCORE, at_least: null }, JUDGE] });
    expect(addable(FACTS, ranked).map((leaf) => leaf.kind)).toEqual(["score", "plateau"]);
    expect(withLeaf(ranked, SCORE).until).toEqual(own.until);
    expect(without(own, JUDGE).until).toEqual({ any: [SCORE] });
  });
});

describe("cost against grade", () => {
  it("shows rules that not all runs answer hollow, between their bounds, with the reason", () => {
    const row = (rule: string, more: Partial<RuleRow>): RuleRow => ({ rule, grade: 0.5, cost_usd: 1, iterations: 2, to_best: null, is_frontier: false, unknown: 0, why: "", asked: FACTS.own as Rule, ...more });
    const unknown = row("at_most 9", { grade: 0.9, unknown: 3, why: "would have gone on after iteration 5", bounds: [0.4, 0.8] });
    const sweep: Sweep = { loop: "polish", runs: 10, trials: 10, rules: [row("one", { is_frontier: true }), row("two", { cost_usd: 2, grade: 0.7 })], not_ranked: [unknown], own: "one", recommended: "one", not_recommended: "", honest: null, ideal: {}, curve: {}, bands: {}, words: [], use: [] };
    const shown = renderToStaticMarkup(createElement(Frontier, { sweep, asked: null, onChoose: () => undefined }));

    expect(shown).toContain("is-hollow");
    expect(shown).toContain("not known for 3 of 10 runs: would have gone on after iteration 5; grade 0.40 to 0.80 for at least");
    expect(shown).toContain("1 not known for all runs");
  });

  it("is no picture where no cost is known, and the best rule is listed beside the own one", () => {
    const row = (rule: string, grade: number): RuleRow => ({ rule, grade, cost_usd: null, iterations: 2, to_best: null, is_frontier: false, unknown: 0, why: "", asked: FACTS.own as Rule });
    const sweep: Sweep = { loop: "polish", runs: 10, trials: 10, rules: [row("one", 0.5), row("two", 0.7), row("three", 0.6)], not_ranked: [], own: "one", recommended: null, not_recommended: "", honest: null, ideal: {}, curve: {}, bands: {}, words: [], use: [] };
    const shown = renderToStaticMarkup(createElement(Frontier, { sweep, asked: null, onChoose: () => undefined }));

    expect(shown).toContain("the cost of these runs is not known");
    expect(shownRules(sweep).map(({ rule }) => rule)).toEqual(["one", "two"]);
    expect([costWords(null), costWords(0)]).toEqual(["not known", "$0"]);
  });
});
