/** A run on the page: its journal kept live, what is chosen of it, and hooks that read both. */
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { createStore, useStore, type StoreApi } from "zustand";
import { followRun, type Client, type Connection } from "../api";
import { createFeed, emptyJournal, pathOf, NO_RECORDS, splitIteration, scopeOf, type Chosen, type Journal, type Records, type RunStatus } from "../journal";
import { useClient } from "./session";

export interface RunView {
  readonly id: string;
  readonly journal: Journal;
  /** Changes whenever the journal has: what hooks listen to. */
  readonly version: number;
  readonly connection: Connection;
  /** Chosen iterations by the address of their loop. */
  readonly chosen: Chosen;
  /** Whether the newest iteration is looked at as soon as it begins. */
  readonly isFollowing: boolean;
  /** Path of the node that is looked at; "" for none. */
  readonly selected: string;
  /** Path of the loop that is looked at; "" for the outermost one. */
  readonly loop: string;
  /** The status that the server told, and up to which event it holds. */
  readonly told: { readonly status: string; readonly lastSeq: number } | null;
  /** The last event that was there when the page was opened: before it, the journal is not read. */
  readonly opensAt: number;
  /** Of what is looked at. */
  readonly records: Records;
  /** Iterations that are drawn beside the chosen ones. */
  readonly unrolled: readonly string[];
}

export type RunStore = StoreApi<RunView>;

export function createRunStore(id: string, journal: Journal = emptyJournal()): RunStore {
  return createStore<RunView>(() => ({
    id,
    journal,
    version: journal.version,
    connection: "connecting",
    chosen: {},
    isFollowing: true,
    selected: "",
    loop: "",
    told: null,
    opensAt: 0,
    records: NO_RECORDS,
    unrolled: [],
  }));
}

/**
 * Chooses an iteration and stops following; the newest one is chosen by following again.
 *
 * The iterations around it are chosen with it, so that it stays in view when they go on.
 */
export function chooseIteration(store: RunStore, loop: string, number: number): void {
  store.setState(({ chosen }) => ({
    chosen: { ...chosen, ...around(loop), [loop]: number },
    isFollowing: false,
    loop: pathOf(loop),
  }));
}

function around(loop: string): Record<string, number> {
  const split = splitIteration(scopeOf(loop));
  return split ? { ...around(split.loop), [split.loop]: split.number } : {};
}

/** Looks at a loop by its address, in the iterations around it that the address names. */
export function lookAt(store: RunStore, loop: string): void {
  const chosen = around(loop);
  store.setState({ loop: pathOf(loop), chosen, isFollowing: Object.keys(chosen).length === 0 });
}

/** Looks at a loop, by its path. */
export function lookAtLoop(store: RunStore, loop: string): void {
  store.setState({ loop });
}

/** The status of the run: the server's until the journal is read up to it, then the journal's, unless nobody drives the run. */
export function statusOf(view: RunView): RunStatus {
  const { journal, told } = view;
  if (told?.status === "interrupted" && journal.lastSeq <= told.lastSeq) return "interrupted";
  return told && isReading(view) ? (told.status as RunStatus) : journal.run.status;
}

/** Whether the journal is still being read that was there when the page was opened. */
export const isReading = ({ journal, opensAt }: RunView): boolean => journal.lastSeq < opensAt;

/** What the server says of the run; the first answer says how much there is to read. */
export function tell(store: RunStore, status: string, lastSeq: number): void {
  store.setState(({ told, opensAt }) => ({ told: lastSeq < (told?.lastSeq ?? 0) ? told : { status, lastSeq }, opensAt: opensAt || lastSeq }));
}

export function followLatest(store: RunStore, isFollowing = true): void {
  store.setState(isFollowing ? { isFollowing, chosen: {} } : { isFollowing });
}

export function selectNode(store: RunStore, path: string): void {
  store.setState({ selected: path });
}

/** Keeps a store fed from the server until it is closed. */
export function connectRun(store: RunStore, client: Client): () => void {
  const { id, journal } = store.getState();
  const feed = createFeed(journal, () => store.setState({ version: journal.version }));
  const stream = followRun(
    client,
    id,
    {
      onEvent: feed.event,
      onText: feed.text,
      onStatus: (status, lastSeq) => store.setState({ told: { status, lastSeq } }),
      onState: (connection) => store.setState({ connection }),
    },
    journal.lastSeq,
  );
  return stream.close;
}

const RunContext = createContext<RunStore | null>(null);

/** Opens a run for everything inside. */
export function RunProvider({ id, children }: { id: string; children: ReactNode }) {
  const client = useClient();
  const [store, setStore] = useState(() => createRunStore(id));
  if (store.getState().id !== id) setStore(createRunStore(id));
  useEffect(() => connectRun(store, client), [store, client]);
  return <RunContext value={store}>{children}</RunContext>;
}

/** For tests and for pages without a server: a run whose journal is given. */
export function RunStoreProvider({ store, children }: { store: RunStore; children: ReactNode }) {
  return <RunContext value={store}>{children}</RunContext>;
}

export function useRunStore(): RunStore {
  const store = useContext(RunContext);
  if (!store) throw new Error("useRunStore needs a RunProvider around it");
  return store;
}

/** A field of the view: `useRunView((view) => view.selected)`. */
export function useRunView<T>(select: (view: RunView) => T): T {
  return useStore(useRunStore(), select);
}

/** Asks the journal something, again after each change; `deps` are what `ask` uses besides. */
export function useJournal<T>(ask: (journal: Journal) => T, deps: unknown[] = []): T {
  const version = useRunView((view) => view.version);
  const journal = useRunView((view) => view.journal);
  // Whoever calls it says what `ask` uses, and the linter looks at that there.
  // eslint-disable-next-line react-hooks/exhaustive-deps, react-hooks/use-memo
  return useMemo(() => ask(journal), [journal, version, ...deps]);
}

/** One node, loop or the run: rendered again only when that very thing has changed. */
export function useNode(place: string) {
  return useRunView((view) => view.journal.nodes.get(place));
}

export function useLoop(address: string) {
  return useRunView((view) => view.journal.loops.get(address));
}

export function useRunState() {
  return useRunView((view) => view.journal.run);
}
