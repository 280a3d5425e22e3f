/** Keeps the records of what is looked at: loaded again as the run goes on, not more often than they take. */
import { useEffect } from "react";
import { ApiError, type Client, type Graph, type RecordItem } from "../api";
import { changesUntil, listOf, noteItems, placeOf, placesWanted } from "../journal";
import { useRunStore, type RunStore } from "./run";
import { useClient } from "./session";

const PAUSE_MS = 300;
/** The server works for these as long as they take: most of its time is for others. */
const SHARE = 4;
const RECORDS_MAX = 1_000;

export function useRecordLoading(graph: Graph): void {
  const client = useClient();
  const store = useRunStore();
  useEffect(() => keepRecords(store, client, graph.nodes.map((node) => node.path)), [store, client, graph]);
}

/** Loads whenever something that is looked at may have changed, until it is closed. */
export function keepRecords(store: RunStore, client: Pick<Client, "records">, paths: readonly string[]): () => void {
  const loaded = new Map<string, { until: number; records: RecordItem[] }>();
  const abort = new AbortController();
  let isBusy = false;

  const look = () => {
    const { id, journal, chosen, unrolled } = store.getState();
    if (isBusy || abort.signal.aborted || journal.lastSeq === 0) return;
    const wanted = [...placesWanted(journal, paths, chosen), ...unrolled];
    const stale = wanted.filter((place) => (loaded.get(place)?.until ?? 0) < changesUntil(journal, place));
    if (stale.length > 0) void load(id, stale, new Set(wanted));
  };
  const load = async (id: string, stale: readonly string[], wanted: ReadonlySet<string>) => {
    isBusy = true;
    const { journal } = store.getState();
    const [until, started] = [journal.lastSeq, performance.now()];
    const found = await Promise.all(stale.map((place) => recordsAt(client, id, place, abort.signal)));
    if (abort.signal.aborted) return;
    for (const [index, place] of stale.entries()) {
      const records = found[index];
      if (records) loaded.set(place, { until, records });
    }
    for (const place of [...loaded.keys()]) if (!wanted.has(place)) loaded.delete(place);
    const all = [...loaded.values()].flatMap((one) => one.records);
    const isNew = noteItems(journal, all);
    const records = new Map(all.map((record) => [placeOf(record.address), record]));
    store.setState(isNew ? { records, version: journal.version } : { records });
    setTimeout(
      () => {
        isBusy = false;
        look();
      },
      Math.max(PAUSE_MS, (performance.now() - started) * (SHARE - 1)),
    );
  };
  const forget = store.subscribe(look);
  look();
  return () => {
    forget();
    abort.abort();
  };
}

/** Null where they cannot be had now; a place at which nothing has begun has none. */
async function recordsAt(client: Pick<Client, "records">, id: string, place: string, signal: AbortSignal): Promise<RecordItem[] | null> {
  const list = listOf(place);
  try {
    const query = list === null ? { at: place } : { at: list, depth: 1, repetitions: "true" };
    return (await client.records(id, { ...query, limit: RECORDS_MAX }, signal)).records;
  } catch (error) {
    return error instanceof ApiError && error.status === 404 ? [] : null;
  }
}
