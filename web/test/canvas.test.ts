import { describe, expect, it } from "vitest";
import { addAfter, moveTo } from "../src/editor/canvas/commands";
import { rememberedPieces, type FlowInput } from "../src/editor/canvas/flow";
import { pictureOf } from "../src/editor/canvas/layout";
import { contains, PADDING, STEP, type Box, type Picture } from "../src/editor/canvas/model";
import { holderAt, slotAt } from "../src/editor/canvas/slots";
import { viewOf } from "../src/editor/canvas/viewing";
import type { Sketch, SketchEdge, SketchNode } from "../src/editor/contract";
import { holderOf } from "../src/editor/screen/clipboard";
import { reselected } from "../src/editor/state/store";

const node = (path: string, more: Partial<SketchNode> = {}): SketchNode => ({
  path,
  kind: "ask",
  title: path,
  parent: path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "",
  case: null,
  body: "none",
  file: "",
  position: null,
  size: null,
  ports: { inputs: [], outputs: [] },
  cases: [],
  fields: {},
  span: null,
  ...more,
});

const loop = (path: string, more: Partial<SketchNode> = {}): SketchNode => node(path, { kind: "repeat", body: "inline", ...more });

const order = (from: string, to: string): SketchEdge => ({ from, from_port: "", to, to_port: "", kind: "order", label: "", span: null });

/** A loop in a loop, beside two steps. */
const LEVELS: Sketch = {
  nodes: [node("first"), loop("outer"), node("outer/early"), loop("outer/inner"), node("outer/inner/deep"), node("outer/inner/deeper"), node("last")],
  edges: [order("first", "outer"), order("outer", "last"), order("outer/early", "outer/inner"), order("outer/inner/deep", "outer/inner/deeper")],
};

const drawn = (sketch: Sketch, dialect = "native", collapsed: string[] = []): Picture => pictureOf(sketch, dialect, "", new Set(collapsed));

const boxOf = (picture: Picture, path: string): Box => {
  const found = picture.boxes.find((box) => box.node.path === path);
  if (!found) throw new Error(`${path} is not drawn`);
  return found;
};

const middleOf = ({ x, y, width, height }: Box) => ({ x: x + width / 2, y: y + height / 2 });

const inputOf = (picture: Picture): FlowInput => ({ picture, kinds: new Map(), problems: new Map(), selected: [], linking: "", isReadOnly: false, canDrag: true });

describe("the container that something is dropped into", () => {
  const picture = drawn(LEVELS);

  it("is the innermost open one under the pointer", () => {
    const deep = middleOf(boxOf(picture, "outer/inner/deep"));

    expect(holderAt(picture, deep, ["first"])?.node.path).toBe("outer/inner");
    expect(holderAt(picture, middleOf(boxOf(picture, "outer/early")), ["first"])?.node.path).toBe("outer");
    expect(holderAt(picture, middleOf(boxOf(picture, "last")), ["first"])).toBeNull();
    const closed = drawn(LEVELS, "native", ["outer/inner"]);
    expect(holderAt(closed, middleOf(boxOf(closed, "outer/inner")), ["first"])?.node.path).toBe("outer");
  });

  it("is never what is dragged, nor anything inside of it", () => {
    const deep = middleOf(boxOf(picture, "outer/inner/deep"));

    expect(holderAt(picture, deep, ["outer/inner"])?.node.path).toBe("outer");
    expect(holderAt(picture, deep, ["outer"])).toBeNull();
    expect(moveTo(LEVELS, ["outer"], slotAt(picture, deep, ["outer"], ""))).toEqual([]);
  });

  it("tells a place after an inner loop from the last one inside of it, 16 apart", () => {
    const [inner, deeper] = [boxOf(picture, "outer/inner"), boxOf(picture, "outer/inner/deeper")];
    const y = deeper.y + deeper.height / 2;
    const within = slotAt(picture, { x: inner.x + inner.width - 2, y }, ["first"], "");
    const behind = slotAt(picture, { x: inner.x + inner.width + 2, y }, ["first"], "");

    expect([within.into, within.after]).toEqual(["outer/inner", "outer/inner/deeper"]);
    expect([behind.into, behind.after]).toEqual(["outer", "outer/inner"]);
    expect(behind.mark.x - within.mark.x).toBeGreaterThanOrEqual(16);
  });

  it("is as large as one step where it is empty", () => {
    const picture = drawn({ nodes: [node("first"), loop("empty")], edges: [order("first", "empty")] });
    const [place] = picture.empty;
    if (!place) throw new Error("there is no place");

    expect(place).toMatchObject({ into: "empty", ...STEP });
    for (const [x, y] of [[2, 2], [STEP.width - 2, STEP.height - 2]] as const) {
      const point = { x: place.x + x, y: place.y + y };
      expect(slotAt(picture, point, ["first"], "")).toMatchObject({ into: "empty", after: null });
      expect(contains(boxOf(picture, "empty"), point)).toBe(true);
    }
  });
});

