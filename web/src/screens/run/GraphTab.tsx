/** The workflow with what happens in it, and under it when each node ran. */
import { useCallback, useEffect, useMemo, type ReactNode } from "react";
import type { Graph } from "../../api";
import { chooseIteration, lookAtLoop, selectNode, useJournal, useRunStore, useRunView } from "../../app/run";
import { canvasStates, GraphCanvas, loopChips } from "../../graph";
import { iterationAddress, iterationOf, words, type LoopState } from "../../journal";
import { numberLookedAt } from "./focus";
import { Timeline } from "./Timeline";
import { isIteration, meaningOf, placeOn, shownNumbers, unrolled } from "./unrolled";

/** Up to so many iterations are seen as a whole. */
const WHOLE_MAX = 4;

export type View = "aggregated" | "unrolled";

interface GraphTabProps {
  graph: Graph;
  loop: LoopState | undefined;
  view: View;
  onView: (view: View) => void;
}

export function GraphTab({ graph, loop, view, onView }: GraphTabProps) {
  const isUnrolled = view === "unrolled" && loop !== undefined;
  return (
    <div className="graph-tab">
      <div className="graph-frame">
        {isUnrolled ? <Unrolled graph={graph} loop={loop} /> : <Aggregated graph={graph} />}
        {loop && <ViewSwitch view={view} onChange={onView} note={isUnrolled ? <Shown loop={loop} /> : null} />}
      </div>
      <Timeline loop={loop} />
    </div>
  );
}

/** Which of very many iterations are drawn. */
function Shown({ loop }: { loop: LoopState }) {
  const chosen = useRunView((view) => view.chosen);
  const numbers = shownNumbers(loop, numberLookedAt(loop, chosen));
  if (numbers.length >= loop.iterations.length) return null;
  return (
    <span className="view-note">
      #{numbers[0]} to #{numbers.at(-1)} of {loop.iterations.length} iterations
    </span>
  );
}

function ViewSwitch({ view, onChange, note }: { view: View; onChange: (view: View) => void; note: ReactNode }) {
  return (
    <div className="view-switch" role="group" aria-label="iterations in the graph">
      {(["aggregated", "unrolled"] as const).map((one) => (
        <button key={one} type="button" className="button button-small" aria-pressed={view === one} onClick={() => onChange(one)}>
          {one === "aggregated" ? "Aggregated" : "Unrolled"}
        </button>
      ))}
      {note}
    </div>
  );
}

/** Each node once, as it is in the chosen iterations. */
function Aggregated({ graph }: { graph: Graph }) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const selected = useRunView((view) => view.selected);
  const loops = useMemo(() => new Set(graph.nodes.filter((node) => node.loop).map((node) => node.path)), [graph]);
  const records = useRunView((view) => view.records);
  const states = useJournal((journal) => canvasStates(journal, graph, chosen, records), [graph, chosen, records]);
  const chips = useJournal((journal) => loopChips(journal, graph, chosen, records), [graph, chosen, records]);
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
  const numbers = shownNumbers(loop, number);
  const shown = numbers.join(",");
  const titles = shown.split(",").map((one) => titleOf(loop, Number(one))).join("\n");
  const wide = useWide(graph, loop.path, shown, titles);
  const records = useRunView((view) => view.records);
  const states = useJournal((journal) => canvasStates(journal, wide, chosen, records), [wide, chosen, records]);
  const chips = useJournal((journal) => loopChips(journal, wide, chosen, records), [wide, chosen, records]);
  useEffect(() => {
    store.setState({ unrolled: shown.split(",").map((one) => iterationAddress(loop.address, Number(one))) });
    return () => store.setState({ unrolled: [] });
  }, [store, loop.address, shown]);
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
  return <GraphCanvas key={shown} graph={wide} states={states} chips={chips} selected={placeOn(selected, loop.path, number)} focus={numbers.length > WHOLE_MAX ? `${loop.path}[${number}]` : ""} onSelect={onSelect} onChoose={onChoose} />;
}

/** The graph with these iterations; laid out anew only when they, or what is said of them, change. */
function useWide(graph: Graph, path: string, shown: string, titles: string): Graph {
  return useMemo(() => titled(unrolled(graph, path, shown.split(",").map(Number)), path, titles.split("\n")), [graph, path, shown, titles]);
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
