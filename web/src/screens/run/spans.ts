/** What the timelines of a run show: bounded, however long the run is. Pure. */
import type { Span } from "../../charts";
import { iterationAddress, iterationOf, nameOf, nodesIn, outerLoops, type Journal, type LoopState, type NodeState } from "../../journal";
import { shownNumbers } from "./unrolled";

const ITERATIONS_MAX = 24;
const WHOLE_MAX = 60;
const BARS_MAX = 600;

/** The iterations of a loop around one of them. */
export function spansAround(journal: Journal, loop: LoopState, number: number, most = ITERATIONS_MAX): Span[] {
  const numbers = shownNumbers(loop, number, most);
  const bars = numbers.flatMap((one) => barsIn(journal, iterationAddress(loop.address, one), `#${one}`));
  return fewEnough(bars.length > 0 ? bars : numbers.flatMap((one) => wholeIteration(loop, one)));
}

/** A loop whose steps only compute has nothing to show but its iterations. */
function wholeIteration(loop: LoopState, number: number): Span[] {
  const iteration = iterationOf(loop, number);
  if (!iteration) return [];
  const { startedAt: start, endedAt: end, status, address } = iteration;
  return [{ row: nameOf(loop.address), column: `#${number}`, start, end, status, address, label: `#${number}` }];
}

/** The whole run; of loops with very many iterations those around one of them, or the newest. */
export function spansOfRun(journal: Journal, loop: LoopState | undefined, number: number): Span[] {
  const loops = outerLoops(journal).flatMap((outer) =>
    spansAround(journal, outer, outer.address === loop?.address ? number : outer.number, WHOLE_MAX),
  );
  const lists = (journal.scopes.get("")?.loops ?? []).filter((address) => !journal.loops.has(address));
  const items = lists.flatMap((list) => {
    const count = journal.items.get(list) ?? 0;
    const from = Math.max(1, count - WHOLE_MAX + 1);
    return Array.from({ length: count - from + 1 }, (_, index) => from + index).flatMap((one) =>
      barsIn(journal, iterationAddress(list, one), `#${one}`),
    );
  });
  return fewEnough([...barsOf(nodesIn(journal, ""), ""), ...loops, ...items]);
}

const barsIn = (journal: Journal, scope: string, column: string): Span[] => barsOf(nodesIn(journal, scope, true), column, scope);

function barsOf(nodes: readonly NodeState[], column: string, scope = ""): Span[] {
  return nodes.flatMap((node) =>
    node.attempts.map((attempt) => ({
      row: node.name,
      column,
      start: attempt.startedAt,
      end: attempt.endedAt,
      status: attempt.status,
      address: attempt.address,
      label: node.name,
      inner: innerOf(node.scope, scope),
    })),
  );
}

/** The numbers of the iterations between a place and the column that it stands in: `2.1`. */
const innerOf = (scope: string, column: string): string => [...scope.slice(column.length).matchAll(/\[(\d+)\]/g)].map((found) => found[1]).join(".");

/** The newest, in the order in which they began: so that rows have the same order everywhere. */
const fewEnough = (spans: Span[]): Span[] => spans.sort((one, other) => one.start - other.start).slice(-BARS_MAX);
