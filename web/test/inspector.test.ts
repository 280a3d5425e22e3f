import { describe, expect, it } from "vitest";
import type { Editor, Json, Sketch, SketchNode } from "../src/editor/contract";
import { portMeant } from "../src/editor/canvas/connecting";
import { edgeWords } from "../src/editor/inspector/connections";
import { nameOf, othersOf, rowsOf, valueAt, widgetFor, type Field } from "../src/editor/inspector/fields";
import { added, changePart, conditionWords, fresh, hasScore, readUntil, type Condition } from "../src/editor/inspector/loops/conditions";
import { changeLimit, limitWords } from "../src/editor/inspector/loops/limits";
import { addRow, labelOf, moveRow, sources, typeOf, withCurrent } from "../src/editor/inspector/loops/mappings";
import { textOfStep } from "../src/editor/inspector/source";
import { matching, openedAt, taken } from "../src/editor/inspector/widgets/completion";
import { commandOf, freeName, problemOf, requestOf, wantedName, type Beginning } from "../src/editor/new/choices";
import { pathOf, requestOf as triedWith } from "../src/editor/inspector/tries/tries";
import { moveOf, rowsOf as outlineRows, stepTo } from "../src/editor/outline/tree";

const field = (keys: string[], type = "text", more: Partial<Field> = {}): Field => ({ field: keys, label: keys.at(-1) ?? "", type, help: "", choices: [], required: false, ...more });

