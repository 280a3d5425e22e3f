/** Asks once more, at another place, before it does what cannot be undone. */
import { useEffect, useRef, useState } from "react";

interface CancelButtonProps {
  label: string;
  isDisabled: boolean;
  title?: string;
  onCancel: () => void;
}

/** The question stays until it is answered, or something else is pressed; a double click cancels nothing. */
export function CancelButton({ label, isDisabled, title, onCancel }: CancelButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const part = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isAsking) return;
    const leave = ({ target }: Event) => {
      if (target instanceof Node && !part.current?.contains(target)) setAsking(false);
    };
    const elsewhere = ["pointerdown", "focusin"];
    elsewhere.forEach((kind) => document.addEventListener(kind, leave));
    return () => elsewhere.forEach((kind) => document.removeEventListener(kind, leave));
  }, [isAsking]);
  const confirm = () => {
    setAsking(false);
    onCancel();
  };
  return (
    <span ref={part} className="cancel">
      <button type="button" className="button" aria-expanded={isAsking} disabled={isDisabled} title={title} onClick={() => setAsking(!isAsking)}>
        {label}
      </button>
      {isAsking && (
        <button type="button" className="button button-bad cancel-sure" disabled={isDisabled} onClick={confirm}>
          Really cancel?
        </button>
      )}
    </span>
  );
}
