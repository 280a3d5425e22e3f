/** When each node ran: the iterations around the one that is looked at, or the whole run. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useNow } from "../../app/clock";
import { chooseIteration, selectNode, useJournal, useRunStore, useRunView } from "../../app/run";
import { Gantt } from "../../charts";
import { attemptOf, pathOf, placeOf, scopeOf, splitIteration, tally, words, type LoopState } from "../../journal";
import { numberLookedAt } from "./focus";
import { spansAround, spansOfRun } from "./spans";

const STEPS_MAX = 100;

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
    <div ref={frame} className={isWhole ? "timeline timeline-whole" : "timeline"} tabIndex={0} role="region" aria-label="when each step ran">
      {width > 0 && <Gantt spans={spans} now={isOpen ? Math.max(now, lastAt) : lastAt} width={width} chosenColumn={`#${number}`} selected={picked || ""} onSelect={onSelect} />}
      {isWhole && <Steps />}
    </div>
  );
}

/** What each step came to over the whole run, the longest first. */
function Steps() {
  const store = useRunStore();
  const sums = useJournal((journal) => [...journal.places.keys()].map((path) => ({ path, ...tally(journal, path) })).filter((sum) => sum.total > 0).sort((one, other) => other.seconds - one.seconds));
  if (sums.length === 0) return null;
  return (
    <table className="figures step-sums">
      <caption>Time and cost of each step</caption>
      <thead>
        <tr>
          {["step", "times", "time", "tokens", "cost"].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {sums.slice(0, STEPS_MAX).map((sum) => (
          <tr key={sum.path}>
            <th scope="row">
              <button type="button" className="link" onClick={() => selectNode(store, sum.path)}>
                {words.visible(sum.path.split("/").join(" › "))}
              </button>
            </th>
            <td>{sum.total}</td>
            <td>{words.duration(sum.seconds)}</td>
            <td>{words.tokens(sum.tokens)}</td>
            <td>{words.cost(sum)}</td>
          </tr>
        ))}
      </tbody>
    </table>
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