const node = (path: string, more: Partial<SketchNode> = {}): SketchNode => ({
  path,
  kind: "ask",
  title: nameOf(path),
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

describe("the widget of a field", () => {
  it("is the one that its type names, or that its sentence begins with", () => {
    expect(widgetFor(field([], "long text"), undefined)).toBe("long text");
    expect(widgetFor(field([], "a text, which may hold {{ }}"), undefined)).toBe("long text");
    expect(widgetFor(field([], "a whole number from 1 to 10,000"), 3)).toBe("number");
    expect(widgetFor(field([], "a whole number from 0 to 100, or an object with times"), undefined)).toBe("any");
    expect(widgetFor(field([], "whatever"), undefined)).toBe("any");
    expect(widgetFor(field([], "text", { choices: ["a"] }), "b")).toBe("choice");
  });

  it("follows a value that is of another type", () => {
    expect(widgetFor(field([], "number"), "{{ n }}")).toBe("long text");
    expect(widgetFor(field([], "text"), ["a"])).toBe("json");
    expect(widgetFor(field([], "any"), "a")).toBe("text");
    expect(widgetFor(field([], "boolean"), true)).toBe("boolean");
  });
});

describe("the port of an end that names none", () => {
  it("is the usual one, else the only one; several are asked about", () => {
    expect(portMeant(["response", "output"], "output")).toBe("output");
    expect(portMeant(["code"], "input")).toBe("code");
    expect(portMeant([], "input")).toBe("");
    expect(portMeant(["task", "context"], "input")).toBeNull();
  });
});

describe("the rows of a form", () => {
  const form = [field(["if"]), field(["choose"], "any", { required: true }), field(["else"], "steps by name"), field(["after"])];

  it("are the needed and the written ones; steps inside are no fields", () => {
    const chooser = node("c", { body: "inline", fields: { choose: { on: "x", cases: { yes: { a: {} } } }, if: "ok" } });
    const { shown, folded } = rowsOf(form, chooser);

    expect(shown.map((row) => row.field.field)).toEqual([["if"], ["choose", "on"]]);
    expect(folded.map((row) => row.field.field)).toEqual([["after"]]);
  });

  it("leave what they do not know to a list, without the steps inside", () => {
    const fields = { choose: { on: "x", cases: { yes: { a: { ask: "hi" } } } }, x_note: 1, data: { label: "L", odd: [1] } };
    const others = othersOf([...form, field(["data", "label"])], fields, [node("c/a")]);

    expect(others.map((row) => [row.field.label, row.value])).toEqual([["x_note", 1], ["data.odd", [1]]]);
    expect(othersOf([], { repeat: { odd: 1, steps: { a: {} } } }, [node("c/a")], [["repeat", "until"]]).map((row) => row.field.label)).toEqual(["repeat.odd"]);
  });

  it("finds values by keys, and never what every object has", () => {
    expect(valueAt({ a: [{ b: 1 }] }, ["a", 0, "b"])).toBe(1);
    expect(valueAt({}, ["constructor"])).toBeUndefined();
    expect(nameOf("outer/a%2Fb")).toBe("a/b");
  });
});

describe("the lines of a step", () => {
  const yaml = "steps:\n  # about a\n  a:\n    ask: x  # why\n\n  b: {ask: y}\n  c: {d: {ask: 'it, {'}, e: 1}\n";

  it("are whole lines with the remarks right above them, moved to the margin", () => {
    expect(textOfStep(yaml, { line: 3, column: 3, end_line: 4 }, false)).toBe("# about a\na:\n  ask: x  # why");
    expect(textOfStep(yaml, { line: 6, column: 3, end_line: 6 }, false)).toBe("b: {ask: y}");
  });

  it("are a part of a line between braces", () => {
    expect(textOfStep(yaml, { line: 7, column: 7, end_line: 7 }, false)).toBe("d: {ask: 'it, {'}");
    const json = '{"nodes": [\n  {"id": "a", "x": "} \\" ]"},\n  {"id": "b"}\n]}';
    expect(textOfStep(json, { line: 2, column: 3, end_line: 2 }, true)).toBe('{"id": "a", "x": "} \\" ]"}');
  });

  it("are those of an item behind its dash", () => {
    const list = "nodes:\n  - id: a\n    type: x\n  - id: b\n";
    expect(textOfStep(list, { line: 2, column: 3, end_line: 3 }, false)).toBe("- id: a\n  type: x");
  });
});

describe("when a loop ends", () => {
  const until = (value: Json) => readUntil(value, ["repeat", "until"]);

  it("is said as the terminal says it", () => {
    const value = ["review.approved", { all: [{ score: { from: "{{ review.score }}", at_least: 0.8 } }, { plateau: 2 }] }, { judge: "It reads well" }, { stable: 0.95 }, { branch: { triage: "done" } }];
    expect(conditionWords(until(value))).toBe("review.approved or score ≥ 0.80 and no better score for 2 or judge: It reads well or 95% alike or triage takes 'done'");
    expect(limitWords({ iterations: 4, time: "10m", cost: 0.5, each_time: "5s", tokens: 10_000 })).toBe("at most 4 iterations, 10m00s, $0.50, 10,000 tokens");
    expect(limitWords(undefined)).toBe("at most 10 iterations");
    expect(limitWords(1)).toBe("at most 1 iteration");
    expect(hasScore(until(value))).toBe(true);
    expect(hasScore(until("a"))).toBe(false);
  });

  it("knows its place in the file", () => {
    const found = until([{ all: ["a", { stable: 0.9 }] }]);
    const group = found?.is === "group" ? found.parts[0] : undefined;
    expect(group?.is === "group" && group.parts[1]?.keys).toEqual(["repeat", "until", 0, "all", 1]);
    expect(until({ score: {}, judge: "x" })?.is).toBe("unknown");
  });

  it("changes by the smallest part", () => {
    const at = (value: Json) => until(value) as Condition;
    expect(changePart("p", at("a"), "test", "b")).toEqual({ operation: "set", at: "p", field: ["repeat", "until"], value: "b" });
    expect(changePart("p", at({ stable: 0.9 }), "threshold", 0.8)).toMatchObject({ field: ["repeat", "until", "stable"], value: 0.8 });
    expect(changePart("p", at({ stable: 0.9 }), "of", "write")).toMatchObject({ value: { threshold: 0.9, of: "write" } });
    expect(changePart("p", at({ judge: { question: "x", votes: 3 } }), "votes", undefined)).toMatchObject({ operation: "unset", field: ["repeat", "until", "judge", "votes"] });
  });

  it("takes one more condition, by or and by and", () => {
    const next = fresh("plateau", { last: "x" });
    const add = (value: Json | undefined, word: "or" | "and") => {
      const { field: keys, value: set } = added("p", value === undefined ? null : until(value), word, value, next);
      return [(keys as Json[]).slice(2), set];
    };
    expect(add(undefined, "or")).toEqual([[], next]);
    expect(add("a", "or")).toEqual([[], ["a", next]]);
    expect(add("a", "and")).toEqual([[], { all: ["a", next] }]);
    expect(add(["a", "b"], "or")).toEqual([[2], next]);
    expect(add(["a", "b"], "and")).toEqual([[1], { all: ["b", next] }]);
    expect(add(["a", { all: ["b", "c"] }], "and")).toEqual([[1, "all", 2], next]);
    expect(add({ all: ["a", "b"] }, "or")).toEqual([[], [{ all: ["a", "b"] }, next]]);
  });
});

describe("limits", () => {
  it("stay a bare number until there is a second one", () => {
    expect(changeLimit("p", 5, "iterations", 7)).toMatchObject({ field: ["repeat", "at_most"], value: 7 });
    expect(changeLimit("p", 5, "cost", 0.5)).toMatchObject({ field: ["repeat", "at_most"], value: { iterations: 5, cost: 0.5 } });
    expect(changeLimit("p", { iterations: 5 }, "cost", 0.5)).toMatchObject({ field: ["repeat", "at_most", "cost"], value: 0.5 });
    expect(changeLimit("p", undefined, "time", "5m")).toMatchObject({ value: { time: "5m" } });
    expect(changeLimit("p", 5, "iterations", undefined)).toMatchObject({ operation: "unset" });
  });
});

describe("mappings", () => {
  const inner = [node("l/coder", { kind: "agent", ports: { inputs: ["task"], outputs: ["code"] }, fields: { data: { outputs: [{ name: "code", type: "string" }] } } })];
  const loop = node("l", { kind: "loop", ports: { inputs: ["task"], outputs: [] } });

  it("are made of what is outside, of the iteration before, and of the count", () => {
    const labels = sources(loop, inner).map((choice) => choice.label);
    expect(labels).toContain("task (outer)");
    expect(labels).toContain("previous coder.code");
    expect(labels).toContain("iteration count");
    expect(typeOf(inner, "coder.code")).toBe("string");
    expect(typeOf(inner, "coder.exitCode")).toBe("number");
  });

  it("keep what the file says where it is no choice", () => {
    const odd = { type: "previous", node: "gone", output: "x" };
    expect(labelOf(odd)).toBe("previous gone.x");
    expect(withCurrent([], odd)).toEqual([{ label: "previous gone.x", value: odd }]);
  });

  it("are added, and moved", () => {
    expect(addRow("l", ["m"], [], { a: 1 })).toMatchObject({ field: ["m"], value: [{ a: 1 }] });
    expect(addRow("l", ["m"], [{ a: 1 }], { a: 2 })).toMatchObject({ field: ["m", 1], value: { a: 2 } });
    expect(moveRow("l", ["m"], [{ a: 1 }, { a: 2 }, { a: 3 }], 0, 2)).toMatchObject({ value: [{ a: 2 }, { a: 3 }, { a: 1 }] });
    expect(moveRow("l", ["m"], [{ a: 1 }], 0, 1)).toBeNull();
  });
});

describe("completion", () => {
  const names = [{ name: "review.feedback", type: "text" }, { name: "task", type: "text" }];

  it("opens between braces, and takes a name", () => {
    expect(openedAt("Write {{", 8, "braces")).toEqual({ from: 8, typed: "" });
    expect(openedAt("Write {{ re", 11, "braces")).toEqual({ from: 9, typed: "re" });
    expect(openedAt("{{ a }} b", 9, "braces")).toBeNull();
    expect(openedAt("a and re", 8, "words")).toEqual({ from: 6, typed: "re" });
    expect(taken("Write {{", 8, { from: 8, typed: "" }, "task", "braces")).toEqual({ text: "Write {{ task }}", caret: 16 });
    expect(taken("{{ re }}", 5, { from: 3, typed: "re" }, "review", "braces").text).toBe("{{ review }}");
    expect(matching(names, "feed").map((one) => one.name)).toEqual(["review.feedback"]);
    expect(matching(names, "task")).toEqual([]);
  });
});

describe("edges in words", () => {
  const edge = { from: "a", to: "b", from_port: "", to_port: "", label: "", span: null };

  it("say what they mean", () => {
    expect(edgeWords({ ...edge, kind: "order" })).toBe("a before b");
    expect(edgeWords({ ...edge, kind: "data", from_port: "code", to_port: "input" })).toBe("a.code → b");
    expect(edgeWords({ ...edge, kind: "branch", label: "done" })).toBe("a: done → b");
  });
});

describe("the outline", () => {
  const sketch: Sketch = { nodes: [node("a"), node("l", { body: "inline" }), node("l/b"), node("l/c"), node("d")], edges: [] };
  const none = new Set<string>();

  it("is in reading order, and arrows lead through it", () => {
    const rows = outlineRows(sketch, none);
    expect(rows.map((row) => [row.node.path, row.level])).toEqual([["a", 1], ["l", 1], ["l/b", 2], ["l/c", 2], ["d", 1]]);
    expect(stepTo(rows, "l", "ArrowRight", none)).toEqual({ path: "l/b" });
    expect(stepTo(rows, "l/c", "ArrowLeft", none)).toEqual({ path: "l" });
    expect(stepTo(rows, "l", "ArrowLeft", none)).toEqual({ toggles: true });
    expect(outlineRows(sketch, new Set(["l"]))).toHaveLength(3);
  });

  it("moves steps among, out of and into others", () => {
    expect(moveOf(sketch, "l/c", "ArrowUp")).toEqual({ into: "l", case: null, after: null });
    expect(moveOf(sketch, "a", "ArrowDown")).toEqual({ into: "", case: null, after: "l" });
    expect(moveOf(sketch, "l/b", "ArrowLeft")).toEqual({ into: "", case: null, after: "l" });
    expect(moveOf(sketch, "d", "ArrowRight")).toEqual({ into: "l", case: null, after: "l/c" });
    expect(moveOf(sketch, "a", "ArrowUp")).toBeNull();
  });
});

describe("a new file", () => {
  const template: Beginning = { from: "template", name: "self-refine", dialect: "studio" };

  it("has a name that is free", () => {
    expect(freeName(wantedName(template), ["self-refine.json", "self-refine-2.json"])).toBe("self-refine-3.json");
    expect(wantedName({ from: "copy", file: "flows/a.yml" })).toBe("flows/a-copy.yml");
    expect(wantedName({ from: "convert", file: "a.json" })).toBe("a-native.yaml");
  });

  it("is asked for by one of four fields, and says what is wrong before", () => {
    expect(requestOf({ from: "convert", file: "a.json" })).toEqual({ convert: "a.json" });
    expect(problemOf("a.yaml", template, [])).toContain(".json");
    expect(problemOf("a.json", template, ["a.json"])).toContain("already");
    expect(problemOf("a.json", template, [])).toBe("");
    expect(commandOf(template, "my file.json")).toBe("whorl new self-refine 'my file.json'");
  });
});

describe("a try", () => {
  it("gives results to the steps of the file", () => {
    expect(pathOf(node("polish"), { address: "polish[1]/write" })).toBe("polish/write");
    expect(pathOf(node("outer/polish"), { address: "polish[1]/write" })).toBe("outer/polish/write");
  });
});

describe("a try", () => {
  it("is given what was typed as the file declares it: a text stays a text", () => {
    const inputs = { year: "string", name: { type: "string" }, count: "integer" };
    const editor = { file: "a.yaml", text: "", sketch: { nodes: [], edges: [], fields: { inputs } } } as unknown as Editor;
    const wish = { inputs: { year: "1984", name: "true", count: "3" }, budget: "", run: "", iteration: "" };
    expect(triedWith(editor, {}, node("write"), wish, false)["inputs"]).toEqual({ year: "1984", name: "true", count: 3 });
  });
});
