import { describe, expect, it } from "vitest";
import { addText, emptyJournal, reduce } from "../src/journal/reducer";
import { markOfLoops, outsideOf } from "../src/journal/select";
import type { Journal, Json, LoopState } from "../src/journal/types";
import { events, journalOf, longRun, NAMES, reduced, result } from "./recorded";

const plain = (journal: Journal) => {
  const { version: _, ...rest } = journal;
  return structuredClone(rest);
};

const loopDocument = (loop: LoopState) => ({
  path: loop.address,
  iterations: loop.number,
  exit_reason: loop.exitReason,
  ...(loop.mark ? { mark: loop.mark } : {}),
  stopped_by: loop.stoppedBy,
  score: loop.score,
  best_iteration: loop.best,
  returned_iteration: loop.returned,
  failed_iterations: loop.failed,
  cost_usd: Number(loop.usage.cost_usd.toFixed(9)),
  calls: loop.usage.calls,
});

const told = (loop: Record<string, unknown>) => {
  const { usage, ...rest } = loop as { usage: { cost_usd: number; calls: number } };
  return { ...rest, cost_usd: usage.cost_usd, calls: usage.calls };
};

describe.each(NAMES)("the journal of %s", (name) => {
  it("reduces to what the result document says", () => {
    const journal = journalOf(name);
    const document = result(name);

    expect(journal.run.status).toBe(document.status);
    expect(journal.run.output).toEqual(document.output);
    expect(journal.run.error?.message).toBe(document.error?.message);
    expect(journal.warnings.map(({ code, message }) => ({ code, message }))).toEqual(
      document.warnings.map(({ code, message, help }) => ({ code, message: help ? `${message}; ${help}` : message })),
    );
    const { unpriced_calls: _, cost_usd, ...counts } = document.usage;
    expect(journal.run.usage).toMatchObject(counts);
    expect(journal.run.usage.cost_usd).toBeCloseTo(cost_usd ?? 0, 9);
    const ended = (loop: object) => !("exit_reason" in loop) || loop.exit_reason !== null;
    expect([...journal.loops.values()].map(loopDocument).filter(ended)).toEqual(
      document.loops.map(told).filter(ended),
    );
    expect([...journal.loops.keys()]).toEqual(document.loops.map((loop) => loop["path"]));
  });

  it("counts usage at the leaves as the server counts it", () => {
    const leaves = reduced(events(name).filter((event) => event.kind !== "run.finished"));
    const { cost_usd, unpriced_calls: _, ...counts } = result(name).usage;

    expect(leaves.run.usage).toMatchObject(counts);
    expect(leaves.run.usage.cost_usd).toBeCloseTo(cost_usd ?? 0, 9);
  });

  it("is the same in two halves, even when they overlap", () => {
    const all = events(name);
    const whole = plain(reduced(all));
    for (let cut = 0; cut <= all.length; cut += 1) {
      // Streamed text has no number and would be taken twice; the server sends it once.
      const again = all.slice(Math.max(0, cut - 5), cut).filter((event) => event.seq !== null);
      const journal = reduced(all.slice(cut), reduced(again, reduced(all.slice(0, cut))));

      expect(plain(journal)).toEqual(whole);
    }
  });

  it("leaves nothing running when the run has ended", () => {
    const journal = journalOf(name);
    const running = [...journal.open].filter((place) => journal.nodes.get(place)?.status !== "waiting");

    expect(running).toEqual([]);
    expect(journal.run.reserved.cost_usd).toBeCloseTo(0, 9);
  });
});

