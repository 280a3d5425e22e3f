/** Asks once more, at another place, before it does what cannot be undone. */
import { useEffect, useState } from "react";

const SURE_MS = 5_000;

interface CancelButtonProps {
  label: string;
  isDisabled: boolean;
  title?: string;
  onCancel: () => void;
}

/** A second click at the same place takes the question back, so that a double click cancels nothing. */
export function CancelButton({ label, isDisabled, title, onCancel }: CancelButtonProps) {
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    if (!isAsking) return;
    const timer = setTimeout(() => setAsking(false), SURE_MS);
    return () => clearTimeout(timer);
  }, [isAsking]);
  const confirm = () => {
    setAsking(false);
    onCancel();
  };
  return (
    <span className="cancel">
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
