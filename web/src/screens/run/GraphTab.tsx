/** The workflow with what happens in it, and under it when each node ran. */
import { useCallback, useMemo, useState } from "react";
import type { Graph } from "../../api";
import { chooseIteration, lookAtLoop, selectNode, useJournal, useRunStore, useRunView } from "../../app/run";
import { canvasStates, GraphCanvas, loopChips } from "../../graph";
import { iterationOf, words, type LoopState } from "../../journal";
import { numberLookedAt } from "./focus";
import { Timeline } from "./Timeline";
import { isIteration, meaningOf, placeOn, shownNumbers, unrolled } from "./unrolled";

type View = "aggregated" | "unrolled";

export function GraphTab({ graph, loop }: { graph: Graph; loop: LoopState | undefined }) {
  const [view, setView] = useState<View>("aggregated");
  const isUnrolled = view === "unrolled" && loop !== undefined;
  return (
    <div className="graph-tab">
      <div className="graph-frame">
        {isUnrolled ? <Unrolled graph={graph} loop={loop} /> : <Aggregated graph={graph} />}
        {loop && <ViewSwitch view={view} onChange={setView} />}
      </div>
      <Timeline loop={loop} />
    </div>
  );
}

function ViewSwitch({ view, onChange }: { view: View; onChange: (view: View) => void }) {
  return (
    <div className="view-switch" role="group" aria-label="iterations in the graph">
      {(["aggregated", "unrolled"] as const).map((one) => (
        <button key={one} type="button" className="button button-small" aria-pressed={view === one} onClick={() => onChange(one)}>
          {one === "aggregated" ? "Aggregated" : "Unrolled"}
        </button>
      ))}
    </div>
  );
}

/** Each node once, as it is in the chosen iterations. */
function Aggregated({ graph }: { graph: Graph }) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const selected = useRunView((view) => view.selected);
  const loops = useMemo(() => new Set(graph.nodes.filter((node) => node.loop).map((node) => node.path)), [graph]);
  const states = useJournal((journal) => canvasStates(journal, graph, chosen), [graph, chosen]);
  const chips = useJournal((journal) => loopChips(journal, graph, chosen), [graph, chosen]);
  const onChoose = useCallback((loop: string, number: number) => chooseIteration(store, loop, number), [store]);
  const onSelect = useCallback(
    (path: string) => {
      if (loops.has(path)) lookAtLoop(store, path);
      selectNode(store, loops.has(path) ? "" : path);
    },
    [store, loops],
  );
  return <GraphCanvas graph={graph} states={states} chips={chips} selected={selected} onSelect={onSelect} onChoose={onChoose} />;
}

/** The iterations of a loop side by side. */
function Unrolled({ graph, loop }: { graph: Graph; loop: LoopState }) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const selected = useRunView((view) => view.selected);
  const number = numberLookedAt(loop, chosen);
  const shown = shownNumbers(loop, number).join(",");
  const titles = shown.split(",").map((one) => titleOf(loop, Number(one))).join("\n");
  const wide = useMemo(() => titled(unrolled(graph, loop.path, shown.split(",").map(Number)), loop.path, titles.split("\n")), [graph, loop.path, shown, titles]);
  const states = useJournal((journal) => canvasStates(journal, wide, chosen), [wide, chosen]);
  const chips = useJournal((journal) => loopChips(journal, wide, chosen), [wide, chosen]);
  const onChoose = useCallback((address: string, wanted: number) => chooseIteration(store, address, wanted), [store]);
  const onSelect = useCallback(
    (place: string) => {
      const meaning = meaningOf(place, loop.path);
      if (meaning.number !== null) chooseIteration(store, loop.address, meaning.number);
      selectNode(store, isIteration(place) || place === loop.path ? "" : meaning.path);
    },
    [store, loop.path, loop.address],
  );
  // A graph of another shape is looked at anew, as a whole.
  return <GraphCanvas key={shown} graph={wide} states={states} chips={chips} selected={placeOn(selected, loop.path, number)} onSelect={onSelect} onChoose={onChoose} />;
}

function titleOf(loop: LoopState, number: number): string {
  const iteration = iterationOf(loop, number);
  const score = iteration?.outside ? words.outsideWords(iteration.outside) : iteration?.score == null ? "" : words.score(iteration.score, loop.target);
  return [`#${number}`, score, number === loop.best ? "★" : "", number === loop.returned ? "↩" : ""].filter(Boolean).join(" ");
}

function titled(graph: Graph, loop: string, titles: readonly string[]): Graph {
  let index = 0;
  const nodes = graph.nodes.map((node) => (node.parent === loop && isIteration(node.path) ? { ...node, title: titles[index++] ?? node.title } : node));
  return { ...graph, nodes };
}
