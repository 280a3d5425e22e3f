import { describe, expect, it } from "vitest";
import type { Graph, GraphNode, RecordItem } from "../src/api";
import { chooseIteration, createRunStore, followLatest, statusOf } from "../src/app/run";
import { sizeWords } from "../src/app/Value";
import { canvasStates, layoutOf, loopChips } from "../src/graph";
import { changesUntil, emptyJournal, endCounts, NO_RECORDS, noteItems, placesWanted, reduce, reviewOf, siblingsOf, type Iteration, type Journal, type JournalEvent, type Records } from "../src/journal";
import { returnedWords } from "../src/screens/run/Banners";
import { gainOf, gainWords, loopLookedAt, neighbour, numberLookedAt, otherToReturn, readingOrder, stepped } from "../src/screens/run/focus";
import { queryOf, showQuery } from "../src/screens/run/address";
import { spansAround, spansOfRun } from "../src/screens/run/spans";
import { tabFrom } from "../src/screens/run/Tabs";
import { meaningOf, placeOn, shownNumbers, unrolled } from "../src/screens/run/unrolled";
import { journalOf, longRun, reduced } from "./recorded";

function node(path: string, kind: GraphNode["kind"], fields: Partial<GraphNode> = {}): GraphNode {
  const parent = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { path, name, kind, title: name, detail: "", task: null, model: null, parent, case: null, when: null, loop: null, ...fields };
}

const order = (from: string, to: string) => ({ from, to, label: "", kind: "order" as const });

type Told = [kind: string, address: string, body?: JournalEvent["body"]];

function journalFrom(...told: Told[]): Journal {
  const journal = emptyJournal();
  told.forEach(([kind, address, body], index) => reduce(journal, { seq: index + 1, kind, address, at: 1_000 + index, body: body ?? {} }));
  return journal;
}

function record(address: string, fields: Partial<RecordItem> = {}): RecordItem {
  const usage = { calls: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0, in_doubt: 0, unpriced_calls: 0, model_calls: null };
  return {
    address, path: address, name: address, kind: "compute", status: "succeeded", started_at: 1, ended_at: 1, seconds: 0, inputs: null, output: null, error: null,
    usage, reason: null, because: {}, why: "", branch: null, number: null, repetitions: null, attempts: [], ...fields,
  };
}

const recorded = (...all: RecordItem[]): Records => new Map(all.map((one) => [one.address, one]));
const statuses = (journal: Journal, graph: Graph, records = NO_RECORDS) => Object.fromEntries([...canvasStates(journal, graph, {}, records)].map(([path, state]) => [path, state.status]));

