import { renderToStaticMarkup as html } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Chips, chipsOf, Diff, folded, Gantt, levelOf, linesOf, lookOf, Meter, ScoreCurve, sides, Sparkline, StatusBadge, timelineOf, VirtualTable, type Span } from "../src/charts";
import { pointsOf, sample } from "../src/charts/sampling";
import { windowOf } from "../src/charts/VirtualTable";
import type { Journal } from "../src/journal";
import { dollars } from "../src/journal/words";
import { spansAround } from "../src/screens/run/spans";
import { journalOf, longRun, reduced } from "./recorded";

const nothing = () => undefined;

function spansOfDraft(journal: Journal): Span[] {
  const loop = journal.loops.get("draft");
  return loop ? spansAround(journal, loop, loop.number) : [];
}

describe("sampling", () => {
  it("keeps first, last and every extreme of a long curve", () => {
    const scores = Array.from({ length: 5_000 }, (_, index) => (index === 2_345 ? 9 : index % 7));
    const kept = sample(pointsOf(scores), 200);

    expect(kept.length).toBeLessThanOrEqual(200);
    expect(kept[0]?.number).toBe(1);
    expect(kept.at(-1)?.number).toBe(5_000);
    expect(kept.map((point) => point.score)).toContain(9);
    expect(kept).toEqual(kept.toSorted((one, other) => one.number - other.number));
  });
});

describe("ScoreCurve", () => {
  it("shows the target, a star at the best and values", () => {
    const shown = html(<ScoreCurve scores={[0.41, 0.63, null, 0.58]} target={0.85} best={2} chosen={4} />);

    expect(shown).toContain("target 0.85");
    expect(shown).toContain("★");
    expect(shown.match(/data-iteration/g)).toHaveLength(3);
    expect(shown).toContain("best 0.63 in iteration 2");
    expect(shown).toContain('class="ring"');
  });

  it("draws at most about 200 points and always the best", () => {
    const scores = Array.from({ length: 3_000 }, (_, index) => Math.sin(index) / 2 + 0.5);
    const shown = html(<ScoreCurve scores={scores} best={1_234} />);

    expect(shown.match(/data-iteration/g)?.length).toBeLessThanOrEqual(202);
    expect(shown).toContain('data-iteration="1234"');
  });

  it("marks the iteration that was returned", () => {
    const shown = html(<ScoreCurve scores={[0.41, 0.63, 0.58]} best={2} returned={3} />);

    expect(shown.match(/★/g)).toHaveLength(1);
    expect(shown.match(/↩/g)).toHaveLength(1);
    expect(shown).toContain("iteration 3: 0.58 (returned)");
    expect(shown).toContain("iteration 3 returned");
  });

  it("marks scores outside their range at the edge, and draws no point for them", () => {
    const shown = html(<ScoreCurve scores={[0.41, null, 0.58]} outside={[{ number: 2, score: 9, low: 0, high: 1 }]} onChoose={nothing} />);

    expect(shown).toContain("iteration 2: 9 outside 0–1");
    expect(shown).toContain("▲ 9");
    expect(shown.match(/data-iteration/g)).toHaveLength(2);
    expect(shown).not.toContain('data-iteration="2"');
    expect(html(<ScoreCurve scores={[null]} outside={[{ number: 1, score: -3, low: 0, high: 1 }]} />)).toContain("▼ -3");
  });

  it("tells a miss from a hit by as many digits as it takes", () => {
    const shown = html(<ScoreCurve scores={[0.994, 0.9975]} target={0.999} best={2} />);

    expect(shown).toContain("target 0.999");
    expect(shown).toContain("best 0.9975 in iteration 2");
  });

  it("says so when there is nothing to draw", () => {
    expect(html(<ScoreCurve scores={[null]} />)).toContain("This loop has no scores");
    expect(html(<ScoreCurve scores={[0.5]} />)).not.toContain("NaN");
  });

  it("draws scores and grades between 0 and 1, also where all of them are the same", () => {
    for (const scores of [[1, 1, 1], [0, 0]]) {
      const shown = html(<ScoreCurve scores={scores} />);
      expect(shown).not.toContain("1.5");
      expect(shown).not.toContain("-0.5");
    }
    expect(html(<ScoreCurve scores={[7, 7]} />)).toContain("7.5");
  });
});

it("Sparkline is one line with words for who cannot see it", () => {
  expect(html(<Sparkline scores={[0.1, 0.5]} target={0.9} />)).toContain('aria-label="scores 0.10, 0.50, target 0.90"');
  expect(html(<Sparkline scores={[]} />)).toContain("–");
  expect(html(<Sparkline scores={[1]} />)).not.toContain("NaN");
});

