/** One call at a time, and once it has succeeded no other: the answer to a question. */
import { useRef, useState } from "react";

export interface Sending {
  /** What was sent, and not refused; "" for nothing. */
  label: string;
  error: unknown;
  send: (label: string, call: () => Promise<unknown>) => void;
  forget: () => void;
}

export function useSending(onSent: () => void): Sending {
  const [state, setState] = useState<{ label: string; error: unknown }>({ label: "", error: null });
  // Two presses may come before the button is drawn as disabled.
  const isSent = useRef(false);
  const send: Sending["send"] = (label, call) => {
    if (isSent.current) return;
    isSent.current = true;
    setState({ label, error: null });
    call().then(onSent, (error: unknown) => {
      isSent.current = false;
      setState({ label: "", error });
    });
  };
  return { ...state, send, forget: () => setState({ label: "", error: null }) };
}
