/** Filters of the list: by status, by workflow, by words, by day, by cost. */
import { useEffect, useState } from "react";
import { hasFilters, NO_FILTERS, STATUSES, type Filters } from "./list";

interface FilterBarProps {
  filters: Filters;
  workflows: readonly string[];
  onChange: (filters: Filters) => void;
}

const TYPING_MS = 250;

export function FilterBar({ filters, workflows, onChange }: FilterBarProps) {
  return (
    <form className="filters" role="search" aria-label="filters" onSubmit={(event) => event.preventDefault()}>
      <label className="sr-only" htmlFor="filter-status">
        Status
      </label>
      <select id="filter-status" value={filters.status} onChange={(event) => onChange({ ...filters, status: event.target.value })}>
        <option value="">any status</option>
        {STATUSES.map((status) => (
          <option key={status}>{status}</option>
        ))}
      </select>
      <label className="sr-only" htmlFor="filter-workflow">
        Workflow
      </label>
      <select id="filter-workflow" value={filters.workflow} onChange={(event) => onChange({ ...filters, workflow: event.target.value })}>
        <option value="">any workflow</option>
        {[...new Set([...workflows, ...(filters.workflow ? [filters.workflow] : [])])].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <Search text={filters.search} onChange={(search) => onChange({ ...filters, search })} />
      <label className="filter-day">
        from
        <input type="date" aria-label="From" value={filters.since} max={filters.until || undefined} onChange={(event) => onChange({ ...filters, since: event.target.value })} />
      </label>
      <label className="filter-day">
        to
        <input type="date" aria-label="To" value={filters.until} min={filters.since || undefined} onChange={(event) => onChange({ ...filters, until: event.target.value })} />
      </label>
      <label className="filter-day">
        cost from $
        <input type="number" aria-label="Cost from" min={0} step="any" value={filters.cost} onChange={(event) => onChange({ ...filters, cost: event.target.value })} />
      </label>
      {hasFilters(filters) && (
        <button type="button" className="button button-quiet" onClick={() => onChange({ ...NO_FILTERS, sort: filters.sort, reverse: filters.reverse })}>
          Clear
        </button>
      )}
    </form>
  );
}

function Search({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  // The address may change by itself: Back, or Clear.
  const [known, setKnown] = useState(text);
  if (known !== text) {
    setKnown(text);
    setTyped(text);
  }
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onChange(typed), TYPING_MS);
    return () => clearTimeout(timer);
  });
  return (
    <input
      id="filter-search"
      type="search"
      placeholder="Search inputs, id, workflow, file"
      aria-label="Search"
      value={typed}
      maxLength={200}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}
