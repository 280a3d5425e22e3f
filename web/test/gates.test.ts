/** Questions: answered once, gone when nobody needs an answer, and words that are kept. */
import { describe, expect, it } from "vitest";
import { keepDraft, readDraft } from "../src/dialogs/drafts";
import { answererWords, answerWords, isOpen, sameQuestion } from "../src/dialogs/gates";
import { markedOf } from "../src/dialogs/marked";
import { emptyJournal, openGates, reduce, type Journal, type JournalEvent } from "../src/journal";

type Told = [kind: string, address: string, body?: JournalEvent["body"]];

function told(journal: Journal, ...events: Told[]): Journal {
  for (const [kind, address, body] of events) reduce(journal, { seq: journal.lastSeq + 1, kind, address, at: 1_000, body: body ?? {} });
  return journal;
}

const ASKED: Told[] = [
  ["run.started", ""],
  ["loop.started", "work", { limits: { iterations: 2 } }],
  ["iteration.started", "work[1]", { number: 1 }],
  ["iteration.finished", "work[1]", { status: "succeeded" }],
  ["gate.waiting", "work[1]/:ask", { reason: "iteration", message: "take it?" }],
  ["gate.waiting", "publish", { reason: "gate", message: "publish?" }],
];

const open = (journal: Journal) => openGates(journal).map((gate) => gate.address);

describe("a question", () => {
  it("is answered by the first answer, whatever comes later", () => {
    const journal = told(emptyJournal(), ...ASKED, ["gate.decided", "work[1]/:ask", { approved: true, by: "person", feedback: "good" }], ["gate.decided", "work[1]/:ask", { approved: false, by: "python" }]);

    expect(journal.gates.get("work[1]/:ask")?.decided).toMatchObject({ approved: true, feedback: "good", by: "person" });
    expect(open(journal)).toEqual(["publish"]);
    expect(journal.gates.get("publish")?.decided).toBeNull();
  });

  it("is no longer open when what it is about has ended", () => {
    const ended: [Told, string[]][] = [
      [["loop.finished", "work", {}], ["publish"]],
      [["timer.fired", "publish/:timeout"], ["work[1]/:ask"]],
      [["timer.fired", "publish/:wait"], ["work[1]/:ask", "publish"]],
      [["iteration.finished", "work[10]", { status: "cut" }], ["work[1]/:ask", "publish"]],
      [["node.finished", "publish", {}], ["work[1]/:ask"]],
      [["run.cancelled", ""], []],
      [["run.finished", "", { status: "failed" }], []],
    ];
    for (const [event, left] of ended) expect(open(told(emptyJournal(), ...ASKED, event))).toEqual(left);
    expect(told(emptyJournal(), ...ASKED, ["run.cancelled", ""], ["loop.finished", "work", {}]).gates.get("publish")?.gone).toBe("the run was cancelled");
  });

  it("at a limit is gone when its loop is given more, and asked anew at the same address", () => {
    const journal = told(emptyJournal(), ...ASKED.slice(0, 4), ["gate.waiting", "work/:limit", { reason: "limit", message: "one?" }]);
    const first = journal.gates.get("work/:limit")!;
    told(journal, ["run.continued", "", { at: "work", iterations: 1 }]);
    expect(open(journal)).toEqual([]);
    expect(sameQuestion(first, journal.gates.get("work/:limit"))?.gone).toBe("its loop was continued");

    told(journal, ["gate.waiting", "work/:limit", { reason: "limit", message: "two?" }]);
    const second = journal.gates.get("work/:limit")!;
    expect(open(journal)).toEqual(["work/:limit"]);
    const shown = sameQuestion(first, second)!;
    expect([shown.message, isOpen(shown), isOpen(second)]).toEqual(["one?", false, true]);
    expect(sameQuestion(shown, second)).toBe(shown);
    expect(sameQuestion(undefined, second)).toBe(second);
  });

  it("says who answered what", () => {
    expect(answerWords("iteration", false)).toBe("Another iteration");
    expect(answererWords("person", true)).toBe("You answered");
    expect(answererWords("person", false)).toBe("Someone else answered");
    expect(answererWords("python", false)).toBe("A Python program answered");
  });
});

/** The storage of a tab, with room for so many characters. */
class Tab implements Storage {
  private readonly values = new Map<string, string>();
  constructor(private readonly room = Infinity) {}
  get length() {
    return this.values.size;
  }
  key = (index: number) => [...this.values.keys()][index] ?? null;
  getItem = (name: string) => this.values.get(name) ?? null;
  clear = () => this.values.clear();
  removeItem = (name: string) => void this.values.delete(name);
  setItem = (name: string, value: string) => {
    if (value.length > this.room) throw new DOMException("full", "QuotaExceededError");
    this.values.set(name, value);
  };
}

describe("words that were not sent", () => {
  it("are kept for their question, until there are none", () => {
    const tab = new Tab();
    keepDraft("r", "work[1]/:ask", "shorter", tab);
    keepDraft("r", "publish", "no", tab);

    expect(readDraft("r", "work[1]/:ask", tab)).toBe("shorter");
    expect(readDraft("other", "work[1]/:ask", tab)).toBe("");
    keepDraft("r", "work[1]/:ask", "", tab);
    expect([readDraft("r", "work[1]/:ask", tab), readDraft("r", "publish", tab)]).toEqual(["", "no"]);
  });

  it("are bounded, and the newest stay", () => {
    const tab = new Tab();
    for (let index = 0; index < 50; index += 1) keepDraft("r", `a${index}`, "x".repeat(100_000), tab);

    expect((tab.getItem("whorl.drafts") ?? "").length).toBeLessThan(510_000);
    expect([readDraft("r", "a44", tab), readDraft("r", "a49", tab).length]).toEqual(["", 100_000]);
    for (let index = 0; index < 50; index += 1) keepDraft("r", `b${index}`, "x", tab);
    expect([readDraft("r", "b29", tab), readDraft("r", "b30", tab)]).toEqual(["", "x"]);
  });

  it("cost nobody the page where the storage is full or odd", () => {
    const tab = new Tab(10);
    keepDraft("r", "a", "words", tab);
    expect(readDraft("r", "a", tab)).toBe("");
    tab.setItem("whorl.drafts", "{");
    expect(readDraft("r", "a", tab)).toBe("");
  });
});

describe("the marks of iterations", () => {
  const iterations = [true, true, false, true].map((best, index) => ({ number: index + 1, best }));

  it("are what the loop told at its end", () => {
    expect(markedOf({ state: "finished", best_iteration: 4, returned_iteration: 2 }, iterations)).toEqual({ best: 4, returned: 2 });
    expect(markedOf({ state: "finished", best_iteration: null, returned_iteration: 2 }, iterations)).toEqual({ best: null, returned: 2 });
  });

  it("are the newest best while it goes on", () => {
    expect(markedOf({ state: "running", best_iteration: 2, returned_iteration: 2 }, iterations)).toEqual({ best: 4, returned: null });
    expect(markedOf(undefined, [])).toEqual({ best: null, returned: null });
  });
});
