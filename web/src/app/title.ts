/** The title of the tab: what is looked at, and whether it waits for somebody. */
import { useEffect } from "react";

export function titleOf(what: string, waiting = 0): string {
  return `${waiting > 0 ? `(${waiting}) ` : ""}${what} · Whorl`;
}

export function useTitle(what: string, waiting = 0): void {
  useEffect(() => {
    document.title = titleOf(what, waiting);
    return () => {
      document.title = "Whorl";
    };
  }, [what, waiting]);
}
