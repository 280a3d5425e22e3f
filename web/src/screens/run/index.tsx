/** One run, live: its graph with what happens in it, its loop's curve and iterations, its journal. */
import { useMemo } from "react";
import type { ScreenProps } from "..";
import type { Client, Graph, RunDetail } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { navigate, runPath } from "../../app/router";
import { isReading, RunProvider, statusOf, tell, useJournal, useRunStore, useRunView } from "../../app/run";
import { useRecordLoading } from "../../app/records";
import { useLoad, type Loaded } from "../../app/session";
import { openGates, type LoopState } from "../../journal";
import { useAddress } from "./address";
import { Banners } from "./Banners";
import { DataTab } from "./DataTab";
import { Drawer } from "./Drawer";
import { loopLookedAt } from "./focus";
import { GraphTab, type View } from "./GraphTab";
import { Head } from "./Head";
import { JournalTab } from "./JournalTab";
import { Picker } from "./Picker";
import { Side } from "./Side";
import { tabFrom, Tabs, type Tab } from "./Tabs";
import { Timeline } from "./Timeline";
import { useRunKeys } from "./useRunKeys";

export default function Run({ values, query }: ScreenProps) {
  const id = values["id"] ?? "";
  return (
    <RunProvider id={id}>
      <Page id={id} query={query} />
    </RunProvider>
  );
}

function Page({ id, query }: { id: string; query: Record<string, string> }) {
  const graph = useLoad((client, signal) => client.graph(id, signal), [id]);
  const detail = useDetail(id);
  const error = graph.error ?? (detail.value ? null : detail.error);
  if (error) return <ErrorNotice error={error} isPage onRetry={graph.error ? graph.reload : detail.reload} />;
  if (!graph.value || !detail.value) return <Loading what="the run" />;
  return <LiveRun id={id} graph={graph.value} detail={detail.value} query={query} />;
}

function LiveRun({ id, graph, detail, query }: { id: string; graph: Graph; detail: RunDetail; query: Record<string, string> }) {
  const isRead = !useRunView(isReading);
  const loop = useLoopLookedAt();
  const selected = useRunView((view) => view.selected);
  const tab = tabFrom(query["tab"]);
  useAddress(id, query);
  useRunKeys(id, graph);
  useRecordLoading(graph);
  const loops = useMemo(() => graph.nodes.filter((node) => node.loop), [graph]);
  const paths = useMemo(() => loops.map((node) => node.path), [loops]);
  const onTab = (wanted: Tab) => navigate(runPath(id), { ...query, tab: wanted === "graph" ? null : wanted });
  const onView = (view: View) => navigate(runPath(id), { ...query, view: view === "unrolled" ? view : null });
  const target = loops.find((node) => node.path === loop?.path)?.loop?.target ?? null;
  const hasSide = tab === "graph" || tab === "timeline";
  return (
    <section className="screen-run">
      <Head id={id} name={graph.name} detail={detail} loop={loop} />
      <Banners id={id} detail={detail} loop={loop} />
      {isRead ? (
        <>
          <div className="run-bar">
            <Tabs tab={tab} onTab={onTab} />
            {loop && hasSide && <Picker loop={loop} paths={paths} />}
          </div>
          <div className={hasSide && loops.length > 0 ? "run-columns" : "run-columns run-columns-one"}>
            <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} className="tab-panel">
              {tab === "graph" && <GraphTab graph={graph} loop={loop} view={query["view"] === "unrolled" ? "unrolled" : "aggregated"} onView={onView} />}
              {tab === "timeline" && <Timeline loop={loop} isWhole />}
              {tab === "journal" && <JournalTab id={id} />}
              {tab === "data" && <DataTab id={id} detail={detail} />}
            </div>
            {hasSide && loops.length > 0 && <Side id={id} detail={detail} loop={loop} target={target} />}
            {hasSide && selected && <Drawer id={id} graph={graph} path={selected} isElsewhere={detail?.driver === "elsewhere"} />}
          </div>
        </>
      ) : (
        <Reading />
      )}
    </section>
  );
}

/** Counts and pictures come from the journal: none are shown before it is read. */
function Reading() {
  const { journal, opensAt } = useRunView((view) => view);
  return (
    <p className="notice" role="status">
      Reading the journal… {journal.lastSeq} of {opensAt} entries
    </p>
  );
}

/** The loop that is looked at: rendered again whenever anything of it changes. */
function useLoopLookedAt(): LoopState | undefined {
  const path = useRunView((view) => view.loop);
  const chosen = useRunView((view) => view.chosen);
  return useJournal((journal) => loopLookedAt(journal, path, chosen), [path, chosen]);
}

/** What the server knows besides the journal, asked again whenever that may have changed. */
function useDetail(id: string): Loaded<RunDetail> {
  const store = useRunStore();
  const status = useRunView(statusOf);
  const told = useRunView((view) => view.told?.status);
  const isThere = useRunView((view) => view.journal.lastSeq > 0);
  const gates = useJournal((journal) => openGates(journal).map((gate) => gate.address).join(" "));
  const ended = useJournal((journal) => [...journal.scopes.get("")?.loops ?? []].filter((loop) => journal.loops.get(loop)?.status === "finished").join(" "));
  const load = async (client: Client, signal: AbortSignal) => {
    const detail = await client.run(id, signal);
    tell(store, detail.status, detail.last_seq);
    return detail;
  };
  return useLoad(load, [id, store], [status, told, isThere, gates, ended]);
}
