/** Saving, drafts, and what to do when another program has written the file. */
import { ApiError } from "../../api";
import type { Actions } from "./actions";
import type { Calls } from "./calls";
import { keepDraft } from "./drafts";
import { changesSince, type Step } from "./history";
import { clashes, replay } from "./merging";
import { isDirty, say, type EditorState, type EditorStore, type Version } from "./store";

const LOOK_MS = 5_000;
const KEEP_MS = 400;

/** Files that are on the disk are no longer the editor's, whatever is undone and made again. */
function withoutOthers({ others, history }: EditorState, names: readonly string[]): Pick<EditorState, "others" | "history"> {
  const left = (all: EditorState["others"]) => Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)));
  const strip = (steps: readonly Step[]) => steps.map((step) => ({ ...step, shot: { ...step.shot, others: left(step.shot.others) } }));
  return { others: left(others), history: { past: strip(history.past), future: strip(history.future) } };
}

export type Saving = ReturnType<typeof savingOf>;

export function savingOf(store: EditorStore, calls: Calls, actions: Actions) {
  // A version is its content's, so that the file need not be named.
  const tabs = "BroadcastChannel" in globalThis ? new BroadcastChannel("whorl.saved") : null;
  let looking: ReturnType<typeof setInterval> | undefined;
  let keeping: ReturnType<typeof setTimeout> | undefined;

  const changes = () => {
    const { history, saved, text } = store.getState();
    return changesSince(history, saved.text, text);
  };

  function keep(): void {
    clearTimeout(keeping);
    const state = store.getState();
    if (!state.isOpen || state.offer || !state.canSave) return;
    const { text, others, saved, history, project, file } = state;
    const before = history.past.at(-1)?.shot.text ?? saved.text;
    const draft = isDirty(state) ? { text, before, base: saved.text, etag: saved.etag, changes: changes().length, others, at: Date.now() } : null;
    if (!keepDraft(project, file, draft)) store.setState({ notice: "the browser has no space for a draft: save soon" });
  }

  /** Goes on with the draft that was kept. */
  function resume(): void {
    const { offer, saved } = store.getState();
    if (!offer) return;
    store.setState({ offer: null, others: offer.others ?? {} });
    if (offer.before !== saved.text && offer.before !== offer.text) actions.replaceText(offer.before);
    actions.replaceText(offer.text);
    if (offer.etag !== saved.etag) store.setState({ saved: { text: offer.base, etag: offer.etag }, conflict: saved });
    say(store, "the draft is restored");
  }

  function discard(): void {
    const { project, file } = store.getState();
    keepDraft(project, file, null);
    store.setState({ offer: null });
    say(store, "the draft is discarded");
  }

  /** Saves the text, with every change that was made before; false where it was not. */
  async function save(): Promise<boolean> {
    await actions.settled();
    const { file, text, others, saved, isSaving, canSave, offer } = store.getState();
    if (isSaving || !canSave || offer) return false;
    if (text === saved.text && saved.etag !== null) return true;
    store.setState({ isSaving: true });
    try {
      const { etag } = await calls.save(file, text, saved.etag, others);
      tabs?.postMessage(etag);
      store.setState((state) => ({ saved: { text, etag }, conflict: null, notice: "", ...withoutOthers(state, Object.keys(others)) }));
      keep();
      say(store, "saved");
      return true;
    } catch (fault) {
      const current = fault instanceof ApiError && fault.status === 409 ? (fault.answer as { current?: Version } | null)?.current : undefined;
      if (current) {
        differ(current);
        store.setState(({ conflict }) => ({ isComparing: conflict !== null }));
      }
      else store.setState({ notice: `not saved: ${(fault as Error).message}` });
      say(store, "not saved");
      return false;
    } finally {
      store.setState({ isSaving: false });
    }
  }

  /** The file is another one by now. */
  function differ(current: Version): void {
    const state = store.getState();
    if (current.etag === state.saved.etag) return;
    if (current.text === state.text) store.setState({ saved: current, conflict: null });
    else if (isDirty(state)) store.setState({ conflict: current });
    else {
      store.setState({ saved: current, notice: "the file has changed on the disk: the new text is shown" });
      actions.replaceText(current.text);
    }
  }

  /** Whether another program has written the file. */
  async function look(): Promise<void> {
    const { file, isOpen, isSaving, isDragging, saved, conflict, offer } = store.getState();
    if (!isOpen || isSaving || isDragging || offer || saved.etag === null || document.visibilityState !== "visible") return;
    try {
      const etag = await calls.etag(file);
      if (etag === saved.etag || etag === conflict?.etag) return;
      const found = await calls.load(file);
      const now = store.getState();
      if (!now.isSaving && !now.isDragging && now.saved === saved) differ({ text: found.text, etag: found.etag });
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.status !== 404) return;
      store.setState({ saved: { text: "", etag: null }, notice: "the file is gone from the disk: saving creates it again" });
    }
  }

  /** Their text instead of one's own; one's own can be had back by undo. */
  function takeTheirs(): void {
    const { conflict } = store.getState();
    if (!conflict) return;
    store.setState({ saved: conflict, conflict: null });
    actions.replaceText(conflict.text);
  }

  /** One's own text stays, and the next save replaces theirs. */
  function keepMine(): void {
    const { conflict } = store.getState();
    if (conflict) store.setState({ saved: conflict, conflict: null });
  }

  /** One's own changes, made again on their text; who saves meanwhile saves what comes of it. */
  const replayMine = (): Promise<void> => actions.inTurn(replayNow).catch((fault: Error) => store.setState({ notice: `not applied: ${fault.message}` }));

  async function replayNow(): Promise<void> {
    const { conflict, file, text: mine } = store.getState();
    if (!conflict) return;
    const { text, others, refused } = await replay(calls, file, conflict.text, changes());
    // Something was typed meanwhile: that is a change, too.
    if (store.getState().text !== mine) return replayNow();
    const left = refused.length > 0 ? `could not be applied: ${refused.join("; ")}` : "";
    store.setState({ saved: conflict, conflict: null, notice: left, others });
    actions.replaceText(text);
  }

  /** Lines that cannot be merged. */
  const clashing = (): string[] => {
    const { saved, text, conflict } = store.getState();
    return conflict ? clashes(saved.text, text, conflict.text) : [];
  };

  /** Watches the file and keeps drafts, until the function that it gives is called. */
  function watch(): () => void {
    looking = setInterval(() => void look(), LOOK_MS);
    const onFocus = () => void look();
    addEventListener("focus", onFocus);
    addEventListener("pagehide", keep);
    if (tabs) tabs.onmessage = ({ data }: MessageEvent<string>) => store.setState(({ fromTabs }) => ({ fromTabs: [...fromTabs, data] }));
    const leave = store.subscribe((now, before) => {
      if (now.text === before.text && now.saved === before.saved) return;
      clearTimeout(keeping);
      keeping = setTimeout(keep, KEEP_MS);
    });
    return () => {
      keep();
      clearInterval(looking);
      removeEventListener("focus", onFocus);
      removeEventListener("pagehide", keep);
      tabs?.close();
      leave();
    };
  }

  return { save, resume, discard, takeTheirs, keepMine, replayMine, clashing, watch, changes };
}
