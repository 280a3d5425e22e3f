import { describe, expect, it } from "vitest";
import type { RunItem } from "../src/api";
import { dayStart, exitWords, filtersFrom, fits, hasFilters, loopWords, merged, NO_FILTERS, sortedBy, steppedRow, type Filters } from "../src/screens/runs/list";

function item(id: string, fields: Partial<RunItem> = {}): RunItem {
  return {
    id, name: "review", status: "running", dialect: "native", file: "flows/review.yaml", created_at: Number(id.slice(1)), updated_at: 0, seconds: 0, given: "",
    parent: null, last_seq: 1, cost_usd: 0, reserved_usd: 0, budget_usd: null, calls: 0, unpriced_calls: 0, tokens: 0, in_doubt: 0, labels: {}, loop: "refine", iteration: 2,
    iterations_max: 4, score: null, scores: [], target: null, exit_reason: null, stopped_by: null, mark: null, error: null,
    origin: "", due: null, waiting_for: null, ...fields,
  };
}

const changes = (...runs: RunItem[]) => new Map(runs.map((run) => [run.id, run]));

describe("the list of runs", () => {
  const pages = [item("r3"), item("r2"), item("r1")];

  it("takes changes in, newest first", () => {
    const shown = merged(pages, changes(item("r4"), item("r2", { status: "succeeded", last_seq: 9 })), NO_FILTERS);

    expect(shown.map((run) => [run.id, run.status])).toEqual([["r4", "running"], ["r3", "running"], ["r2", "succeeded"], ["r1", "running"]]);
  });

  it("is not taken back by a change that is older than the page", () => {
    const known = [item("r1", { status: "succeeded", last_seq: 9 })];

    expect(merged(known, changes(item("r1", { last_seq: 3 })), NO_FILTERS)[0]?.status).toBe("succeeded");
  });

  it("drops what no longer fits its filters, and what never did", () => {
    const running = { ...NO_FILTERS, status: "running" };
    const shown = merged(pages, changes(item("r2", { status: "failed", last_seq: 5 }), item("r5", { status: "failed" })), running);

    expect(shown.map((run) => run.id)).toEqual(["r3", "r1"]);
  });

  it("is searched by id, name and file", () => {
    const filters = filtersFrom({ search: "FLOWS/", status: "", other: "x" });

    expect(fits(item("r1"), filters)).toBe(true);
    expect(fits(item("r1"), { ...filters, search: "nothing" })).toBe(false);
    expect(fits(item("r1"), { ...NO_FILTERS, workflow: "other" })).toBe(false);
  });

  it("is searched by inputs, days and cost", () => {
    const day = dayStart("2026-01-31") ?? 0;
    const run = item("r1", { given: "about Bees", created_at: day + 10, cost_usd: 0.5 });

    expect(fits(run, { ...NO_FILTERS, search: "bees" })).toBe(true);
    expect(fits(run, { ...NO_FILTERS, since: "2026-01-31", until: "2026-01-31" })).toBe(true);
    expect(fits(run, { ...NO_FILTERS, since: "2026-02-01" })).toBe(false);
    expect(fits(run, { ...NO_FILTERS, until: "2026-01-30" })).toBe(false);
    expect(fits(run, { ...NO_FILTERS, cost: "0.6" })).toBe(false);
    expect(hasFilters({ ...NO_FILTERS, sort: "cost", reverse: "1" })).toBe(false);
  });

  it("is sorted by a column, and the other way round", () => {
    const runs = [item("r1", { cost_usd: 3, score: null }), item("r2", { cost_usd: 1, score: 0.4 }), item("r3", { cost_usd: 2, score: 0.9 })];
    const order = (filters: Partial<Filters>) => merged(runs, new Map(), { ...NO_FILTERS, ...filters }).map((run) => run.id);

    expect(order({ sort: "cost" })).toEqual(["r1", "r3", "r2"]);
    expect(order({ sort: "cost", reverse: "1" })).toEqual(["r2", "r3", "r1"]);
    expect(order({ sort: "score" })).toEqual(["r3", "r2", "r1"]);
    expect(sortedBy({ ...NO_FILTERS, sort: "cost" }, "cost")).toMatchObject({ sort: "cost", reverse: "1" });
    expect(sortedBy({ ...NO_FILTERS, sort: "cost", reverse: "1" }, "started")).toMatchObject({ sort: "", reverse: "" });
  });

  it("is walked with keys, and stops at its ends", () => {
    expect(steppedRow(pages, null, 1)).toBe("r3");
    expect(steppedRow(pages, "r3", 1)).toBe("r2");
    expect(steppedRow(pages, "r3", -1)).toBe("r3");
    expect(steppedRow(pages, "r1", 5)).toBe("r1");
    expect(steppedRow([], null, 1)).toBeNull();
  });

  it("says how far a run is and why it ended", () => {
    expect(loopWords(item("r1"))).toBe("2/4");
    expect(loopWords(item("r1", { loop: null }))).toBe("–");
    const done = { status: "succeeded", exit_reason: "condition_met", stopped_by: "score" } as const;
    expect(exitWords(item("r1", done))).toBe("score reached");
    expect(exitWords(item("r1", { ...done, status: "waiting" }))).toBe("–");
    expect(exitWords(item("r1", { status: "waiting", due: 160 }), 100)).toBe("continues in 1m");
    expect(exitWords(item("r1", { status: "interrupted", waiting_for: { reason: "W908 not trusted" } }))).toBe("W908 not trusted");
    expect(exitWords(item("r1", { waiting_for: { reason: "waits for its turn, as number 2" }, position: 2 }))).toBe("waits for its turn, as number 2");
    expect(exitWords(item("r1", { status: "failed", error: "'code' failed" }))).toBe("'code' failed");
  });
});
