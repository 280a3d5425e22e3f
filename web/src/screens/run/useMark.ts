/** The mark of a run: the server's word, and until it has come, what the loops in the journal tell. */
import type { RunDetail } from "../../api";
import { useJournal } from "../../app/run";
import { markOfLoops, type Mark } from "../../journal";

export function useMark(detail: RunDetail | null): Mark | null {
  const told = useJournal((journal) => (journal.run.status === "succeeded" ? markOfLoops(journal) : null));
  return detail?.status === "succeeded" ? (detail.mark ?? null) : told;
}
