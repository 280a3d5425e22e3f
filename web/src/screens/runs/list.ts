/** The list of runs as it stands: what was loaded, what has changed since, what is asked for. Pure. */
import type { RunItem } from "../../api";
import { words } from "../../journal";

export interface Filters {
  status: string;
  workflow: string;
  search: string;
  /** Days such as 2026-01-31, both included, in the zone of the browser. */
  since: string;
  until: string;
  /** Dollars that a run has cost at least. */
  cost: string;
  sort: string;
  /** "1" where the least comes first. */
  reverse: string;
}

export const STATUSES = ["running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled"] as const;

export const NO_FILTERS: Filters = { status: "", workflow: "", search: "", since: "", until: "", cost: "", sort: "", reverse: "" };

export function filtersFrom(query: Record<string, string>): Filters {
  const sort = query["sort"] ?? "";
  const given = Object.fromEntries(Object.keys(NO_FILTERS).map((name) => [name, query[name] ?? ""])) as unknown as Filters;
  return { ...given, sort: sort in SORTED_BY ? sort : "" };
}

/** Whether something is left out; the order leaves nothing out. */
export const hasFilters = ({ sort: _, reverse: __, ...filters }: Filters): boolean => Object.values(filters).some(Boolean);

const DAY_S = 86_400;

/** When a day begins, in seconds. */
export function dayStart(day: string): number | null {
  const at = /^\d{4}-\d\d-\d\d$/.test(day) ? new Date(`${day}T00:00:00`).getTime() : Number.NaN;
  return Number.isFinite(at) ? at / 1_000 : null;
}

const amountFrom = (text: string): number | null => (text.trim() !== "" && Number(text) >= 0 ? Number(text) : null);

/** What the server is asked for. */
export function askedFor({ status, workflow, search, since, until, cost, sort, reverse }: Filters) {
  const last = dayStart(until);
  return {
    status,
    workflow,
    search,
    since: dayStart(since),
    until: last === null ? null : last + DAY_S,
    cost_min: amountFrom(cost),
    sort,
    reverse: reverse ? "true" : "",
  };
}

const SORTED_BY: Record<string, (run: RunItem) => number> = {
  started: (run) => run.created_at,
  cost: (run) => run.cost_usd ?? 0,
  score: (run) => run.score ?? -Infinity,
  time: (run) => run.seconds,
};

/** A click on a head sorts by it, another one turns the order round. */
export function sortedBy(filters: Filters, key: string): Filters {
  const isSame = (filters.sort || "started") === key;
  return { ...filters, sort: key === "started" ? "" : key, reverse: isSame && !filters.reverse ? "1" : "" };
}

/** Whether a run that has changed belongs into the list; the server decides the same for pages. */
export function fits(run: RunItem, filters: Filters): boolean {
  const { status, workflow, search } = filters;
  const asked = askedFor(filters);
  if (status && run.status !== status) return false;
  if (workflow && run.name !== workflow) return false;
  if (run.created_at < (asked.since ?? 0) || run.created_at >= (asked.until ?? Infinity)) return false;
  if ((run.cost_usd ?? 0) < (asked.cost_min ?? 0)) return false;
  const wanted = search.toLowerCase();
  return !wanted || [run.id, run.name, run.file, run.given].some((text) => text.toLowerCase().includes(wanted));
}

/** Newest first; a run that has changed is shown as it is now, or no longer if it does not fit. */
export function merged(pages: readonly RunItem[], changed: ReadonlyMap<string, RunItem>, filters: Filters): RunItem[] {
  const all = new Map(pages.map((run) => [run.id, run]));
  for (const [id, run] of changed) {
    const known = all.get(id);
    if (known && known.last_seq > run.last_seq) continue;
    // Of long inputs only the server knows whether they hold the words.
    if (fits(run, known ? { ...filters, search: "" } : filters)) all.set(id, run);
    else all.delete(id);
  }
  const by = SORTED_BY[filters.sort] ?? SORTED_BY["started"];
  const sign = filters.reverse ? -1 : 1;
  const order = (one: RunItem, other: RunItem) => compared(by?.(other) ?? 0, by?.(one) ?? 0) || compared(other.created_at, one.created_at) || (one.id < other.id ? 1 : -1);
  return [...all.values()].sort((one, other) => sign * order(one, other));
}

const compared = (one: number, other: number): number => (one === other ? 0 : one < other ? -1 : 1);

/** The row some steps further on. */
export function steppedRow(runs: readonly RunItem[], id: string | null, step: number): string | null {
  if (runs.length === 0) return null;
  const index = runs.findIndex((run) => run.id === id);
  if (index < 0) return runs[step > 0 ? 0 : runs.length - 1]?.id ?? null;
  return runs[Math.min(runs.length - 1, Math.max(0, index + step))]?.id ?? null;
}

/** `refine 3/4`: how far the outermost loop is. */
export function loopWords(run: RunItem): string {
  if (!run.loop) return "–";
  return `${run.iteration}/${run.iterations_max || "∞"}`;
}

const ENDED = ["succeeded", "failed", "cancelled"];

/** Why it ended; of a run that rests, when it resumes by itself, or what it waits behind. */
export function exitWords(run: RunItem, now = 0): string {
  if (run.status === "waiting" && run.due !== null) return run.due > now ? `continues in ${words.age(run.due - now)}` : "continues now";
  if (run.waiting_for && (run.status === "interrupted" || run.position != null)) return run.waiting_for.reason;
  if (!ENDED.includes(run.status)) return "–";
  if (run.exit_reason) return words.endWords(run.exit_reason, run.stopped_by);
  return run.error ?? "–";
}
