/** When each node ran: the iterations around the one that is looked at, or the whole run. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useNow } from "../../app/clock";
import { chooseIteration, selectNode, useJournal, useRunStore, useRunView } from "../../app/run";
import { Gantt } from "../../charts";
import { attemptOf, pathOf, placeOf, scopeOf, splitIteration, type LoopState } from "../../journal";
import { numberLookedAt } from "./focus";
import { spansAround, spansOfRun } from "./spans";

interface TimelineProps {
  loop: LoopState | undefined;
  /** The whole run instead of the loop. */
  isWhole?: boolean;
}

export function Timeline({ loop, isWhole = false }: TimelineProps) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const isOpen = useRunView((view) => view.journal.open.size > 0);
  const lastAt = useRunView((view) => view.journal.lastAt);
  const now = useNow(isOpen);
  const number = loop ? numberLookedAt(loop, chosen) : 0;
  const spans = useJournal(
    (journal) => (loop && !isWhole ? spansAround(journal, loop, number) : spansOfRun(journal, loop, number)),
    [loop, number, isWhole],
  );
  const [frame, width] = useWidth();
  const onSelect = useCallback(
    (address: string) => {
      const own = splitIteration(address);
      const split = own ?? splitIteration(scopeOf(placeOf(address)));
      if (split && store.getState().journal.loops.has(split.loop)) chooseIteration(store, split.loop, split.number);
      if (!own) selectNode(store, pathOf(address));
    },
    [store],
  );
  const selected = useRunView((view) => view.selected);
  const picked = selected && spans.find((span) => pathOf(span.address) === selected && span.column === `#${number}` && attemptOf(span.address) >= 1)?.address;
  return (
    <div ref={frame} className={isWhole ? "timeline timeline-whole" : "timeline"} tabIndex={0} role="region" aria-label="when each node ran">
      {width > 0 && <Gantt spans={spans} now={isOpen ? Math.max(now, lastAt) : lastAt} width={width} chosenColumn={`#${number}`} selected={picked || ""} onSelect={onSelect} />}
    </div>
  );
}

/** The width of an element, as it changes. */
function useWidth(): [React.RefObject<HTMLDivElement | null>, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const watcher = new ResizeObserver(([entry]) => entry && setWidth(Math.max(320, Math.floor(entry.contentRect.width))));
    watcher.observe(element.current);
    return () => watcher.disconnect();
  }, []);
  return [element, width];
}
