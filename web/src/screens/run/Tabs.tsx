/** Tabs that are moved between with the arrows, as assistive technology expects them. */
import type { KeyboardEvent } from "react";

export const TABS = { graph: "Graph", timeline: "Timeline", journal: "Journal", data: "Input / Output" } as const;

export type Tab = keyof typeof TABS;

const ORDER = Object.keys(TABS) as Tab[];

export const tabFrom = (text: string | undefined): Tab => ORDER.find((tab) => tab === text) ?? "graph";

export function Tabs({ tab, onTab }: { tab: Tab; onTab: (tab: Tab) => void }) {
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = ORDER[(ORDER.indexOf(tab) + step + ORDER.length) % ORDER.length] ?? "graph";
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label="views of the run" onKeyDown={move}>
      {ORDER.map((one) => (
        <button key={one} id={`tab-${one}`} type="button" role="tab" className="tab" aria-selected={one === tab} aria-controls="tab-panel" tabIndex={one === tab ? 0 : -1} onClick={() => onTab(one)}>
          {TABS[one]}
        </button>
      ))}
    </div>
  );
}
