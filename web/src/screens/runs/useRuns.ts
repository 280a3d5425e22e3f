/** The runs page by page, with every change since they were loaded. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { followChanges, type Connection, type RunItem } from "../../api";
import { nextFrame } from "../../journal";
import { useClient, useLoad } from "../../app/session";
import { askedFor, merged, type Filters } from "./list";

const PAGE = 50;

export interface LiveRuns {
  runs: RunItem[] | null;
  workflows: string[];
  /** How many there are; null where only looking at each tells. */
  total: number | null;
  hasMore: boolean;
  isLoading: boolean;
  error: unknown;
  connection: Connection;
  loadMore: () => void;
  reload: () => void;
}

export function useRuns(filters: Filters): LiveRuns {
  const key = JSON.stringify(filters);
  const asked = useMemo(() => JSON.parse(key) as Filters, [key]);
  const client = useClient();
  const first = useLoad((api, signal) => api.runs({ ...askedFor(asked), limit: PAGE }, signal), [asked]);
  const [more, setMore] = useState<{ of: unknown; runs: RunItem[]; next: string | null; isLoading: boolean; error: unknown }>();
  const [changed, setChanged] = useState<ReadonlyMap<string, RunItem>>(new Map());
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => followInFrames(client, setChanged, setConnection), [client]);
  const later = more && more.of === first.value ? more : undefined;
  const next = later ? later.next : (first.value?.next ?? null);
  const loadMore = useCallback(() => {
    if (!next || !first.value) return;
    const before = { of: first.value, runs: later?.runs ?? [], next, error: null };
    setMore({ ...before, isLoading: true });
    client.runs({ ...askedFor(asked), limit: PAGE, before: next }).then(
      (page) => setMore({ ...before, runs: [...before.runs, ...page.runs], next: page.next, isLoading: false }),
      (error: unknown) => setMore({ ...before, isLoading: false, error }),
    );
  }, [client, asked, next, first.value, later]);
  const runs = useMemo(
    () => first.value && merged([...first.value.runs, ...(later?.runs ?? [])], changed, asked),
    [first.value, later, changed, asked],
  );
  const known = first.value?.workflows ?? [];
  const workflows = [...new Set([...known, ...[...changed.values()].map((run) => run.name)])].sort();
  return {
    runs,
    workflows,
    total: first.value?.total ?? null,
    hasMore: next !== null,
    isLoading: first.isLoading || Boolean(later?.isLoading),
    error: first.error ?? later?.error ?? null,
    connection,
    loadMore,
    reload: first.reload,
  };
}

type Put = (change: (before: ReadonlyMap<string, RunItem>) => ReadonlyMap<string, RunItem>) => void;

/** Takes changes in once a frame: a thousand runs that start together are a few renderings. */
function followInFrames(client: Parameters<typeof followChanges>[0], put: Put, onState: (state: Connection) => void): () => void {
  let waiting: RunItem[] = [];
  const take = () => {
    const batch = waiting;
    waiting = [];
    put((before) => new Map([...before, ...batch.map((run) => [run.id, run] as const)]));
  };
  const onRun = (run: RunItem) => {
    waiting.push(run);
    if (waiting.length === 1) nextFrame(take);
  };
  return followChanges(client, onRun, onState).close;
}