describe("what the canvas library is given", () => {
  it("has holders before what they hold, in whatever order the file has them, and after a move", () => {
    const moved: Sketch = { ...LEVELS, nodes: [node("outer/inner/first"), ...LEVELS.nodes.slice(1).toReversed()] };
    for (const sketch of [LEVELS, moved]) {
      const ids = rememberedPieces()(inputOf(drawn(sketch))).map((piece) => piece.id);
      for (const one of sketch.nodes) if (one.parent) expect(ids.indexOf(one.parent)).toBeLessThan(ids.indexOf(one.path));
    }
  });

  it("has relative places that add up to absolute ones, sizes from the inside out, and no limits of its own", () => {
    const picture = drawn(LEVELS);
    const pieces = new Map(rememberedPieces()(inputOf(picture)).map((piece) => [piece.id, piece]));
    for (const box of picture.boxes) {
      const at = { x: 0, y: 0 };
      for (let piece = pieces.get(box.node.path); piece; piece = pieces.get(piece.parentId ?? "-")) {
        at.x += piece.position.x;
        at.y += piece.position.y;
        // Out of such a container nothing can be dragged; the other one is wrong at two levels.
        expect(piece).not.toHaveProperty("extent");
        expect(piece).not.toHaveProperty("expandParent");
      }
      expect(at).toEqual({ x: box.x, y: box.y });
      const parent = box.parent ? boxOf(picture, box.parent) : null;
      if (!parent) continue;
      expect(box.x - parent.x).toBeGreaterThanOrEqual(PADDING.side);
      expect(parent.x + parent.width - box.x - box.width).toBeGreaterThanOrEqual(PADDING.side);
      expect(parent.y + parent.height).toBeGreaterThan(box.y + box.height);
    }
  });

  it("stays the same object where nothing has changed", () => {
    const made = rememberedPieces();
    const before = made(inputOf(drawn(LEVELS)));
    const after = made(inputOf(drawn({ ...LEVELS, nodes: LEVELS.nodes.map((one) => (one.path === "last" ? { ...one, title: "end" } : one)) })));

    expect(after.filter((piece, index) => piece !== before[index]).map((piece) => piece.id)).toEqual(["last"]);
  });
});

