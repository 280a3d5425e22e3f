/** A form that makes one call, with the command that does the same under its button. */
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { ErrorNotice } from "../app/Notice";

interface ActionFormProps {
  label: string;
  tone?: "main" | "bad";
  command: string;
  /** Why it cannot be sent as it is; "" when it can. */
  problem?: string;
  /** The call; the form stays open with the error when it fails. */
  act: () => Promise<void>;
  onCancel?: () => void;
  /** Looks again at what the call is about, after a refusal. */
  onReload?: () => void;
  children?: ReactNode;
}

interface Sending {
  isBusy: boolean;
  isDone: boolean;
  error: unknown;
}

const AT_REST: Sending = { isBusy: false, isDone: false, error: null };

export function ActionForm(props: ActionFormProps) {
  const { label, tone = "main", command, problem = "", act, onCancel, onReload, children } = props;
  const [state, setState] = useState<Sending>(AT_REST);
  // Two presses may come before the button is drawn as disabled.
  const isSent = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // In a dialog whose contents had to be loaded, the focus goes to the first field now.
    if (form.current?.closest("dialog")) form.current.querySelector<HTMLElement>("select, input, textarea")?.focus();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (problem || isSent.current) return;
    isSent.current = true;
    setState({ isBusy: true, isDone: false, error: null });
    act().then(
      () => setState({ isBusy: false, isDone: true, error: null }),
      (error: unknown) => {
        isSent.current = false;
        setState({ isBusy: false, isDone: false, error });
      },
    );
  };
  // What was sent is sent again only after a change.
  const change = () => {
    if (!state.isDone) return;
    isSent.current = false;
    setState(AT_REST);
  };
  return (
    <form ref={form} className="action-form" onSubmit={submit} onChange={change}>
      {children}
      {problem && (
        <p className="problem" role="status">
          {problem}
        </p>
      )}
      {state.error !== null && <ErrorNotice error={state.error} {...(onReload ? { onRetry: onReload } : {})} />}
      <div className="action-row">
        <button className={`button button-${tone}`} disabled={state.isBusy || state.isDone || problem !== ""}>
          {state.isBusy ? `${label}…` : label}
        </button>
        {onCancel && (
          <button type="button" className="button" onClick={onCancel}>
            Close
          </button>
        )}
        {state.isDone && (
          <p className="done" role="status">
            ✓ done
          </p>
        )}
      </div>
      <Command text={command} />
    </form>
  );
}

/** A command of the terminal that can be copied by selecting it. */
export function Command({ text }: { text: string }) {
  return (
    <p className="same-command">
      <span className="sr-only">the same in the terminal: </span>
      <span aria-hidden="true">$ </span>
      <code>
        {text.split(FLAG).map((part, index) => (index % 2 === 1 ? <span key={index} className="command-flag">{part}</span> : part))}
      </code>
    </p>
  );
}

/** A flag is not broken in two at the end of a line: people read `--at`, not `-` and `-at`. */
const FLAG = /((?<=\s)--?[a-z][a-z-]*(?=\s|$))/;
