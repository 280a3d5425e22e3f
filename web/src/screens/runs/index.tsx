/** All runs of the project, newest first, kept live. */
import { useEffect, useRef, useState } from "react";
import type { ScreenProps } from "..";
import { useNow } from "../../app/clock";
import { useKeys } from "../../app/keys";
import { Empty, ErrorNotice, LiveIndicator, Loading } from "../../app/Notice";
import { Link, navigate, runPath } from "../../app/router";
import { useTitle } from "../../app/title";
import { VirtualTable } from "../../charts";
import { columnsAt, rowClass } from "./columns";
import { FilterBar } from "./FilterBar";
import { filtersFrom, hasFilters, NO_FILTERS, steppedRow, type Filters } from "./list";
import { useRuns } from "./useRuns";

const AGE_MS = 5_000;

export default function Runs({ query }: ScreenProps) {
  const filters = filtersFrom(query);
  const live = useRuns(filters);
  const now = useNow(true, AGE_MS);
  const [at, setAt] = useState<string | null>(null);
  const runs = live.runs ?? [];
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    // The row that was walked to has the focus, so that Enter opens it.
    const row = at === null ? null : list.current?.querySelector<HTMLElement>('tr[aria-selected="true"]');
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const change = (wanted: Filters) => navigate("/", { ...wanted }, { replace: true });
  const columns = columnsAt(now, filters, change);
  const waiting = runs.filter((run) => run.status === "waiting").length;
  useTitle("Runs", waiting);
  const step = (by: number) => setAt((before) => steppedRow(runs, before, by));
  useKeys({
    j: { label: "next run", run: () => step(1) },
    k: { label: "previous run", run: () => step(-1) },
    o: { label: "open the run", run: () => at && navigate(runPath(at)) },
    "/": { label: "search", run: () => document.getElementById("filter-search")?.focus() },
  });
  return (
    <section ref={list} className="screen screen-runs">
      <div className="screen-head">
        <h1>Runs</h1>
        <FilterBar filters={filters} workflows={live.workflows} onChange={change} />
        <LiveIndicator state={live.connection} />
      </div>
      {live.error !== null && <ErrorNotice error={live.error} onRetry={live.reload} />}
      {live.runs === null && live.error === null && <Loading what="the runs" />}
      {live.runs?.length === 0 && (hasFilters(filters) ? <NothingFits onClear={() => change(NO_FILTERS)} /> : <NoRuns />)}
      {runs.length > 0 && (
        <>
          <VirtualTable
            label="runs"
            rows={runs}
            columns={columns}
            rowKey={(run) => run.id}
            rowHeight={40}
            height="100%"
            selectedKey={at}
            rowClass={rowClass}
            onSelect={(run) => navigate(runPath(run.id))}
          />
          <p className="table-foot">
            <span className="figure">
              {countWords(runs.length, live.hasMore ? live.total : runs.length)}
            </span>
            {live.hasMore && (
              <button type="button" className="button" onClick={live.loadMore} disabled={live.isLoading}>
                {live.isLoading ? "Loading…" : "Load older runs"}
              </button>
            )}
          </p>
        </>
      )}
    </section>
  );
}

/** "50 of 512 runs"; where nobody has counted them, only how many are shown. */
export function countWords(shown: number, total: number | null): string {
  if (total === null) return `${shown} runs shown`;
  return total > shown ? `${shown} of ${total.toLocaleString("en")} runs` : `${shown} ${shown === 1 ? "run" : "runs"}`;
}

function NothingFits({ onClear }: { onClear: () => void }) {
  return (
    <Empty title="No run matches these filters">
      <button type="button" className="button" onClick={onClear}>
        Show all runs
      </button>
    </Empty>
  );
}

function NoRuns() {
  return (
    <Empty title="No runs yet">
      <p>
        Choose a workflow of this project and start it: <Link to="/workflows">Workflows</Link>
      </p>
      <p>Or from a terminal, in this folder:</p>
      <pre className="command">whorl run FILE "what it is about"</pre>
      <p className="help">
        No file yet? <code>whorl new</code> writes one from a template. Runs that are started elsewhere appear here by themselves.
      </p>
    </Empty>
  );
}
