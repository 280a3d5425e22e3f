/** What is typed into a field: sent when the field loses the focus, or rests for a second. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { useOpenFile } from "../../state";

const REST_MS = 1_000;

export interface Draft {
  text: string;
  /** Whether the file does not have what is shown, because it was refused. */
  isRefused: boolean;
  change: (text: string) => void;
  /** Sends what was typed now. */
  flush: () => void;
  /** Forgets what was typed. */
  drop: () => void;
}

/** `send` gives whether the change was made; what is refused stays in the field. */
export function useDraft(value: string, send: (text: string) => Promise<boolean>): Draft {
  const { actions } = useOpenFile();
  const [draft, setDraft] = useState<string | null>(null);
  const [isRefused, setRefused] = useState(false);
  const unsent = useRef<string | null>(null);
  const timer = useRef(0);
  const forget = useRef<() => void>(() => undefined);
  const sender = useLatest(send);
  const flush = useCallback(() => {
    clearTimeout(timer.current);
    const text = unsent.current;
    unsent.current = null;
    if (text === null) return;
    void actions
      .inTurn(() => sender.current(text))
      .then((isMade) => {
        if (unsent.current !== null) return;
        setRefused(!isMade);
        if (isMade) setDraft(null);
      });
    forget.current();
  }, [actions, sender]);
  // A field that goes away while it is typed into has said something.
  useEffect(() => flush, [flush]);
  const change = (text: string) => {
    clearTimeout(timer.current);
    setDraft(text);
    setRefused(false);
    unsent.current = text;
    forget.current = actions.typing(flush);
    timer.current = window.setTimeout(flush, REST_MS);
  };
  const drop = () => {
    clearTimeout(timer.current);
    unsent.current = null;
    forget.current();
    setDraft(null);
    setRefused(false);
  };
  return { text: draft ?? value, isRefused, change, flush, drop };
}

/** What was chosen is shown at once, and again what the file has when the change was made or refused. */
export function useChosen(value: string, send: (chosen: string) => Promise<unknown>): [shown: string, choose: (chosen: string) => void] {
  const { actions } = useOpenFile();
  const [chosen, setChosen] = useState<string | null>(null);
  const sender = useLatest(send);
  const choose = (next: string) => {
    setChosen(next);
    // Arrow keys choose faster than changes are made: only the last one is done with.
    void actions.inTurn(() => sender.current(next)).finally(() => setChosen((now) => (now === next ? null : now)));
  };
  return [chosen ?? value, choose];
}

/** The function of the last drawing: what it sends is made from the file as it is then. */
export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}