describe("nodes", () => {
  it("wait where the budget refuses a call outside a loop", () => {
    const journal = journalOf("poor");

    expect(journal.nodes.get("finish")?.status).toBe("waiting");
    expect(journal.nodes.get("draft[2]/judge_it")?.status).toBe("cancelled");
    expect(journal.run).toMatchObject({ status: "paused", pausedFor: "budget" });
  });

  it("hold inputs, value, model, usage and times of each attempt", () => {
    const review = journalOf("polish").nodes.get("polish[2]/review");

    expect(review).toMatchObject({ path: "polish/review", scope: "polish[2]", status: "succeeded" });
    const [attempt] = review?.attempts ?? [];
    expect(attempt).toMatchObject({ number: 1, kind: "ask", model: "demo/scripted", text: "" });
    expect(attempt?.value).toMatchObject({ score: 0.81 });
    expect(attempt?.inputs).toHaveProperty("prompt");
    expect(attempt?.endedAt).toBeGreaterThan(attempt?.startedAt ?? Infinity);
  });

  it("show streamed text until the value is there", () => {
    const journal = emptyJournal();
    for (const event of events("polish")) {
      reduce(journal, event);
      if (event.kind === "task.text") {
        const node = journal.nodes.get(event.address);
        expect(node?.attempts.at(-1)?.text).toBe(event.text);
      }
    }
    expect(addText(journal, "polish[3]/review", "late")).toBe(false);
  });

  it("take the whole text in the place of what they have", () => {
    const journal = emptyJournal();
    reduce(journal, { seq: 1, kind: "task.started", address: "write", at: 1, body: { kind: "ask" } });
    addText(journal, "write", "one ");
    addText(journal, "write", "one two ", true);
    addText(journal, "write", "three");
    expect(journal.nodes.get("write")?.attempts.at(-1)?.text).toBe("one two three");
  });

  it("keep the branch that was taken and what was skipped", () => {
    const journal = journalOf("judged");

    expect(journal.nodes.get("turn[1]/enough.branch")?.branch).toBe("continue");
    expect(journal.nodes.get("turn[2]/missing")?.status).toBe("skipped");
  });

  it("are replaced when they change and kept when they do not", () => {
    const journal = reduced(events("polish").slice(0, 8));
    const before = journal.nodes.get("polish[1]/write");
    reduced(events("polish").slice(8), journal);

    expect(journal.nodes.get("polish[1]/write")).toBe(before);
  });

  it("keep all attempts, and call what is in doubt by its name", () => {
    const journal = reduced([
      { seq: 1, kind: "run.started", address: "", at: 1, body: { limits: { cost_usd: 1 } } },
      { seq: 2, kind: "task.started", address: "a", at: 1, body: { reserve: { calls: 1, cost_usd: 0.2 } } },
      { seq: 3, kind: "task.failed", address: "a", at: 2, body: { error: { code: "P1", message: "no" } } },
      { seq: 4, kind: "task.retrying", address: "a", at: 2, body: {} },
      { seq: 5, kind: "task.started", address: "a#2", at: 3, body: { reserve: { calls: 1, cost_usd: 0.2 } } },
      { seq: 6, kind: "task.in_doubt", address: "a#2", at: 9, body: {} },
    ]);
    const node = journal.nodes.get("a");

    expect(node?.attempts.map((one) => one.status)).toEqual(["retrying", "in_doubt"]);
    expect(node?.attempts[0]?.error?.message).toBe("no");
    expect(journal.run.usage).toMatchObject({ calls: 1, cost_usd: 0.2, in_doubt: 1 });
    expect(journal.run.reserved.cost_usd).toBe(0);
  });
});

