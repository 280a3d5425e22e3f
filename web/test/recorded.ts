/** The recorded journals: events and result documents of real runs with canned replies. */
import { readdirSync, readFileSync } from "node:fs";
import { emptyJournal, reduce } from "../src/journal/reducer";
import type { Journal, JournalEvent } from "../src/journal/types";

const FOLDER = new URL("./journals/", import.meta.url);

export const NAMES = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".jsonl"))
  .map((name) => name.replace(".jsonl", ""))
  .sort();

export function events(name: string): JournalEvent[] {
  const text = readFileSync(new URL(`${name}.jsonl`, FOLDER), "utf8");
  return text.trim().split("\n").map((line) => JSON.parse(line) as JournalEvent);
}

export interface ResultDocument {
  run: string;
  status: string;
  output: unknown;
  loops: Record<string, unknown>[];
  usage: Record<string, number>;
  warnings: { code: string; message: string; help?: string }[];
  error: { code: string; message: string } | null;
}

export function result(name: string): ResultDocument {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as ResultDocument;
}

export function reduced(all: readonly JournalEvent[], journal: Journal = emptyJournal()): Journal {
  for (const event of all) reduce(journal, event);
  return journal;
}

export const journalOf = (name: string): Journal => reduced(events(name));

/** A journal of a loop with many iterations, in the shape of the recorded ones. */
export function longRun(iterations: number, tasks = 4): JournalEvent[] {
  const made: JournalEvent[] = [];
  const say = (kind: string, address: string, body: JournalEvent["body"] = {}) =>
    made.push({ seq: made.length + 1, kind, address, at: 1_000 + made.length / 10, body });
  say("run.started", "", { run: "long", input: {}, limits: { cost_usd: 50 } });
  say("loop.started", "polish", { path: "polish", limits: { iterations } });
  for (let number = 1; number <= iterations; number += 1) {
    say("iteration.started", `polish[${number}]`, { number });
    for (let task = 1; task <= tasks; task += 1) {
      const address = `polish[${number}]/step${task}`;
      say("task.started", address, { kind: "ask", inputs: { prompt: "x" }, reserve: {} });
      const usage = { calls: 1, input_tokens: 10, output_tokens: 5, cost_usd: 0.001 };
      say("task.finished", address, { value: "y", model: "m", usage });
    }
    const usage = { calls: tasks, input_tokens: 40, output_tokens: 20, cost_usd: 0.004 };
    const facts = [{ by: "score", met: false, score: number / iterations, at_least: 0.9 }];
    say("iteration.finished", `polish[${number}]`, {
      number, status: "succeeded", seconds: 1, usage, score: number / iterations, best: true, met: false, facts,
    });
  }
  return made;
}
