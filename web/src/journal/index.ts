/** The journal of a run on the page: reducer, questions, words. */
export * from "./address";
export * from "./feed";
export * from "./records";
export { addText, emptyJournal, reduce } from "./reducer";
export * from "./select";
export type * from "./types";
export { costOf, isObject, NOTHING, plus, tokensOf, usageFrom } from "./usage";
export * as words from "./words";