it("Meter warns at 80 % and at the limit, in words too", () => {
  expect([0.5, 0.8, 1, 2].map((value) => levelOf(value, 1))).toEqual(["plain", "near", "over", "over"]);
  expect(html(<Meter label="cost" value={0.9} max={1} format={dollars} />)).toContain("near its limit");
  expect(html(<Meter label="cost" value={0.9} max={null} format={dollars} />)).toContain("$0.90");
});

it("StatusBadge has a glyph and a word for every status", () => {
  const all = ["running", "retrying", "waiting", "paused", "interrupted", "in_doubt", "succeeded", "failed", "timed_out", "cut", "cancelled", "skipped"];
  for (const status of all) {
    expect(lookOf(status).glyph).not.toBe("○");
    expect(html(<StatusBadge status={status} compact />)).toContain(lookOf(status).word);
  }
});

it("StatusBadge shows no plain success where a limit or the budget ended it", () => {
  for (const mark of ["limit", "budget"] as const) {
    const shown = html(<StatusBadge status="succeeded" mark={mark} />);

    expect(shown).toContain("tone-wait");
    expect(shown).toContain(`</span> ${mark}`);
    expect(shown).toContain("before its condition was met");
    expect(shown).not.toContain("✓");
    expect(html(<StatusBadge status="failed" mark={mark} />)).toContain("✗");
  }
  expect(html(<StatusBadge status="succeeded" mark={null} />)).toContain("✓");
});

describe("Chips", () => {
  const loop = journalOf("nested").loops.get("draft")!;

  it("name score, best and what is chosen", () => {
    const shown = html(<Chips iterations={loop.iterations} best={loop.best} chosen={2} limit={6} onChoose={nothing} />);

    expect(shown).toContain("iteration 4, succeeded, score 0.82, best");
    expect(shown.match(/★/g)).toHaveLength(1);
    expect(shown).not.toContain("↩");
    expect(shown.match(/aria-pressed="true"/g)).toHaveLength(1);
    expect(shown.match(/chip-left/g)).toHaveLength(2);
  });

  it("mark the iteration that was returned, once", () => {
    const shown = html(<Chips iterations={loop.iterations} best={4} returned={2} chosen={2} onChoose={nothing} />);

    expect(shown).toContain("iteration 2, succeeded, score 0.63, returned");
    expect(shown.match(/↩/g)).toHaveLength(1);
  });

  it("say that a score lies outside its range", () => {
    const iterations = loop.iterations.map((one) => (one.number === 3 ? { ...one, score: null, outside: { score: 9, low: 0, high: 1 } } : one));

    expect(html(<Chips iterations={iterations} best={4} chosen={2} onChoose={nothing} />)).toContain("iteration 3, succeeded, score 9 outside 0–1");
  });

  it("become buckets above 200, none of which hides the best or a failure", () => {
    const long = reduced(longRun(1_000)).loops.get("polish")!;
    const iterations = long.iterations.map((one) => (one.number === 500 ? { ...one, status: "failed" as const } : one));
    const chips = chipsOf(iterations, { best: 1_000, returned: 7 });

    expect(chips).toHaveLength(200);
    expect(chips[0]).toMatchObject({ from: 1, to: 5 });
    expect(chips.filter((chip) => chip.hasBest)).toMatchObject([{ to: 1_000 }]);
    expect(chips.filter((chip) => chip.hasReturned)).toMatchObject([{ from: 6, to: 10 }]);
    expect(chips.filter((chip) => chip.status === "failed")).toMatchObject([{ from: 496, to: 500 }]);
  });
});

