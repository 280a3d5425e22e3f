/** One run, live: its graph with what happens in it, and the curve of its loop. */
import { useCallback, useMemo } from "react";
import { ErrorNotice, LiveIndicator, Loading } from "../app/Notice";
import { chooseIteration, RunProvider, selectNode, useJournal, useRunState, useRunStore, useRunView } from "../app/run";
import { useLoad } from "../app/session";
import { Meter, ScoreCurve, StatusBadge } from "../charts";
import { canvasStates, GraphCanvas, loopChips } from "../graph";
import { outerLoops, scoresOf, words } from "../journal";
import type { ScreenProps } from ".";

export default function Run({ values }: ScreenProps) {
  const id = values["id"] ?? "";
  return (
    <RunProvider id={id}>
      <LiveRun id={id} />
    </RunProvider>
  );
}

function LiveRun({ id }: { id: string }) {
  const store = useRunStore();
  const graph = useLoad((client, signal) => client.graph(id, signal), [id]);
  const connection = useRunView((view) => view.connection);
  const selected = useRunView((view) => view.selected);
  const run = useRunState();
  const loop = useJournal((journal) => outerLoops(journal)[0]);
  const onSelect = useCallback((path: string) => selectNode(store, path), [store]);
  if (graph.error) return <ErrorNotice error={graph.error} onRetry={graph.reload} />;
  if (!graph.value) return <Loading what="the run" />;
  return (
    <section className="screen screen-run">
      <div className="screen-head">
        <h1>{graph.value.name}</h1>
        <StatusBadge status={run.status} />
        <Meter label="cost" value={run.usage.cost_usd} max={run.limits.cost_usd ?? null} reserved={run.reserved.cost_usd} format={words.dollars} />
        <LiveIndicator state={connection} />
      </div>
      <div className="run-columns">
        <Canvas graph={graph.value} selected={selected} onSelect={onSelect} />
        <aside className="side" aria-label="loop">
          {loop && (
            <>
              <h2>Score</h2>
              <ScoreCurve scores={scoresOf(loop)} target={loop.target} best={loop.best} onChoose={(number) => chooseIteration(store, loop.address, number)} />
            </>
          )}
        </aside>
      </div>
    </section>
  );
}

type CanvasProps = Pick<Parameters<typeof GraphCanvas>[0], "graph" | "selected" | "onSelect">;

function Canvas({ graph, selected, onSelect }: CanvasProps) {
  const store = useRunStore();
  const chosen = useRunView((view) => view.chosen);
  const states = useJournal((journal) => canvasStates(journal, graph, chosen), [graph, chosen]);
  const chips = useJournal((journal) => loopChips(journal, graph, chosen), [graph, chosen]);
  const onChoose = useMemo(() => (loop: string, number: number) => chooseIteration(store, loop, number), [store]);
  return <GraphCanvas graph={graph} states={states} chips={chips} selected={selected} onSelect={onSelect} onChoose={onChoose} />;
}
