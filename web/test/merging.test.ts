/** Two versions of a file, and what is not known of costs. */
import { describe, expect, it } from "vitest";
import { clashes } from "../src/editor/state/merging";
import { plus, usageFrom, words } from "../src/journal";

describe("a line that two have changed", () => {
  const base = "a: 1\nb: 2\nc: 3\n";
  it("is named, and other lines are not", () => {
    expect(clashes(base, "a: 1\nb: mine\nc: 3\n", "a: 1\nb: theirs\nc: 3\n")).toEqual(["b: 2"]);
    expect(clashes(base, "a: mine\nb: 2\nc: 3\n", "a: 1\nb: 2\nc: theirs\n")).toEqual([]);
    expect(clashes(base, "a: 1\nb: same\nc: 3\n", "a: 1\nb: same\nc: 3\n")).toEqual([]);
    expect(clashes(base, `${base}d: mine\n`, `${base}e: theirs\n`)).toEqual([]);
  });
});

describe("a cost", () => {
  it("is not known without a price, and at least what is known beside one", () => {
    const free = usageFrom({ calls: 1, cost_usd: null });
    expect(words.cost(free)).toBe("not known");
    expect(words.cost(plus(free, usageFrom({ calls: 1, cost_usd: 0.25 })))).toBe("at least $0.25");
    expect(words.cost(usageFrom({ calls: 0, cost_usd: 0 }))).toBe("$0");
    expect(words.dollars(null)).toBe("not known");
  });
});
