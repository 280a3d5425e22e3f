/** Feeds a journal once a frame, so that thousands of events make a few renderings. */
import { addText, reduce } from "./reducer";
import type { Journal, JournalEvent } from "./types";

type Item = JournalEvent | { text: string; address: string; kind: "text"; isWhole: boolean };

/** Calls back before the next picture is drawn; in a hidden tab, where none is, a little later. */
export type Schedule = (callback: () => void) => void;

const SLICE_MS = 10;
const HIDDEN_MS = 200;

export const nextFrame: Schedule = (callback) => {
  let isDone = false;
  const once = () => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    callback();
  };
  const timer = setTimeout(once, HIDDEN_MS);
  requestAnimationFrame(once);
};

export interface Feed {
  event: (event: JournalEvent) => void;
  text: (address: string, text: string, isWhole?: boolean) => void;
  /** Takes everything in at once. */
  flush: () => void;
}

/** `onChange` is called at most once a frame, after the journal has changed. */
export function createFeed(journal: Journal, onChange: () => void, schedule: Schedule = nextFrame): Feed {
  let queue: Item[] = [];
  let isScheduled = false;

  const take = (item: Item): boolean =>
    "isWhole" in item ? addText(journal, item.address, item.text, item.isWhole) : reduce(journal, item);

  const work = (sliceMs: number): void => {
    isScheduled = false;
    const batch = queue;
    queue = [];
    const started = performance.now();
    let changed = false;
    let index = 0;
    while (index < batch.length) {
      changed = take(batch[index] as Item) || changed;
      index += 1;
      // The clock is asked now and then: a slice may be over by a few events.
      if (index % 64 === 0 && performance.now() - started > sliceMs) break;
    }
    if (index < batch.length) {
      queue = [...batch.slice(index), ...queue];
      request();
    }
    if (changed) onChange();
  };

  const request = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    schedule(() => work(SLICE_MS));
  };

  const push = (item: Item): void => {
    queue.push(item);
    request();
  };

  return {
    event: push,
    text: (address, text, isWhole = false) => push({ kind: "text", address, text, isWhole }),
    flush: () => work(Number.POSITIVE_INFINITY),
  };
}