describe("the timeline", () => {
  const span = (row: string, column: string, start: number, end: number | null): Span => ({ row, column, start, end, status: "succeeded", address: `${row}${column}`, label: row });

  it("cuts long idle gaps short and says how long they were", () => {
    const spans = [span("a", "#1", 0, 10), span("b", "#1", 10, 20), span("a", "#2", 7_220, 7_230)];
    const { rows, columns, bars, gaps } = timelineOf(spans, { width: 300, now: 7_230 });

    expect(rows).toEqual(["a", "b"]);
    expect(columns.map((column) => column.name)).toEqual(["#1", "#2"]);
    expect(gaps).toMatchObject([{ seconds: 7_200 }]);
    expect(bars[2]!.width).toBeCloseTo(bars[0]!.width);
    expect(bars[2]!.x + bars[2]!.width).toBeCloseTo(300);
    expect(bars[1]!.x).toBeCloseTo(bars[0]!.width);
  });

  it("puts what runs at once under each other, and says when it was", () => {
    const spans = [span("a", "#1", 0, 4), span("a", "#2", 0, 2), span("a", "#3", 2, 3), span("b", "#1", 4, 10)];
    const { lanes, bars, ticks } = timelineOf(spans, { width: 300, now: 10 });

    expect(bars.map((bar) => bar.lane)).toEqual([0, 1, 1, 0]);
    expect(lanes).toEqual([2, 1]);
    expect(ticks.map((tick) => tick.seconds)).toEqual([0, 5, 10]);
  });

  it("draws what still runs up to now, and never outside", () => {
    const { bars } = timelineOf([span("a", "#1", 0, null)], { width: 100, now: 5 });

    expect(bars).toMatchObject([{ x: 0, width: 100, seconds: 5 }]);
    for (const bar of timelineOf(spansOfDraft(journalOf("nested")), { width: 400, now: 0 }).bars) {
      expect(bar.x + bar.width).toBeLessThanOrEqual(403);
    }
  });

  it("writes the times of gaps only where they do not lie on each other", () => {
    const spans = Array.from({ length: 20 }, (_, index) => span("a", `#${index}`, index * 11, index * 11 + 0.1));
    const shown = html(<Gantt spans={spans} now={220} width={390} onSelect={nothing} />);
    const places = [...shown.matchAll(/<g class="gap">.*?<\/g>/g)].map(([one]) => one);
    const words = places.flatMap((one) => /<text x="([\d.]+)"/.exec(one)?.[1] ?? []).map(Number);

    expect(places).toHaveLength(19);
    expect(words.length).toBeGreaterThan(1);
    expect(Math.min(...words.slice(1).map((x, index) => x - (words[index] ?? 0)))).toBeGreaterThan(5 * 6);
    for (const one of places) expect(one).toContain("nothing ran for 11s");
  });

  it("is drawn with a name for each bar", () => {
    const journal = journalOf("nested");
    const shown = html(<Gantt spans={spansOfDraft(journal)} now={journal.lastAt} onSelect={nothing} />);

    expect(shown).toContain('draft[1]/fix[2]/check: succeeded');
    expect(html(<Gantt spans={[]} now={0} />)).toContain("No step that takes time has run");
  });
});

describe("Diff", () => {
  const [before, after] = ["def parse(s):\n    return json.loads(s)\n", "def parse(s):\n    if not s: return None\n    return json.loads(s)\n"];

  it("finds added and removed lines with their numbers", () => {
    expect(linesOf(before, after).map((line) => [line.kind, line.before, line.after])).toEqual([["same", 1, 1], ["added", null, 2], ["same", 2, 3]]);
    expect(html(<Diff before={before} after={after} />)).toContain("if not s: return None");
    expect(html(<Diff before={before} after={before} />)).toContain("No difference");
  });

  it("marks the words that changed inside a line", () => {
    const [removed, added] = linesOf("the cat counts drops", "the dog counts drops");

    expect(removed?.pieces.filter((piece) => piece.isChanged)).toEqual([{ text: "cat", isChanged: true }]);
    expect(added?.pieces.filter((piece) => piece.isChanged)).toEqual([{ text: "dog", isChanged: true }]);
  });

  it("folds equal lines and stands side by side", () => {
    const long = Array.from({ length: 50 }, (_, index) => `line ${index}`);
    const rows = folded(linesOf(long.join("\n"), long.with(25, "other").join("\n")));

    expect(rows[0]).toEqual({ kind: "skipped", count: 22 });
    expect(sides(rows).filter(([left, right]) => left?.kind === "removed" && right?.kind === "added")).toHaveLength(1);
    expect(html(<Diff before={before} after={after} view="split" />)).toContain("diff-nothing");
  });

  it("gives up on texts that share nothing, instead of taking for ever", () => {
    const one = Array.from({ length: 20_000 }, (_, index) => `a${index}`).join("\n");
    const other = Array.from({ length: 20_000 }, (_, index) => `b${index}`).join("\n");

    expect(linesOf(one, other)).toHaveLength(40_000);
  });
});

it("VirtualTable draws only what is in view", () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => index);
  const shown = html(<VirtualTable label="numbers" rows={rows} rowKey={(row) => row} columns={[{ key: "n", head: "n", cell: (row) => row }]} />);

  expect(shown.match(/<tr/g)!.length).toBeLessThan(40);
  expect(shown).toContain('aria-rowcount="10001"');
  expect(windowOf(10_000, 30, 150_000, 300)).toEqual([4_992, 5_018]);
  expect(windowOf(3, 30, 900, 300)).toEqual([3, 3]);
});
