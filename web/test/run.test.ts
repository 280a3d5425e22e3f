import { describe, expect, it } from "vitest";
import type { Graph, GraphNode } from "../src/api";
import { chooseIteration, createRunStore, followLatest, statusOf } from "../src/app/run";
import { sizeWords } from "../src/app/Value";
import { canvasStates, layoutOf, loopChips } from "../src/graph";
import { emptyJournal, reduce, type Journal, type JournalEvent } from "../src/journal";
import { returnedWords } from "../src/screens/run/Banners";
import { gainOf, gainWords, loopLookedAt, neighbour, numberLookedAt, otherToReturn, readingOrder, stepped } from "../src/screens/run/focus";
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

const statuses = (journal: Journal, graph: Graph) => Object.fromEntries([...canvasStates(journal, graph, {})].map(([path, state]) => [path, state.status]));

describe("what says nothing of itself", () => {
  const graph: Graph = {
    name: "g",
    dialect: "native",
    nodes: [node("size", "compute"), node("first", "task"), node("pause", "wait"), node("last", "task")],
    edges: [order("size", "first"), order("first", "pause"), order("pause", "last")],
  };

  it("is done at once where it only computes", () => {
    expect(statuses(journalFrom(["run.started", ""]), graph)).toEqual({ size: "finished", first: "idle", pause: "idle", last: "idle" });
  });

  it("waits when it is its turn, and is done when the next has begun", () => {
    const begun: Told[] = [["run.started", ""], ["task.started", "first", { kind: "ask" }], ["task.finished", "first", { value: 1 }]];

    expect(statuses(journalFrom(...begun), graph)["pause"]).toBe("waiting");
    expect(statuses(journalFrom(...begun, ["task.started", "last", { kind: "ask" }]), graph)["pause"]).toBe("finished");
  });

  it("was passed by when everything around it is over", () => {
    const over = journalFrom(["run.started", ""], ["task.started", "first", {}], ["task.finished", "first", {}], ["run.finished", "", { status: "succeeded" }]);

    expect(statuses(over, graph)).toMatchObject({ size: "finished", pause: "finished", last: "skipped" });
  });

  it("is not done in a run that failed before it", () => {
    const failed = journalFrom(["run.started", ""], ["task.started", "first", {}], ["task.failed", "first", {}], ["run.finished", "", { status: "failed" }]);

    expect(statuses(failed, graph)).toMatchObject({ first: "failed", pause: "idle", last: "idle" });
  });

  it("takes the state of what is inside it, but for cases that were not taken", () => {
    const branch: Graph = {
      name: "g",
      dialect: "native",
      nodes: [node("pick", "branch"), node("pick/small", "task", { case: "small" }), node("pick/large", "task", { case: "large" })],
      edges: [],
    };
    const running = journalFrom(["run.started", ""], ["task.started", "pick/small", {}]);
    const taken = journalFrom(["run.started", ""], ["node.finished", "pick", { branch: "small" }], ["task.started", "pick/small", {}]);

    expect(statuses(running, branch)["pick"]).toBe("running");
    expect(statuses(taken, branch)).toMatchObject({ "pick/small": "running", "pick/large": "skipped" });
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
    nodes: [node("a", "task"), node("b", "loop", { loop: { until: "", target: null, limits: {}, on_limit: "finish", check: "after", carry: [], returns: "last", ask: "never" } }), node("b/c", "task"), node("b/d", "task")],
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
