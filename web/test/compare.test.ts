/** What can be compared of two iterations. */
import { expect, it } from "vitest";
import { chosenValue, firstChoice, nodeChoices, numberChanges, sideName } from "../src/screens/compare/choices";
import { chosenPair, numbersOf, pairOfTwo } from "../src/screens/compare/Compare";
import { difference } from "../src/screens/compare/Figures";

const one = { code: "a", review: { score: 0.4, note: "x" }, big: { $ref: "r", size: 9000, preview: "b" } };
const other = { code: "a", review: { score: 0.6, note: "y" }, more: 1 };

it("names results and their parts", () => {
  expect(nodeChoices(one, other)).toEqual(["code", "review", "review.score", "review.note", "big", "more"]);
});

it("finds the value of a name, also of one with a dot in it", () => {
  expect(chosenValue(other, "review.note")).toBe("y");
  expect(chosenValue({ "a.b": 1 }, "a.b")).toBe(1);
  expect(chosenValue(other, "big")).toBeUndefined();
});

it("begins with the first text that has changed", () => {
  expect(firstChoice(one, other)).toBe("review.note");
  expect(firstChoice({ a: 1 }, { a: 1 })).toBe("a");
  expect(firstChoice({}, {})).toBe("");
});

it("tells numbers that have changed", () => {
  expect(numberChanges(one, other)).toEqual([{ name: "review.score", before: 0.4, after: 0.6 }]);
});

it("compares the last two unless the address names others", () => {
  expect(chosenPair([1, 2, 4], {})).toEqual([2, 4]);
  expect(chosenPair([1, 2, 4], { one: "1", other: "2" })).toEqual([1, 2]);
  expect(chosenPair([1, 2, 4], { one: "9", other: "1" })).toEqual([2, 1]);
  expect(chosenPair([1], {})).toEqual([undefined, undefined]);
});

it("compares the last ones of two runs unless the address names others", () => {
  expect(pairOfTwo([1, 2], [1, 2, 3], {})).toEqual([2, 3]);
  expect(pairOfTwo([1, 2], [1, 2, 3], { one: "1", other: "1" })).toEqual([1, 1]);
  expect(pairOfTwo([1], [], { one: "9" })).toEqual([1, undefined]);
});

it("names the run of an iteration where it is another one", () => {
  expect([0, 1].map((index) => sideName(2, ["a", "a"], index))).toEqual(["#2", "#2"]);
  expect([0, 1].map((index) => sideName(2, ["a", "b"], index))).toEqual(["#2", "#2 of b"]);
});

it("lists all iterations, also where the matrix has only the newest", () => {
  const rows = (count: number, from = 1) => ({ iterations: Array.from({ length: count }, (_, index) => ({ number: from + index, cells: {} })) });
  expect(numbersOf(rows(3), { iterations: 4 })).toEqual([1, 2, 3]);
  expect(numbersOf(rows(200, 801), { iterations: 1000 })).toHaveLength(1000);
});

it("tells differences with their sign", () => {
  const format = (value: number) => value.toFixed(2);
  expect(difference({ name: "score", before: 0.5, after: 0.7, format })).toBe("+0.20");
  expect(difference({ name: "score", before: 0.5, after: 0.3, format })).toBe("−0.20");
  expect(difference({ name: "score", before: 0.5, after: 0.501, format })).toBe("±0");
  expect(difference({ name: "score", before: null, after: 0.3, format })).toBe("");
});
