import { describe, expect, it } from "vitest";
import { isMarkdown } from "../src/app/Value";

describe("what is taken for Markdown", () => {
  it("has its marks", () => {
    for (const text of ["# Title\n\ntext", "a\n- one\n- two", "so **good**", "```\ncode\n```", "| a | b |\n|---|---|", "1. one\n2. two"]) expect(isMarkdown(text)).toBe(true);
  });

  it("is not any text with a dash or a number", () => {
    for (const text of ["- no", "a * b * c", "1. place", "x = [1](2", "def f(a):\n    return a ** 2 ** 3", ""]) expect(isMarkdown(text)).toBe(false);
  });
});
