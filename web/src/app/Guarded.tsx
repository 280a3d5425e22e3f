/** Buttons that do nothing in their first second: a click that was meant for what stood there before is lost. */
import { useEffect, useState, type MouseEvent, type ReactNode } from "react";

export const GUARD_MS = 1_000;

/** Give it the `key` of what its buttons are about, so that each swap begins a new second. */
export function Guarded({ label, children }: { label: string; children: ReactNode }) {
  const [isClosed, setClosed] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setClosed(false), GUARD_MS);
    return () => clearTimeout(timer);
  }, []);
  const guard = (event: MouseEvent) => {
    if (!isClosed || !(event.target as Element).closest("button, a")) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="guarded" role="group" aria-label={label} aria-disabled={isClosed} onClickCapture={guard}>
      {children}
    </div>
  );
}
