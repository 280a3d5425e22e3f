/** What the forms send, and the commands that they show. */
import { describe, expect, it } from "vitest";
import type { WorkflowItem } from "../src/api";
import { parsedAs, textOf } from "../src/app/values";
import { changesOf } from "../src/dialogs/changes";
import { commands, given, quoted } from "../src/dialogs/commands";
import { scoresBy } from "../src/dialogs/family";
import { askerWords, choicesFor, questionBefore, subjectOf } from "../src/dialogs/gates";
import { fieldsOf, inputsFrom, MORE, textsFor } from "../src/screens/workflows/inputs";

describe("commands", () => {
  it("quotes what a shell would take apart", () => {
    expect(quoted("refine[2]")).toBe("'refine[2]'");
    expect(quoted("it's")).toBe("'it'\\''s'");
    expect(quoted("")).toBe("''");
    expect(quoted("flows/a-b.yaml")).toBe("flows/a-b.yaml");
  });

  it("gives text as it is and everything else as JSON", () => {
    expect(given("a", "b c")).toBe("a=b c");
    expect(given("a", 3)).toBe("a:=3");
    expect(given("a", "@file")).toBe('a:="@file"');
  });

  it("leaves out what is not asked for", () => {
    expect(commands.continue("r", { iterations: 3 })).toBe("whorl continue r --iterations 3");
    expect(commands.continue("r", { budget: 0.5, loop: "a[1]/b" })).toBe("whorl continue r --budget +0.5 --at 'a[1]/b'");
    expect(commands.accept("r", 2)).toBe("whorl accept r --iteration 2");
    expect(commands.answer("reject", "r", "", "a[1]/:ask")).toBe("whorl runs reject r --at 'a[1]/:ask'");
    expect(commands.fork("r", "a[2]", { x: [1] }, 1)).toBe("whorl fork r --at 'a[2]' --set 'x:=[1]' --budget 1");
    expect(commands.run({ file: "a.yaml", inputs: { t: "x" }, iterations: 2 })).toBe("whorl run a.yaml -i t=x --max-iterations 2");
  });
});

describe("values", () => {
  it("are edited as text, or as JSON", () => {
    expect(textOf("a")).toBe("a");
    expect(textOf({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect(parsedAs("number", "2.5")).toEqual({ value: 2.5 });
    expect(parsedAs("integer", "2.5").problem).toBe("this is not a whole number");
    expect(parsedAs("number", " ").problem).toBe("this is not a number");
    expect(parsedAs("any", "[1]")).toEqual({ value: [1] });
    expect(parsedAs("any", "[1")).toEqual({ value: "[1" });
    expect(parsedAs("list", "{}").problem).toContain("not a list");
    expect(parsedAs("json", "{").problem).toContain("this is not JSON");
  });

  it("are sent only if they were changed", () => {
    const values = { hint: "a", facts: { n: 1 }, same: "s" };
    expect(changesOf(values, { hint: "b", facts: '{"n": 2}', same: "s" })).toEqual({ set: { hint: "b", facts: { n: 2 } }, problem: "" });
    expect(changesOf(values, { facts: "{" }).problem).toContain("facts: this is not JSON");
  });
});

describe("questions", () => {
  it("know the iteration that they are about", () => {
    const last = () => 5;
    expect(subjectOf("work[2]/:ask", last)).toEqual({ loop: "work", number: 2 });
    expect(subjectOf("a[1]/work/:limit", last)).toEqual({ loop: "a[1]/work", number: 5 });
    expect(subjectOf("a[1]/b[3]/check", last)).toEqual({ loop: "a[1]/b", number: 3 });
    expect(subjectOf("check", last)).toBeNull();
  });

  it("know the same question one iteration before", () => {
    expect(questionBefore("a[1]/b[3]/check")).toBe("a[1]/b[2]/check");
    expect(questionBefore("b[1]/check")).toBe("");
    expect(questionBefore("check")).toBe("");
  });

  it("have answers by what asks", () => {
    expect(choicesFor("iteration").reject.label).toBe("Another iteration");
    expect(choicesFor("something new").approve.label).toBe("Approve");
    expect(askerWords("limit")).toContain("limit");
  });
});

describe("inputs of a workflow", () => {
  const item = {
    inputs: [
      { name: "topic", type: "string", required: true, default: null, description: "" },
      { name: "pages", type: "number", required: false, default: 3, description: "" },
      { name: "facts", type: "any", required: false, default: { a: 1 }, description: "" },
      { name: "strict", type: "boolean", required: false, default: false, description: "" },
    ],
    open_inputs: true,
  } as unknown as WorkflowItem;

  it("become fields by their type", () => {
    expect(fieldsOf(item).map((field) => field.type)).toEqual(["string", "number", "json", "boolean", "json"]);
    expect(textsFor(item, { topic: "x", other: 1 })).toMatchObject({ topic: "x", pages: "3", [MORE]: '{\n  "other": 1\n}' });
  });

  it("are given anew where they are secret", () => {
    const secret = { inputs: [{ name: "key", type: "secret", required: true, default: null, description: "" }], open_inputs: false } as unknown as WorkflowItem;
    expect(textsFor(secret, { key: "***" })).toEqual({ key: "" });
    expect(inputsFrom(secret, { key: "7" })).toEqual({ inputs: { key: "7" }, problem: "" });
  });

  it("are given where they differ from the default", () => {
    const texts = { ...textsFor(item, {}), topic: "x", strict: "true" };
    expect(inputsFrom(item, texts)).toEqual({ inputs: { topic: "x", strict: true }, problem: "" });
    expect(inputsFrom(item, { ...texts, topic: "" }).problem).toBe("topic is required");
    expect(inputsFrom(item, { ...texts, [MORE]: '{"a": 1}' }).inputs).toEqual({ a: 1, topic: "x", strict: true });
    expect(inputsFrom(item, { ...texts, [MORE]: "[]" }).problem).toContain("not an object");
  });
});

it("puts scores at their numbers", () => {
  expect(scoresBy([{ number: 3, score: 0.5 }, { number: 1, score: 0.2 }])).toEqual([0.2, null, 0.5]);
});
