/** One node, close up, beside the picture; its neighbours are a key away. */
import { useEffect, useRef } from "react";
import type { Graph } from "../../api";
import { selectNode, useJournal, useRunStore, useRunView } from "../../app/run";
import { addressOf, words } from "../../journal";
import { neighbour, readingOrder } from "./focus";
import { NodeView } from "./NodeView";

interface DrawerProps {
  id: string;
  graph: Graph;
  path: string;
  /** Whether another process drives the run. */
  isElsewhere: boolean;
}

export function Drawer({ id, graph, path, isElsewhere }: DrawerProps) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const address = useJournal((journal) => addressOf(journal, path, chosen), [path, chosen]);
  const node = graph.nodes.find((one) => one.path === path);
  const title = useRef<HTMLHeadingElement>(null);
  const opener = useRef<Element | null>(null);
  const close = () => {
    selectNode(store, "");
    if (opener.current instanceof HTMLElement) opener.current.focus({ preventScroll: true });
  };
  useEffect(() => {
    opener.current = document.activeElement;
    title.current?.focus({ preventScroll: true });
  }, []);
  const go = (step: 1 | -1) => selectNode(store, neighbour(readingOrder(graph), path, step));
  return (
    <section
      className="drawer"
      role="dialog"
      aria-label={`step ${node?.title || path}`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
    >
      <header className="drawer-head">
        <h2 ref={title} tabIndex={-1}>
          {words.visible(node?.title || node?.name || path)}
        </h2>
        <button type="button" className="button button-icon" aria-label="previous step" title="previous step ([)" onClick={() => go(-1)}>
          ◂
        </button>
        <button type="button" className="button button-icon" aria-label="next step" title="next step (])" onClick={() => go(1)}>
          ▸
        </button>
        <button type="button" className="button button-icon" aria-label="close" title="close (Escape)" onClick={close}>
          ✕
        </button>
      </header>
      <NodeView key={address} id={id} address={address} graph={graph} node={node} path={path} isElsewhere={isElsewhere} />
    </section>
  );
}
