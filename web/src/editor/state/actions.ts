/** What changes the open file: operations one request at a time, typing, undo, and reading it. */
import { ApiError } from "../../api";
import type { Diagnostic, Edited, Operation, Sketch } from "../contract";
import type { Calls, Others, Sketched } from "./calls";
import { pushed, redone, undone, type Shot } from "./history";
import { readDraft } from "./drafts";
import { drillIn, isReadOnly, reselected, say, shotOf, type EditorStore, type Refused } from "./store";
import { changedLines, happened } from "./words";

const CHECK_MS = 300;
const IDLE_MS = 2_000;
/** Typing goes on as one step of undo until it rests as long. */
const REST_MS = 1_000;
const TRIES_MAX = 4;

/** Safari has no such moments. */
const whenIdle = (work: () => void) => ("requestIdleCallback" in globalThis ? requestIdleCallback(work, { timeout: IDLE_MS }) : setTimeout(work, CHECK_MS));

export type Readers = "rewire" | "leave";

interface Waiting {
  operations: Operation[];
  readers: Readers;
  resolve: (edited: Edited | null) => void;
}

export type Actions = ReturnType<typeof actionsOf>;

export function actionsOf(store: EditorStore, calls: Calls) {
  const queue: Waiting[] = [];
  let isSending = false;
  let checking: ReturnType<typeof setTimeout> | undefined;
  const drafts = new Set<() => void>();
  let turn: Promise<unknown> = Promise.resolve();
  /** What the last step of undo is about, while it may still grow. */
  let open = { about: "", until: 0 };

  async function load(): Promise<void> {
    const { file } = store.getState();
    try {
      const [project, found] = await Promise.all([calls.project(), calls.load(file)]);
      const palette = await calls.palette(found.dialect).catch(() => ({ groups: [] }));
      const draft = readDraft(project.root, file);
      const offer = draft && draft.text !== found.text ? draft : null;
      const saved = { text: found.text, etag: found.etag };
      store.setState({ project: project.root, canSave: project.edit, palette, saved, offer, text: found.text, isOpen: true, fault: null });
      show(found);
      // The picture is drawn first; the server would take the processor from it.
      if (!found.diagnostics) whenIdle(() => void diagnose(found.text));
    } catch (fault) {
      store.setState({ fault });
    }
  }

  /** What is wrong with a text whose picture is there. */
  async function diagnose(text: string): Promise<void> {
    const { file, others, canSave } = store.getState();
    const found = await (canSave ? calls.sketch(file, text, others) : calls.check(file)).catch(() => null);
    if (found?.diagnostics?.length && store.getState().text === text) store.setState({ diagnostics: found.diagnostics });
  }

  /** Takes a picture over; one that could not be drawn leaves the last one. */
  function show(found: Sketched): void {
    const state = store.getState();
    const dialect = found.dialect || state.dialect;
    if (!found.sketch) {
      store.setState({ dialect, isBroken: true, diagnostics: found.diagnostics ?? [] });
      return;
    }
    const sketch = found.sketch as unknown as Sketch;
    const selected = reselected(state.sketch, sketch, state.selected);
    store.setState({ dialect, sketch, isBroken: false, diagnostics: found.diagnostics ?? state.diagnostics, selected, drill: drillIn(sketch, state.drill) });
  }

  async function check(): Promise<void> {
    const { file, text, others } = store.getState();
    try {
      const found = await calls.sketch(file, text, others);
      if (store.getState().text === text) show(found);
    } catch (fault) {
      if (store.getState().text === text) store.setState({ notice: (fault as Error).message });
    }
  }

  function checkSoon(): void {
    clearTimeout(checking);
    checking = setTimeout(() => void check(), CHECK_MS);
  }

  /** Whether a change belongs to the step of undo before it. */
  function isSameStep(about: string): boolean {
    const now = Date.now();
    const isSame = about !== "" && open.about === about && now < open.until;
    open = { about, until: now + REST_MS };
    return isSame;
  }

  function push(about: string, operations: Operation[] | null): void {
    if (isSameStep(about)) return store.setState(({ history }) => ({ history: { ...history, future: [] } }));
    store.setState((state) => ({ history: pushed(state.history, { shot: shotOf(state), operations }) }));
  }

  function typed(text: string): void {
    if (text === store.getState().text || isReadOnly(store.getState())) return;
    push("typing", null);
    store.setState({ text, refused: null });
    checkSoon();
  }

  /** A text from elsewhere, as one step of undo. */
  function replaceText(text: string): void {
    if (text === store.getState().text) return;
    push("", null);
    store.setState({ text, refused: null });
    void check();
  }

  const count = (by: number) => store.setState(({ pending }) => ({ pending: pending + by }));

  /** Makes a change after those before it, so that it begins with what they left. */
  function inTurn<T>(change: () => Promise<T>): Promise<T> {
    count(1);
    const made = turn.then(async () => {
      await new Promise((drawn) => setTimeout(drawn));
      return change();
    });
    turn = made.catch(() => undefined).finally(() => count(-1));
    return made;
  }

  /** Knows of something typed that is not sent yet, until the function that it gives is called. */
  function typing(flush: () => void): () => void {
    if (!drafts.has(flush)) count(1);
    drafts.add(flush);
    return () => {
      if (drafts.delete(flush)) count(-1);
    };
  }

  /** Sends what was typed, and waits until every change is made or refused. */
  async function settled(): Promise<void> {
    for (const flush of [...drafts]) flush();
    if (store.getState().pending === 0) return;
    await new Promise<void>((done) => {
      const leave = store.subscribe(({ pending }) => {
        if (pending > 0) return;
        leave();
        done();
      });
    });
  }

  function apply(operations: Operation[], readers: Readers = "rewire"): Promise<Edited | null> {
    const state = store.getState();
    if (operations.length === 0) return Promise.resolve(null);
    if (isReadOnly(state) || state.isBroken) {
      say(store, state.isBroken ? "the file has an error: fix it in the source first" : "this file is read-only");
      return Promise.resolve(null);
    }
    count(1);
    return new Promise<Edited | null>((resolve) => {
      queue.push({ operations, readers, resolve });
      void sendAll();
    }).finally(() => count(-1));
  }

  async function sendAll(): Promise<void> {
    if (isSending) return;
    isSending = true;
    while (queue.length > 0) {
      const batch = queue.splice(0);
      // What waited goes together; where that is refused, each is tried alone.
      const together = batch.length > 1 && batch.every((one) => one.readers === "rewire") ? await send(batch.flatMap((one) => one.operations), "rewire", true) : null;
      for (const one of batch) one.resolve(together ?? (await send(one.operations, one.readers)));
    }
    isSending = false;
  }

  async function send(operations: Operation[], readers: Readers, isQuiet = false): Promise<Edited | null> {
    for (let turn = 0; turn < TRIES_MAX; turn += 1) {
      const { file, text, others, selected } = store.getState();
      try {
        const edited = await calls.edit({ name: file, text, others, operations, readers, validate: false });
        // Somebody has typed meanwhile: the operation is made again on what is there now.
        if (store.getState().text !== text) continue;
        take(edited, operations, selected);
        return edited;
      } catch (fault) {
        if (!isQuiet) refuse(fault, operations);
        return null;
      }
    }
    if (!isQuiet) refuse(new Error("the text kept changing in the meantime: try again"), operations);
    return null;
  }

  function take(edited: Edited, operations: Operation[], asked: readonly string[]): void {
    const before = store.getState();
    const sketch = edited.sketch as unknown as Sketch;
    if (edited.text !== before.text) push(aboutOf(operations), operations);
    const known = new Set(sketch.nodes.map((node) => node.path));
    // Who has gone on to another step meanwhile stays there.
    const follows = String(before.selected) === String(asked) && operations.some((one) => isFollowed(one, asked));
    const wanted = follows ? edited.select.filter((path) => known.has(path)) : [];
    const selected = wanted.length > 0 ? wanted : reselected(before.sketch, sketch, before.selected);
    const flash = { lines: changedLines(edited.text, edited.patches), turn: before.flash.turn + 1 };
    store.setState({ text: edited.text, others: { ...before.others, ...othersOf(edited) }, sketch, selected, drill: drillIn(sketch, before.drill), refused: null, flash });
    say(store, happened(operations, edited));
    checkSoon();
  }

  function refuse(fault: unknown, operations: Operation[]): void {
    const refused = refusedBy(fault, operations);
    // What was drawn before the answer goes back to where it was.
    store.setState(({ sketch }) => ({ refused, sketch: { ...sketch } }));
    say(store, `refused: ${refused.message}`);
  }

  function go(step: typeof undone, word: string): void {
    const state = store.getState();
    if (isReadOnly(state)) return;
    const found = step(state.history, shotOf(state));
    if (!found) return say(store, `nothing to ${word}`);
    open = { about: "", until: 0 };
    const { shot, history } = found;
    store.setState({ history, text: shot.text, others: shot.others, diagnostics: shot.diagnostics, selected: shot.selected, drill: shot.drill, refused: null });
    if (shot.sketch) store.setState({ sketch: shot.sketch, isBroken: false });
    else void check();
    say(store, `${word}: done`);
  }

  /** What is on its way is made first: the last change is the one that a person saw themselves make. */
  const goInTurn = (step: typeof undone, word: string) => {
    if (store.getState().pending === 0) go(step, word);
    else void settled().then(() => go(step, word));
  };

  return {
    load,
    check,
    typed,
    replaceText,
    apply,
    inTurn,
    typing,
    settled,
    undo: () => goInTurn(undone, "undo"),
    redo: () => goInTurn(redone, "redo"),
    /** The next change is a step of undo of its own. */
    closeStep: () => {
      open = { about: "", until: 0 };
    },
    stop: () => clearTimeout(checking),
  };
}

/** The texts of the new files that operations made. */
export function othersOf({ others }: Edited): Others {
  return Object.fromEntries(Object.entries(others).map(([name, made]) => [name, made["text"] ?? ""]));
}

/** Settings of one field that follow each other quickly are one step. */
function aboutOf(operations: readonly Operation[]): string {
  const [first, second] = operations;
  if (!first || second || first.operation !== "set") return "";
  return JSON.stringify([first["at"], first["field"]]);
}

const STAYING = new Set(["set", "unset", "open", "place"]);

/** Whether the selection goes where an operation leads: not for fields, and for names only with the step. */
function isFollowed({ operation, at }: Operation, selected: readonly string[]): boolean {
  return operation === "rename" ? selected.includes(String(at)) : !STAYING.has(operation);
}

function refusedBy(fault: unknown, operations: Operation[]): Refused {
  if (!(fault instanceof ApiError)) return { code: "", message: String(fault), help: "", line: null, operations };
  const error = (fault.answer as { error?: { line?: number | null } } | null)?.error;
  return { code: fault.code, message: fault.message, help: fault.help, line: error?.line ?? null, operations };
}

export type { Diagnostic, Shot };
