import { expect, it } from "vitest";
import { pathOf, scopeOf, splitIteration } from "../src/journal/address";
import * as select from "../src/journal/select";
import { budget, dollars, paid, duration, factWords, outsideWords, score, tokens, verdictWords, visible } from "../src/journal/words";
import { journalOf } from "./recorded";

it("reads addresses", () => {
  expect(pathOf("a[1]/b[2]/c#3")).toBe("a/b/c");
  expect(scopeOf("a[1]/b[2]/group/c")).toBe("a[1]/b[2]");
  expect(scopeOf("group/c")).toBe("");
  expect(splitIteration("a[1]/b[12]#2")).toEqual({ loop: "a[1]/b", number: 12 });
  expect(splitIteration("a[1]/b")).toBeNull();
});

it("finds the nodes of an iteration, with and without the loops inside", () => {
  const journal = journalOf("nested");
  const names = (deep: boolean) =>
    select.nodesOfIteration(journal, "draft", 2, deep).map((node) => node.place);

  expect(names(false)).toEqual(["draft[2]/code", "draft[2]/judge_it"]);
  expect(names(true)).toContain("draft[2]/fix[2]/check");
  expect(select.nodesOfIteration(journal, "draft[2]/fix", 1).map((node) => node.name)).toEqual(["repair", "check"]);
  expect(select.nodesIn(journal, "").map((node) => node.name)).toEqual(["plan", "finish"]);
});

it("finds the judge of an iteration", () => {
  const [judge] = select.judgesOf(journalOf("developer"), "develop", 1);

  expect(judge?.attempts[0]?.value).toMatchObject({ answer: "NO" });
});

it("estimates the next iteration by the median and says how many the budget allows", () => {
  const journal = journalOf("polish");
  const loop = journal.loops.get("polish")!;

  expect(select.scoresOf(loop)).toEqual([0.42, 0.81, 0.93]);
  expect(select.estimateNext(loop)).toMatchObject({ cost_usd: 0.0102, tokens: 114 });
  expect(select.iterationsLeft(journal, loop)).toBe(46);
  expect(select.median([])).toBe(0);
  expect(select.median([3, 1, 2, 10])).toBe(2.5);
});

it("points a path at the chosen iteration, or at the newest", () => {
  const journal = journalOf("nested");

  expect(select.addressOf(journal, "draft/fix/check")).toBe("draft[4]/fix[2]/check");
  expect(select.addressOf(journal, "draft/fix/check", { draft: 2, "draft[2]/fix": 1 })).toBe("draft[2]/fix[1]/check");
  expect(select.addressOf(journal, "draft/fix", { draft: 3 })).toBe("draft[3]/fix");
});

it("sums a node up over all iterations", () => {
  expect(select.tally(journalOf("nested"), "draft/fix/check")).toMatchObject({ total: 8, counts: { succeeded: 8 } });
  expect(select.outerLoops(journalOf("nested")).map((loop) => loop.address)).toEqual(["draft"]);
  expect(select.loopsIn(journalOf("nested"), "draft[3]").map((loop) => loop.address)).toEqual(["draft[3]/fix"]);
});

it("knows which gates are open", () => {
  expect(select.openGates(journalOf("waiting")).map((gate) => gate.address)).toEqual(["work[1]/:ask"]);
  expect(select.openGates(journalOf("approved"))).toEqual([]);
});

it("says verdicts, durations and figures in words", () => {
  const [first, , last] = journalOf("polish").loops.get("polish")?.iterations ?? [];

  expect(verdictWords(first!)).toBe("review.approved is false; score 0.42 < 0.90; 0 without a better score");
  expect(verdictWords(last!)).toBe("review.approved is true; score 0.93 ≥ 0.90");
  expect([0.42, 38, 152, 11_100].map(duration)).toEqual(["0.4s", "38s", "2m 32s", "3h 5m"]);
  expect([999, 8_200].map(tokens)).toEqual(["999", "8.2k"]);
  expect(visible("a\u001b[31m\u202eb\n")).toBe("a\ufffd[31m\ufffdb\n");
});

it("shows scores with as many digits as tell them apart", () => {
  expect([0.5, 0.899, 0.9975, 1 / 3].map((number) => score(number))).toEqual(["0.50", "0.899", "0.9975", "0.3333"]);
  expect(score(0.99996, 1)).toBe("0.99996");
  expect(score(1, 0.99996)).toBe("1.00");
  expect(score(0.9, 0.9)).toBe("0.90");
  expect(factWords({ by: "score", met: false, score: 0.899, at_least: 0.9 })).toBe("score 0.899 < 0.90");
  expect(factWords({ by: "score", met: false, score: 0.899999, at_least: 0.9 })).toBe("score 0.899999 < 0.90");
  expect(factWords({ by: "stable", met: false, similarity: 0.9499 })).toBe("94.99% alike");
});

it("shows no cost as nothing, and no budget rounded", () => {
  expect([0, 0.47123, 0.0225, 0.004, 0.00004, 1e-9].map((amount) => dollars(amount))).toEqual(["$0", "$0.47", "$0.0225", "$0.004", "$0.00004", "<$0.000001"]);
  expect(dollars(0.1996, 0.2)).toBe("$0.1996");
  expect([paid(1.625, 1.5), paid(0.5, 0.5), paid(0.25, 0), paid(null, 0)]).toEqual(["$0.13 + $1.50 reserved", "$0.50 reserved", "$0.25", "not known"]);
  for (const amount of [0.02985, 0.029849999999999998, 0.029850000000000005]) expect(dollars(amount)).toBe("$0.0299");
  expect([0.125, 0.0975].map((amount) => dollars(amount))).toEqual(["$0.13", "$0.10"]);
  expect([2, 0.185, 0.003, 0.000045].map(budget)).toEqual(["$2.00", "$0.185", "$0.003", "$0.000045"]);
  for (let amount = 1e-9; amount < 10; amount *= 1.7) expect(dollars(amount)).toMatch(/[1-9]/);
});

it("says a score outside its range as what it is", () => {
  const [first] = journalOf("polish").loops.get("polish")?.iterations ?? [];
  const outside = { score: 9, low: 0, high: 1 };
  const facts = [{ by: "score", met: null, score: null, at_least: 0.9 }, { by: "plateau", met: false, stale: 1 }];

  expect(outsideWords(outside)).toBe("9 outside 0–1");
  expect(verdictWords({ ...first!, met: false, score: null, outside, facts })).toBe("9 outside 0–1; 1 without a better score");
});