describe("loops", () => {
  it("know limits, target, scores, best and verdicts of each iteration", () => {
    const loop = journalOf("nested").loops.get("draft");

    expect(loop).toMatchObject({ target: 0.85, best: 4, status: "finished", limits: { iterations: 4 } });
    expect(loop?.iterations.map((one) => one.score)).toEqual([0.41, 0.63, 0.58, 0.82]);
    expect(loop?.iterations.map((one) => one.best)).toEqual([true, true, false, true]);
    expect(loop?.iterations[2]?.facts).toMatchObject([{ by: "score", met: false }]);
  });

  it("roll usage up while an iteration is under way", () => {
    const all = events("nested");
    const end = all.findIndex((event) => event.kind === "iteration.finished" && event.address === "draft[1]");
    const journal = reduced(all.slice(0, end));
    const rolled = journal.loops.get("draft")?.iterations[0]?.usage;
    reduce(journal, all[end]!);

    expect(rolled?.cost_usd).toBeCloseTo(journal.loops.get("draft")?.iterations[0]?.usage.cost_usd ?? 0, 9);
    expect(rolled?.calls).toBe(6);
  });

  it("reopen with a higher limit when the run is continued", () => {
    const journal = journalOf("continued");

    expect(journal.loops.get("polish")).toMatchObject({ limits: { iterations: 3 }, number: 3 });
    expect(journal.run.limits.cost_usd).toBe(1);
  });

  it("have no iteration that has not begun", () => {
    const journal = reduced([
      { seq: 1, kind: "loop.started", address: "a", at: 1, body: {} },
      { seq: 2, kind: "iteration.started", address: "a[1]", at: 1, body: { number: 1 } },
      { seq: 3, kind: "iteration.finished", address: "a[1]", at: 1, body: { number: 1, status: "not_begun" } },
    ]);

    expect(journal.loops.get("a")).toMatchObject({ number: 0, iterations: [] });
  });

  it("do not count an iteration while the budget refuses its first call", () => {
    const events = [
      { seq: 1, kind: "loop.started", address: "a", at: 1, body: {} },
      { seq: 2, kind: "iteration.started", address: "a[1]", at: 1, body: { number: 1 } },
      { seq: 3, kind: "run.waiting", address: "", at: 1, body: { status: "paused", for: "budget", not_begun: ["a[1]"] } },
    ];
    const resumed = [...events, { seq: 4, kind: "run.resumed", address: "", at: 2, body: { cost_usd: 1 } }];

    expect(reduced(events).loops.get("a")).toMatchObject({ number: 0 });
    expect(reduced(resumed).loops.get("a")).toMatchObject({ number: 1 });
  });
});

describe("marks", () => {
  const loop = (...told: [kind: string, address: string, body: Record<string, Json>][]) => {
    const journal = emptyJournal();
    told.forEach(([kind, address, body], index) => reduce(journal, { seq: index + 1, kind, address, at: 1_000 + index, body }));
    return journal;
  };
  const turn = (number: number, body: Record<string, Json>): [string, string, Record<string, Json>][] => [
    ["iteration.started", `work[${number}]`, { number }],
    ["iteration.finished", `work[${number}]`, { number, status: "succeeded", ...body }],
  ];
  const begun: [string, string, Record<string, Json>][] = [["run.started", "", {}], ["loop.started", "work", { limits: { iterations: 3 } }]];
  const turns = [...turn(1, { score: 0.4, best: true }), ...turn(2, { score: 0.6, best: true, approved: true }), ...turn(3, { score: null, best: false, outside: { score: 9, low: 0, high: 1 } })];

  it("have one best iteration: the newest while it runs, and what the loop says at its end", () => {
    expect(loop(...begun, ...turns).loops.get("work")).toMatchObject({ best: 2, returned: null });
    const ended = loop(...begun, ...turns, ["loop.finished", "work", { best_iteration: 1, returned_iteration: 3, mark: "limit" }]);
    expect(ended.loops.get("work")).toMatchObject({ best: 1, returned: 3, mark: "limit" });
    expect(markOfLoops(ended)).toBe("limit");
    expect(loop(...begun, ...turns, ["loop.finished", "work", { mark: "else" }]).loops.get("work")).toMatchObject({ best: 2, mark: null });
  });

  it("are taken back when the loop goes on", () => {
    const ended: [string, string, Record<string, Json>] = ["loop.finished", "work", { best_iteration: 2, returned_iteration: 3, mark: "budget" }];
    const again = loop(...begun, ...turns, ended, ["run.continued", "", { at: "work", iterations: 1 }]);

    expect(again.loops.get("work")).toMatchObject({ best: 2, returned: null, mark: null, status: "running" });
    expect(markOfLoops(again)).toBeNull();
  });

  it("tell what approves, and scores outside their range", () => {
    const work = loop(...begun, ...turns).loops.get("work")!;

    expect(work.iterations.map((one) => [one.approved, one.score, one.outside?.score ?? null])).toEqual([[false, 0.4, null], [true, 0.6, null], [false, null, 9]]);
    expect(outsideOf(work)).toEqual([{ number: 3, score: 9, low: 0, high: 1 }]);
  });
});

