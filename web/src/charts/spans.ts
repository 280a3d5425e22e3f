/** The bars of a run's timeline: one for each attempt of each node. */
import { iterationAddress, nodesIn, type Journal } from "../journal";
import type { Span } from "./timeline";

const ITERATIONS_MAX = 60;

/** What ran in the iterations of a loop (the newest of very many), or in the whole run for "". */
export function spansOf(journal: Journal, loop = "", last = ITERATIONS_MAX): Span[] {
  if (!loop) return spansIn(journal, "", "");
  const iterations = journal.loops.get(loop)?.iterations ?? [];
  return iterations
    .slice(-last)
    .flatMap(({ number }) => spansIn(journal, iterationAddress(loop, number), `#${number}`));
}

function spansIn(journal: Journal, scope: string, column: string): Span[] {
  return nodesIn(journal, scope, true).flatMap((node) =>
    node.attempts.map((attempt) => ({
      row: node.name,
      column,
      start: attempt.startedAt,
      end: attempt.endedAt,
      status: attempt.status,
      address: attempt.address,
      label: node.name,
    })),
  );
}
