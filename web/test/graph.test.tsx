import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { Graph, GraphNode } from "../src/api";
import { canvasStates, GraphCanvas, layoutOf, loopChips } from "../src/graph";
import { edgesOf, piecesOf } from "../src/graph/flow";
import { CLOSED, PADDING, type Placed } from "../src/graph/layout";
import { journalOf } from "./recorded";

const node = (path: string, kind: GraphNode["kind"] = "task"): GraphNode => ({
  path, kind, name: path.split("/").at(-1)!, title: "", detail: "", task: "ask", model: "m", case: null, when: null,
  parent: path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "",
  loop: kind === "loop" ? { until: "check is clean", limits: { iterations: 3 }, carry: [], returns: "last", target: null, on_limit: "finish", ask: "never" } : null,
});
const edge = (from: string, to: string, kind: "order" | "feedback" = "order") => ({ from, to, label: "", kind });

/** The graph of test/workflows/nested.yaml. */
export const NESTED: Graph = {
  name: "nested",
  dialect: "native",
  nodes: [node("plan"), node("draft", "loop"), node("draft/code"), node("draft/fix", "loop"), node("draft/fix/repair"), node("draft/fix/check"), node("draft/judge_it"), node("finish")],
  edges: [
    edge("plan", "draft"), edge("draft", "finish"), edge("draft/code", "draft/fix"), edge("draft/fix", "draft/judge_it"),
    edge("draft/fix/repair", "draft/fix/check"), edge("draft/fix/check", "draft/fix/repair", "feedback"), edge("draft/judge_it", "draft/code", "feedback"),
  ],
};

const at = (placed: readonly Placed[], path: string) => placed.find((one) => one.node.path === path)!;

describe("the layout", () => {
  const { nodes, edges } = layoutOf(NESTED);

  it("puts containers before what is inside them", () => {
    for (const [index, placed] of nodes.entries()) {
      if (placed.parent) expect(nodes.findIndex((one) => one.node.path === placed.parent)).toBeLessThan(index);
    }
  });

  it("makes every container large enough for what is inside", () => {
    for (const inner of nodes.filter((one) => one.parent)) {
      const around = at(nodes, inner.parent);
      expect(inner.x).toBeGreaterThanOrEqual(0);
      expect(inner.y).toBeGreaterThanOrEqual(PADDING.top - 1);
      expect(inner.x + inner.width).toBeLessThanOrEqual(around.width);
      expect(inner.y + inner.height).toBeLessThanOrEqual(around.height - PADDING.chips - PADDING.lane + 1);
    }
  });

  it("lets no two boxes of a level overlap, and goes from left to right", () => {
    for (const one of nodes) {
      for (const other of nodes) {
        if (one === other || one.parent !== other.parent) continue;
        const apart = one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y;
        expect(apart).toBe(true);
      }
    }
    expect(at(nodes, "plan").x).toBeLessThan(at(nodes, "draft").x);
    expect(at(nodes, "draft/code").x).toBeLessThan(at(nodes, "draft/fix").x);
  });

  it("leads feedback back under the nodes and above the chips", () => {
    const back = edges.find((one) => one.from === "draft/judge_it" && one.kind === "feedback")!;
    const source = at(nodes, "draft/judge_it");
    const lane = source.y + source.height / 2 + back.dip;

    expect(lane).toBeGreaterThan(Math.max(...nodes.filter((one) => one.parent === "draft").map((one) => one.y + one.height)));
    expect(lane).toBeLessThan(at(nodes, "draft").height - PADDING.chips);
  });

  it("shows a collapsed container as one step with its edges", () => {
    const closed = layoutOf(NESTED, new Set(["draft"]));

    expect(closed.nodes.map((one) => one.node.path)).toEqual(["plan", "draft", "finish"]);
    expect(at(closed.nodes, "draft")).toMatchObject({ ...CLOSED, isContainer: false });
    expect(closed.edges.map((one) => one.id)).toEqual(["order:plan>draft", "order:draft>finish"]);
  });

  it("gives a collapsed container a row for each port", () => {
    const ported = { ...NESTED, nodes: NESTED.nodes.map((one) => (one.path === "draft" ? { ...one, ports: { inputs: ["task"], outputs: ["code", "score", "count"] } } : one)) };
    const closed = at(layoutOf(ported, new Set(["draft"])).nodes, "draft");

    expect(closed.height).toBe(CLOSED.height + 3 * 16);
    expect(closed.width).toBe(CLOSED.width);
  });

  it("goes down in a narrow window, with the way back beside it", () => {
    const down = layoutOf(NESTED, new Set(), true);
    const back = down.edges.find((one) => one.from === "draft/judge_it" && one.kind === "feedback")!;
    const source = at(down.nodes, "draft/judge_it");
    const lane = source.x + source.width / 2 - back.dip;

    expect(down.width).toBeLessThan(420);
    expect(at(down.nodes, "draft/code").y).toBeLessThan(at(down.nodes, "draft/fix").y);
    expect(lane).toBeGreaterThan(0);
    expect(lane).toBeLessThan(Math.min(...down.nodes.filter((one) => one.parent === "draft").map((one) => one.x)));
  });

  it("is the same every time, and takes an empty graph", () => {
    expect(layoutOf(NESTED)).toEqual(layoutOf(NESTED));
    expect(layoutOf({ name: "", dialect: "", nodes: [], edges: [] }).nodes).toEqual([]);
  });
});

describe("states", () => {
  const journal = journalOf("nested");

  it("are those of the chosen iteration", () => {
    const newest = canvasStates(journal, NESTED, {});
    const second = canvasStates(journal, NESTED, { draft: 2 });

    expect(newest.get("draft/fix/check")?.address).toBe("draft[4]/fix[2]/check");
    expect(second.get("draft/code")).toMatchObject({ address: "draft[2]/code", status: "succeeded" });
    expect(newest.get("draft")).toMatchObject({ status: "exhausted", number: 4, limit: 4, exitReason: "max_iterations" });
  });

  it("keep the pieces that have not changed", () => {
    const layout = layoutOf(NESTED);
    const input = { layout, selected: "", collapsed: new Set<string>(), onChoose: () => undefined, onToggle: () => undefined };
    const look = (chosen: Record<string, number>) => ({ ...input, states: canvasStates(journal, NESTED, chosen), chips: loopChips(journal, NESTED, chosen) });
    const first = piecesOf(look({}), new Map());
    const known = new Map(first.map((piece) => [piece.id, piece]));

    expect(piecesOf(look({}), known).every((piece) => known.get(piece.id) === piece)).toBe(true);
    const changed = piecesOf(look({ draft: 2 }), known).filter((piece) => known.get(piece.id) !== piece);
    expect(changed.map((piece) => piece.id)).not.toContain("plan");
    expect(edgesOf(layout)).toHaveLength(NESTED.edges.length);
  });
});

it("GraphCanvas shows nodes, states, limits and chips", () => {
  const journal = journalOf("nested");
  const shown = renderToStaticMarkup(
    <GraphCanvas graph={NESTED} states={canvasStates(journal, NESTED, {})} chips={loopChips(journal, NESTED, {})} selected="plan" onSelect={() => undefined} />,
  );

  expect(shown).toContain('data-path="draft/fix/check"');
  expect(shown).toContain("4/4 · limit of iterations");
  expect(shown).toContain("iteration 4, succeeded, score 0.82, best");
});