describe("what says nothing of itself", () => {
  const graph: Graph = {
    name: "g",
    dialect: "native",
    nodes: [node("size", "compute"), node("first", "task"), node("pause", "wait"), node("last", "task")],
    edges: [order("size", "first"), order("first", "pause"), order("pause", "last")],
  };

  it("is drawn as its record says, and not before there is one", () => {
    const begun = journalFrom(["run.started", ""], ["task.started", "first", { kind: "ask" }]);
    const records = recorded(record("size"), record("first"), record("last", { status: "skipped", why: "its condition is not true" }));

    expect(statuses(begun, graph)).toEqual({ size: "idle", first: "running", pause: "idle", last: "idle" });
    expect(statuses(begun, graph, records)).toEqual({ size: "succeeded", first: "running", pause: "idle", last: "skipped" });
    expect(canvasStates(begun, graph, {}, records).get("last")?.note).toBe("its condition is not true");
  });

  it("has failed where a task failed before it began", () => {
    const failed = journalFrom(["run.started", ""], ["task.failed", "first", { error: { code: "R104", message: "division by zero" } }], ["run.finished", "", { status: "failed" }]);

    expect(statuses(failed, graph)["first"]).toBe("failed");
    expect(failed.nodes.get("first")?.attempts[0]?.error?.code).toBe("R104");
  });

  it("says which case a branch took", () => {
    const branch: Graph = {
      name: "g",
      dialect: "native",
      nodes: [node("pick", "branch"), node("pick/small", "task", { case: "small" }), node("pick/large", "task", { case: "large" })],
      edges: [],
    };
    const running = journalFrom(["run.started", ""], ["task.started", "pick/small", {}]);
    const records = recorded(record("pick", { kind: "branch", branch: "small" }), record("pick/large", { status: "skipped", reason: "branch" }));

    expect(statuses(running, branch)["pick"]).toBe("running");
    expect(canvasStates(running, branch, {}, records).get("pick")?.note).toBe("case small");
    expect(statuses(running, branch, records)).toMatchObject({ "pick/small": "running", "pick/large": "skipped" });
  });

  it("has items that no event tells of", () => {
    const list: Graph = { name: "g", dialect: "native", nodes: [node("each", "foreach"), node("each/size", "compute")], edges: [] };
    const journal = journalFrom(["run.started", ""]);
    const records = recorded(record("each", { kind: "foreach", repetitions: 2 }), record("each[1]", { kind: "item", number: 1 }), record("each[2]", { kind: "item", number: 2, status: "failed" }), record("each[2]/size", { status: "failed" }));

    expect(noteItems(journal, records.values())).toBe(true);
    expect(noteItems(journal, records.values())).toBe(false);
    expect(loopChips(journal, list, {}, records).get("each")?.iterations.map((one) => one.status)).toEqual(["succeeded", "failed"]);
    expect(statuses(journal, list, records)).toEqual({ each: "succeeded", "each/size": "failed" });
    expect(placesWanted(journal, ["each", "each/size"], { each: 1 })).toEqual(["", "each[*]", "each[1]"]);
  });

  it("tells of lists by their items", () => {
    const list: Graph = { name: "g", dialect: "native", nodes: [node("each", "foreach"), node("each/write", "task")], edges: [] };
    const journal = journalFrom(["run.started", ""], ["task.started", "each[1]/write", {}], ["task.finished", "each[1]/write", {}], ["task.started", "each[2]/write", {}]);

    expect(statuses(journal, list)["each"]).toBe("running");
    expect(loopChips(journal, list, {}).get("each")?.iterations.map((one) => [one.number, one.status])).toEqual([[1, "succeeded"], [2, "running"]]);
  });
});

