/** The list of runs as it stands: what was loaded, what has changed since, what is asked for. Pure. */
import type { RunItem } from "../../api";

export interface Filters {
  status: string;
  workflow: string;
  search: string;
}

export const STATUSES = ["running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled"] as const;

export const NO_FILTERS: Filters = { status: "", workflow: "", search: "" };

export function filtersFrom(query: Record<string, string>): Filters {
  return { status: query["status"] ?? "", workflow: query["workflow"] ?? "", search: query["search"] ?? "" };
}

export const hasFilters = (filters: Filters): boolean => Object.values(filters).some(Boolean);

/** Whether a run that has changed belongs into the list; the server decides the same for pages. */
export function fits(run: RunItem, { status, workflow, search }: Filters): boolean {
  if (status && run.status !== status) return false;
  if (workflow && run.name !== workflow) return false;
  const wanted = search.toLowerCase();
  return !wanted || [run.id, run.name, run.file].some((text) => text.toLowerCase().includes(wanted));
}

/** Newest first; a run that has changed is shown as it is now, or no longer if it does not fit. */
export function merged(pages: readonly RunItem[], changed: ReadonlyMap<string, RunItem>, filters: Filters): RunItem[] {
  const all = new Map(pages.map((run) => [run.id, run]));
  for (const [id, run] of changed) {
    const known = all.get(id);
    if (known && known.last_seq > run.last_seq) continue;
    if (fits(run, filters)) all.set(id, run);
    else all.delete(id);
  }
  return [...all.values()].sort((one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1));
}

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

/** Why it ended; a run that goes on has none, whatever ended a loop of it. */
export function exitWords(run: RunItem): string {
  if (!ENDED.includes(run.status)) return "–";
  if (run.exit_reason) return run.stopped_by ? `${run.exit_reason} (${run.stopped_by})` : run.exit_reason;
  return run.error ?? "–";
}