describe("on a canvas whose file has places", () => {
  const ports = { inputs: ["input"], outputs: ["output"] };
  const a = node("a", { kind: "llm", position: { x: 0, y: 0 }, ports });
  const b = node("b", { kind: "llm", position: { x: 600, y: 0 }, ports });
  const edge: SketchEdge = { from: "a", from_port: "output", to: "b", to_port: "input", kind: "data", label: "", span: null };

  it("a new node stands beside its neighbours, and these stay", () => {
    const [between] = addAfter({ nodes: [a, b], edges: [edge] }, "", true, "a", { kind: "llm" });
    const [behind] = addAfter({ nodes: [a, b], edges: [edge] }, "", true, "b", { kind: "llm" });

    expect(between?.["place"]).toEqual({ x: 300, y: 0 });
    expect(behind?.["place"]).toEqual({ x: 840, y: 0 });
    const before = drawn({ nodes: [a, b], edges: [edge] }, "studio");
    const after = drawn({ nodes: [a, b, node("c", { kind: "llm", position: { x: 300, y: 0 }, ports })], edges: [edge] }, "studio");
    for (const path of ["a", "b"]) expect(boxOf(after, path)).toMatchObject({ x: boxOf(before, path).x, y: boxOf(before, path).y });
  });
});

describe("what is selected", () => {
  it("stays selected in a picture that is drawn anew: by its path, else by its line", () => {
    const lines = (nodes: [string, number][]): Sketch => ({ nodes: nodes.map(([path, line]) => node(path, { span: { line, column: 1, end_line: line } })), edges: [] });
    const before = lines([["a", 3], ["b", 5]]);

    expect(reselected(before, lines([["x", 3], ["a", 4], ["b", 6]]), ["a", "b"])).toEqual(["a", "b"]);
    expect(reselected(before, lines([["a", 3], ["renamed", 5]]), ["a", "b"])).toEqual(["a", "renamed"]);
    expect(reselected(before, lines([["a", 3]]), ["b"])).toEqual([]);
  });
});

describe("what is cut", () => {
  it("is not a container of a canvas, whose steps would be lost", () => {
    const of = (dialect: string, ...selected: string[]) => holderOf({ sketch: LEVELS, dialect, selected });
    expect(of("studio", "first", "outer")).toBe("outer");
    expect(of("shodan", "outer/inner", "outer/inner/deep")).toBe("outer/inner");
    expect(of("studio", "first", "outer/inner/deep")).toBeUndefined();
    // In a native file, the text of a container has its steps.
    expect(of("native", "outer")).toBeUndefined();
  });
});

describe("the first view", () => {
  const FRAME = { width: 800, height: 600 };
  const chain = (length: number): Sketch => ({
    nodes: Array.from({ length }, (_, at) => node(`s${at}`)),
    edges: Array.from({ length: length - 1 }, (_, at) => order(`s${at}`, `s${at + 1}`)),
  });

  it("shows the whole of a small picture", () => {
    const picture = drawn(LEVELS);
    const { x, y, zoom } = viewOf(picture, FRAME);
    for (const box of picture.boxes) {
      expect(box.x * zoom + x).toBeGreaterThanOrEqual(0);
      expect(box.y * zoom + y).toBeGreaterThanOrEqual(0);
      expect((box.x + box.width) * zoom + x).toBeLessThanOrEqual(FRAME.width);
      expect((box.y + box.height) * zoom + y).toBeLessThanOrEqual(FRAME.height);
    }
  });

  it("shows the beginning of a large one, at a scale that can be read", () => {
    const picture = drawn(chain(60));
    const { x, y, zoom } = viewOf(picture, FRAME);
    const first = boxOf(picture, "s0");
    expect(zoom).toBe(0.5);
    expect(first.x * zoom + x).toBe(24);
    expect(first.y * zoom + y).toBeGreaterThan(24);
  });

  it("has the step in its middle that a link names", () => {
    const picture = drawn(chain(60));
    const { x, y, zoom } = viewOf(picture, FRAME, "s30");
    const named = boxOf(picture, "s30");
    expect((named.x + named.width / 2) * zoom + x).toBeCloseTo(FRAME.width / 2);
    expect((named.y + named.height / 2) * zoom + y).toBeCloseTo(FRAME.height / 2);
  });

  it("knows what to do where nothing is drawn", () => {
    expect(viewOf({ boxes: [], empty: [], edges: [], isPlaced: false }, FRAME).zoom).toBeLessThanOrEqual(1.1);
  });
});
