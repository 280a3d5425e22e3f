/** The time, for what grows older while it is looked at. */
import { useEffect, useState } from "react";

/** Seconds since the epoch, again every `everyMs` while `isOn`. */
export function useNow(isOn = true, everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now() / 1_000);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => setNow(Date.now() / 1_000), everyMs);
    return () => clearInterval(timer);
  }, [isOn, everyMs]);
  return now;
}
