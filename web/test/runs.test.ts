import { describe, expect, it } from "vitest";
import type { RunItem } from "../src/api";
import { exitWords, filtersFrom, fits, loopWords, merged, NO_FILTERS, steppedRow } from "../src/screens/runs/list";

function item(id: string, fields: Partial<RunItem> = {}): RunItem {
  return {
    id, name: "review", status: "running", dialect: "native", file: "flows/review.yaml", created_at: Number(id.slice(1)), updated_at: 0,
    parent: null, last_seq: 1, cost_usd: 0, budget_usd: null, calls: 0, tokens: 0, in_doubt: 0, loop: "refine", iteration: 2,
    iterations_max: 4, score: null, scores: [], target: null, exit_reason: null, stopped_by: null, mark: null, error: null,
    origin: "", due: null, held: null, ...fields,
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
    expect(exitWords(item("r1", done))).toBe("condition_met (score)");
    expect(exitWords(item("r1", { ...done, status: "waiting" }))).toBe("–");
    expect(exitWords(item("r1", { status: "failed", error: "'code' failed" }))).toBe("'code' failed");
  });
});
