/** Words that were not sent yet, by the question that they answer: kept in the tab, also over a reload. */
import { useCallback, useState } from "react";

interface Draft {
  run: string;
  address: string;
  text: string;
}

const KEY = "whorl.drafts";
const DRAFTS_MAX = 20;
const LENGTH_MAX = 500_000;

function readAll(storage: Storage): Draft[] {
  try {
    const found: unknown = JSON.parse(storage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? (found as Draft[]) : [];
  } catch {
    return [];
  }
}

export function readDraft(run: string, address: string, storage: Storage = sessionStorage): string {
  return readAll(storage).find((one) => one.run === run && one.address === address)?.text ?? "";
}

/** Keeps the words, or forgets them when there are none; the oldest make room for new ones. */
export function keepDraft(run: string, address: string, text: string, storage: Storage = sessionStorage): void {
  const kept = readAll(storage).filter((one) => one.run !== run || one.address !== address);
  if (text) kept.push({ run, address, text });
  const length = () => kept.reduce((sum, one) => sum + one.text.length, 0);
  while (kept.length > DRAFTS_MAX || (kept.length > 1 && length() > LENGTH_MAX)) kept.shift();
  try {
    storage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // A full storage costs the words only when the page is loaded again: the form still has them.
  }
}

/** The words of the form that answers a question. */
export function useDraft(run: string, address: string): [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(() => readDraft(run, address));
  const change = useCallback(
    (next: string) => {
      setText(next);
      keepDraft(run, address, next);
    },
    [run, address],
  );
  return [text, change];
}