describe("gates", () => {
  it("wait with what they show, and are decided with feedback", () => {
    const waiting = journalOf("waiting").gates.get("work[1]/:ask");
    const decided = journalOf("approved").gates.get("work[1]/:ask");

    expect(waiting).toMatchObject({ decided: null, show: { write: "A first draft." } });
    expect(decided?.decided).toMatchObject({ approved: false, feedback: "longer", by: "person" });
  });
});

it("counts for a fork only what it has paid for itself", () => {
  const source = longRun(3);
  const forked = { seq: 1_000, kind: "run.forked", address: "", at: 1e9, body: { source: "other" } };
  const usage = { calls: 1, input_tokens: 1, output_tokens: 1, cost_usd: 0.5 };
  const own = { seq: 1_001, kind: "task.finished", address: "polish[2]/write", body: { usage } };
  const journal = reduced([...source.slice(0, -1), forked, own]);

  expect(reduced(source.slice(0, -1)).run.usage.cost_usd).toBeGreaterThan(0);
  expect(journal.run.usage.cost_usd).toBeCloseTo(0.5, 6);
});

it("takes the last of ten thousand events about as fast as the first", () => {
  const all = longRun(1_000);
  const half = all.length / 2;
  reduced(longRun(200));
  const journal = emptyJournal();
  const started = process.cpuUsage();
  reduced(all.slice(0, half), journal);
  const first = process.cpuUsage(started).user;
  const middle = process.cpuUsage();
  reduced(all.slice(half), journal);
  const second = process.cpuUsage(middle).user;

  expect(all.length).toBe(10_002);
  expect(second).toBeLessThan(5 * first + 20_000);
  expect(journal.loops.get("polish")?.usage.cost_usd).toBeCloseTo(4, 6);
});

it("shows what an iteration worked, without the time until the run was resumed", () => {
  const at = (seq: number, kind: string, address: string, time: number, body: Record<string, Json> = {}) => ({ seq, kind, address, at: time, body });
  const journal = reduced([
    at(1, "run.started", "", 0),
    at(2, "loop.started", "polish", 0),
    at(3, "iteration.started", "polish[1]", 0, { number: 1 }),
    at(4, "iteration.finished", "polish[1]", 2, { number: 1, status: "failed", seconds: 2 }),
    at(5, "run.finished", "", 2, { status: "failed" }),
    at(6, "run.resumed", "", 100),
    at(7, "iteration.finished", "polish[1]", 103, { number: 1, status: "succeeded", seconds: 103 }),
  ]);

  expect(journal.loops.get("polish")?.iterations.map((one) => one.seconds)).toEqual([5]);
});

it("tells a loop that a person stopped from one of which an iteration was accepted", () => {
  const told = (body: Record<string, Json>) =>
    reduced([
      { seq: 1, kind: "loop.started", address: "polish", at: 0, body: {} },
      { seq: 2, kind: "iteration.started", address: "polish[1]", at: 0, body: { number: 1 } },
      { seq: 3, kind: "run.accepted", address: "", at: 1, body: { at: "polish", ...body } },
      { seq: 4, kind: "loop.finished", address: "polish", at: 1, body: { exit_reason: "accepted", returned_iteration: 1 } },
    ]).loops.get("polish")?.isStopped;

  expect([told({}), told({ iteration: 1 })]).toEqual([true, false]);
});
