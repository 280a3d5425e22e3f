/** The journal itself, newest first in reach: every event as it was written. */
import { useEffect, useMemo, useState } from "react";
import { followLatest, useRunStore, useRunView } from "../../app/run";
import { useClient } from "../../app/session";
import { ErrorNotice, Loading } from "../../app/Notice";
import { Value } from "../../app/Value";
import { VirtualTable, type Column } from "../../charts";
import { isObject, tokensOf, usageFrom, words, type JournalEvent, type Json } from "../../journal";

const FIRST = 1_000;
const PAGE = 1_000;

export function JournalTab({ id }: { id: string }) {
  const { events, error, earlier, loadEarlier } = useEvents(id);
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState<number | null>(null);
  const isFollowing = useRunView((view) => view.isFollowing);
  const store = useRunStore();
  const rows = useMemo(() => (events ?? []).filter((event) => fits(event, search.toLowerCase())), [events, search]);
  const start = events?.[0]?.at ?? 0;
  const columns = useMemo(() => columnsFrom(start), [start]);
  const shown = rows.find((event) => event.seq === open);
  if (error !== null) return <ErrorNotice error={error} />;
  if (!events) return <Loading what="the journal" />;
  return (
    <div className="journal-tab">
      <div className="journal-tools">
        <input type="search" aria-label="Search the journal" placeholder="Search kind or address" value={search} onChange={(event) => setSearch(event.target.value)} />
        <span className="faint figure">
          {rows.length} of {events.length} events
        </span>
        {earlier && (
          <button type="button" className="button button-small" onClick={loadEarlier}>
            Load earlier events
          </button>
        )}
        <button type="button" className="button button-small" aria-pressed={isFollowing} onClick={() => followLatest(store, !isFollowing)}>
          <span aria-hidden="true">{isFollowing ? "◉" : "○"}</span> follow the newest
        </button>
      </div>
      <div className="journal-columns">
        <VirtualTable
          label="journal"
          rows={rows}
          columns={columns}
          rowKey={(event) => event.seq ?? 0}
          rowHeight={28}
          height="100%"
          selectedKey={open}
          onSelect={(event) => setOpen(event.seq)}
          isFollowing={isFollowing && open === null}
        />
        {shown && (
          <section className="journal-event" aria-label={`event ${shown.seq}`}>
            <header className="drawer-head">
              <h2>
                <span className="figure">{shown.seq}</span> {shown.kind}
              </h2>
              <button type="button" className="button button-icon" aria-label="close the event" onClick={() => setOpen(null)}>
                ✕
              </button>
            </header>
            {shown.address && <p className="mono faint">{words.visible(shown.address)}</p>}
            <Value run={id} value={shown.body ?? null} />
          </section>
        )}
      </div>
    </div>
  );
}

function fits(event: JournalEvent, search: string): boolean {
  return !search || event.kind.includes(search) || event.address.toLowerCase().includes(search);
}

function columnsFrom(start: number): Column<JournalEvent>[] {
  return [
    { key: "seq", head: "#", isNumber: true, cell: (event) => event.seq, width: "60px" },
    { key: "at", head: "after", isNumber: true, cell: (event) => (event.at === undefined ? "" : words.duration(event.at - start)), width: "80px" },
    { key: "kind", head: "event", cell: (event) => event.kind, width: "150px" },
    { key: "address", head: "address", cell: (event) => <span className="mono">{words.visible(event.address)}</span> },
    { key: "body", head: "details", cell: (event) => <span className="faint">{words.visible(summary(event))}</span> },
  ];
}

/** The few words of an event that say most. */
function summary(event: JournalEvent): string {
  const body = event.body ?? {};
  const named = ["status", "score", "number", "branch", "for"].flatMap((name) => (isPlain(body[name]) ? [`${name} ${body[name]}`] : []));
  const plain = ["code", "message", "reason", "kind", "model"].flatMap((name) => (isPlain(body[name]) ? [String(body[name])] : []));
  const end = isPlain(body["exit_reason"]) ? [words.endWords(String(body["exit_reason"]), isPlain(body["stopped_by"]) ? String(body["stopped_by"]) : null)] : [];
  return [...named, ...end, ...plain, ...errorParts(body["error"]), ...usageParts(body["usage"])].join(" · ").slice(0, 200);
}

const isPlain = (value: Json | undefined): boolean => (typeof value === "string" && value !== "") || typeof value === "number";

function errorParts(error: Json | undefined): string[] {
  return isObject(error) ? [`${String(error["code"] ?? "")} ${String(error["message"] ?? "")}`.trim()] : [];
}

function usageParts(told: Json | undefined): string[] {
  if (!isObject(told)) return [];
  const usage = usageFrom(told);
  return [tokensOf(usage) ? `${words.tokens(tokensOf(usage))} tokens` : "", usage.cost_usd || usage.unpriced ? words.cost(usage) : ""].filter(Boolean);
}

/** The newest events first, then what is added, and what came before when it is asked for. */
function useEvents(id: string) {
  const client = useClient();
  const store = useRunStore();
  const lastSeq = useRunView((view) => view.journal.lastSeq);
  const [state, setState] = useState<{ events: JournalEvent[] | null; error: unknown }>({ events: null, error: null });
  const events = state.events;
  const known = events?.at(-1)?.seq ?? null;
  useEffect(() => {
    const after = known ?? Math.max(0, store.getState().journal.lastSeq - FIRST);
    if (known !== null && known >= lastSeq) return;
    const abort = new AbortController();
    client.events(id, after, PAGE, abort.signal).then(
      (page) => setState((before) => ({ events: [...(before.events ?? []), ...page.events.filter((one) => (one.seq ?? 0) > (before.events?.at(-1)?.seq ?? 0))], error: null })),
      (error: unknown) => abort.signal.aborted || setState((before) => ({ ...before, error })),
    );
    return () => abort.abort();
  }, [client, id, store, known, lastSeq]);
  const first = events?.[0]?.seq ?? 1;
  const loadEarlier = () => {
    const after = Math.max(0, first - 1 - PAGE);
    client.events(id, after, Math.min(PAGE, first - 1 - after)).then(
      (page) => setState((before) => ({ ...before, events: [...page.events.filter((one) => (one.seq ?? 0) < (before.events?.[0]?.seq ?? 0)), ...(before.events ?? [])] })),
      (error: unknown) => setState((before) => ({ ...before, error })),
    );
  };
  return { ...state, earlier: first > 1, loadEarlier };
}