describe("what is looked at", () => {
  const journal = journalOf("nested");
  const outer = journal.loops.get("draft");
  if (!outer) throw new Error("the journal has no loop");

  it("is the outermost loop, or one that is chosen, at its place", () => {
    expect(loopLookedAt(journal, "", {})?.address).toBe("draft");
    expect(loopLookedAt(journal, "draft/fix", { draft: 2 })?.address).toBe("draft[2]/fix");
    expect(loopLookedAt(emptyJournal(), "", {})).toBeUndefined();
  });

  it("moves by iterations, within those that there are", () => {
    expect(numberLookedAt(outer, {})).toBe(4);
    expect(stepped(outer, {}, -1)).toBe(3);
    expect(stepped(outer, {}, 1)).toBeNull();
    expect(stepped(outer, { draft: 1 }, -1)).toBeNull();
  });

  it("keeps the iterations around an inner one", () => {
    const store = createRunStore("r", journal);
    chooseIteration(store, "draft[2]/fix", 1);

    expect(store.getState()).toMatchObject({ chosen: { draft: 2, "draft[2]/fix": 1 }, loop: "draft/fix", isFollowing: false });
    followLatest(store);
    expect(store.getState().chosen).toEqual({});
  });

  it("walks through the nodes", () => {
    const graph: Graph = { name: "g", dialect: "", nodes: [node("a", "task"), node("b", "loop"), node("b/c", "task"), node("d", "task")], edges: [] };

    expect(readingOrder(graph)).toEqual(["a", "b/c", "d"]);
    expect(neighbour(["a", "b"], "", 1)).toBe("a");
    expect(neighbour(["a", "b"], "b", 1)).toBe("b");
  });

  it("knows the gain, and what else could be returned", () => {
    const gains = outer.iterations.map((one) => gainWords(gainOf(outer, one)));

    expect(gains).toEqual(["", "+0.22", "−0.05", "+0.24"]);
    expect(otherToReturn({ ...outer, returned: 4, best: 4 }, {})).toBeNull();
    expect(otherToReturn({ ...outer, returned: 2, best: 2 }, {})).toBe(4);
    expect(otherToReturn({ ...outer, returned: 4, best: 4 }, { draft: 2 })).toBe(2);
    expect(returnedWords({ ...outer, returned: 2, best: 2 })).toBe("returned #2, the best (0.63), not the last");
    expect(returnedWords({ ...outer, returned: null, number: 0 })).toBe("no iteration began");
    expect(returnedWords({ ...outer, returned: 2, best: null, number: 2, explored: 4 })).toBe("returned #2 (0.63); #3 to #4 were explored after its end");
    expect(returnedWords({ ...outer, returned: 2, best: null, number: 2, explored: 3 })).toMatch(/#3 was explored after its end$/);
  });

  it("is interrupted only as long as nothing has happened since", () => {
    const store = createRunStore("r", journalFrom(["run.started", ""]));
    store.setState({ told: { status: "interrupted", lastSeq: 1 } });
    expect(statusOf(store.getState())).toBe("interrupted");
    reduce(store.getState().journal, { seq: 2, kind: "run.resumed", address: "", at: 2_000, body: {} });
    expect(statusOf(store.getState())).toBe("running");
  });
});

describe("the unrolled graph", () => {
  const graph: Graph = {
    name: "g",
    dialect: "native",
    nodes: [node("a", "task"), node("b", "loop", { loop: { until: "", target: null, limits: {}, on_limit: "finish", carry: [], returns: "last", ask: "never" } }), node("b/c", "task"), node("b/d", "task")],
    edges: [order("a", "b"), order("b/c", "b/d"), { from: "b/d", to: "b/c", label: "notes", kind: "feedback" }],
  };

  it("has a box for each iteration, joined by what is fed back", () => {
    const wide = unrolled(graph, "b", [2, 3]);

    expect(wide.nodes.map((one) => [one.path, one.parent])).toEqual([["a", ""], ["b", ""], ["b[2]", "b"], ["b[2]/c", "b[2]"], ["b[2]/d", "b[2]"], ["b[3]", "b"], ["b[3]/c", "b[3]"], ["b[3]/d", "b[3]"]]);
    expect(wide.edges.map((edge) => `${edge.from}>${edge.to} ${edge.label}`)).toEqual(["a>b ", "b[2]/c>b[2]/d ", "b[3]/c>b[3]/d ", "b[2]>b[3] notes"]);
  });

  it("stands under each other, so that it can be read", () => {
    const boxes = layoutOf(unrolled(graph, "b", [1, 2])).nodes.filter((placed) => placed.parent === "b");

    expect(boxes[0]?.x).toBe(boxes[1]?.x);
    expect(boxes[1]?.y).toBeGreaterThan((boxes[0]?.y ?? 0) + (boxes[0]?.height ?? 0));
  });

  it("shows those around the one that is looked at", () => {
    const loop = { iterations: [{ number: 1 }], number: 100 } as never;

    expect(shownNumbers(loop, 50)).toEqual([47, 48, 49, 50, 51, 52]);
    expect(shownNumbers(loop, 100)).toEqual([95, 96, 97, 98, 99, 100]);
    expect(shownNumbers(loop, 1)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("means nodes of the workflow", () => {
    expect(meaningOf("b[3]/c", "b")).toEqual({ path: "b/c", number: 3 });
    expect(meaningOf("a", "b")).toEqual({ path: "a", number: null });
    expect(placeOn("b/c", "b", 3)).toBe("b[3]/c");
    expect(placeOn("a", "b", 3)).toBe("a");
  });
});

describe("timelines", () => {
  it("stay small however long the run is", () => {
    const journal = reduced(longRun(1_000));
    const loop = journal.loops.get("polish");
    if (!loop) throw new Error("the journal has no loop");
    const around = spansAround(journal, loop, 500);

    expect(new Set(around.map((span) => span.column)).size).toBe(24);
    expect(around.some((span) => span.column === "#500")).toBe(true);
    expect(spansOfRun(journal, loop, 1_000).length).toBeLessThanOrEqual(600);
  });

  it("show iterations where steps only compute", () => {
    const journal = journalFrom(["run.started", ""], ["loop.started", "turns", { limits: {} }], ["iteration.started", "turns[1]", { number: 1 }], ["iteration.finished", "turns[1]", { status: "succeeded" }]);
    const loop = journal.loops.get("turns");

    expect(loop && spansAround(journal, loop, 1).map((span) => [span.row, span.address, span.status])).toEqual([["turns", "turns[1]", "succeeded"]]);
  });
});

it("takes only tabs that there are", () => {
  expect([tabFrom("journal"), tabFrom("x"), tabFrom(undefined)]).toEqual(["journal", "graph", "graph"]);
});

it("says sizes", () => {
  expect([sizeWords(10), sizeWords(30_000), sizeWords(2_500_000)]).toEqual(["10 B", "30.0 kB", "2.5 MB"]);
});

describe("records", () => {
  it("of what has ended are loaded once", () => {
    const journal = journalFrom(["run.started", ""], ["loop.started", "l"], ["iteration.started", "l[1]"], ["iteration.finished", "l[1]", { status: "succeeded" }], ["iteration.started", "l[2]"], ["task.started", "l[2]/a"]);

    expect(changesUntil(journal, "l[1]")).toBe(4);
    expect(changesUntil(journal, "l[1]/inner[*]")).toBe(4);
    expect(changesUntil(journal, "l[2]")).toBe(6);
    expect(changesUntil(journal, "")).toBe(6);
  });

  it("hold what reviewers said", () => {
    const iteration = (number: number, reason?: string) => ({ number, facts: reason ? [{ by: "judge", met: false, reason }] : [] }) as unknown as Iteration;
    const records = recorded(
      record("l[1]", { output: { code: "x", review: { score: 1, feedback: "from its results" } } }),
      record("l[2]", { inputs: { draft: "long", feedback: "fed back" }, output: { review: { feedback: "the last one's" } } }),
      record("l[4]", { inputs: { feedback: "fed back into it" } }),
    );

    expect(reviewOf(iteration(1), "l", records)).toBe("from its results");
    expect(reviewOf(iteration(2), "l", records)).toBe("the last one's");
    expect(reviewOf(iteration(2, "no test"), "l", records)).toBe("no test");
    expect(reviewOf(iteration(3), "l", records)).toBe("fed back into it");
    expect(reviewOf(iteration(4), "l", records)).toBe("");
  });
});

it("counts how the loops of a list ended", () => {
  const journal = journalFrom(
    ["run.started", ""],
    ["loop.started", "all[1]/l"], ["loop.finished", "all[1]/l", { exit_reason: "condition_met" }],
    ["loop.started", "all[2]/l"], ["loop.finished", "all[2]/l", { exit_reason: "budget" }],
    ["loop.started", "all[3]/l"],
  );

  expect(endCounts(siblingsOf(journal, "all/l"))).toBe("1 condition met, 1 budget, 1 running");
});

describe("the address of the page", () => {
  const view = () => createRunStore("r", journalOf("nested"));
  const shown = (query: Record<string, string>) => {
    const store = view();
    showQuery(store, query);
    return queryOf(store.getState());
  };

  it("is what is looked at, whichever way that came about", () => {
    for (const query of [
      { loop: "", iteration: "", node: "" },
      { loop: "draft/fix", iteration: "", node: "plan" },
      { loop: "draft[2]/fix", iteration: "1", node: "draft/code" },
      { loop: "draft", iteration: "3", node: "" },
    ]) expect(shown(query)).toEqual(query);
  });

  it("is read again, whatever was looked at before", () => {
    const store = view();
    showQuery(store, { loop: "draft", iteration: "2", node: "draft/code" });
    showQuery(store, { node: "plan" });

    expect(queryOf(store.getState())).toEqual({ loop: "", iteration: "", node: "plan" });
    expect(store.getState().isFollowing).toBe(true);
  });
});
