/** The editor: one file as a picture and as text, with a palette, an inspector and its problems. */
import { lazy, Suspense, useCallback, useState, useSyncExternalStore } from "react";
import { ErrorNotice, Loading } from "../../app/Notice";
import { navigate } from "../../app/router";
import type { ScreenProps } from "../../screens";
import type { Editor } from "../contract";
import type { CanvasAsk } from "../canvas/asking";
import { addAfter, nodeOf } from "../canvas/commands";
import { EditCanvas, usePicture } from "../canvas/EditCanvas";
import { tidied } from "../canvas/layout";
import { holds, isPlacedDialect } from "../canvas/model";
import { Source } from "../source";
import { OpenFileProvider, showLine, useEditor, useEditorState, useOpenFile } from "../state";
import { isReadOnly, type Mode } from "../state/store";
import { editPath, fileBeside } from "../paths";
import { modeFrom, pathsFrom, useAddress } from "./address";
import { Banners } from "./Banners";
import { useClipboard } from "./clipboard";
import { CanvasDialog } from "./dialogs";
import { Head } from "./Head";
import { Palette } from "./Palette";
import { Problems } from "./Problems";
import { useEditKeys } from "./useEditKeys";

const Inspector = lazy(() => import("../inspector").then(({ Inspector: found }) => ({ default: found })));
const Outline = lazy(() => import("../outline").then(({ Outline: found }) => ({ default: found })));
const NewDialog = lazy(() => import("../new").then(({ NewDialog: found }) => ({ default: found })));
const RunDialog = lazy(() => import("./Running").then(({ RunDialog: found }) => ({ default: found })));
const RunDrawer = lazy(() => import("./Running").then(({ RunDrawer: found }) => ({ default: found })));

export default function EditScreen({ values, query }: ScreenProps) {
  const file = values["file"] ?? "";
  return (
    <OpenFileProvider key={file} file={file} drill={query["at"] ?? ""} selected={pathsFrom(query["select"])}>
      <Opened query={query} />
    </OpenFileProvider>
  );
}

function Opened({ query }: { query: Record<string, string> }) {
  const { actions } = useOpenFile();
  const isOpen = useEditorState((state) => state.isOpen);
  const fault = useEditorState((state) => state.fault);
  if (fault) return <ErrorNotice error={fault} isPage onRetry={() => void actions.load()} />;
  if (!isOpen) return <Loading what="the file" />;
  return <Editing query={query} />;
}

const narrow = matchMedia("(max-width: 700px)");
const isNarrowNow = () => narrow.matches;
const onWidth = (changed: () => void) => {
  narrow.addEventListener("change", changed);
  return () => narrow.removeEventListener("change", changed);
};

function Editing({ query }: { query: Record<string, string> }) {
  const { store } = useOpenFile();
  const file = useEditorState((state) => state.file);
  const isNarrow = useSyncExternalStore(onWidth, isNarrowNow);
  const mode = modeFrom(query["mode"], isNarrow);
  const [dialog, setDialog] = useState<"" | "new" | "run">("");
  const [run, setRun] = useState("");
  useAddress(query);
  useClipboard();
  const onLine = useCallback(
    (line: number) => {
      const shown = { canvas: "split", outline: "source" }[mode as string];
      if (shown) navigate(editPath(file), { ...query, mode: shown }, { replace: true });
      showLine(store, line);
    },
    [mode, file, query, store],
  );
  return (
    <section className="screen-edit">
      <Head mode={mode} isNarrow={isNarrow} query={query} onRun={() => setDialog("run")} onNew={() => setDialog("new")} />
      <Banners onLine={onLine} />
      <Panes mode={mode} onLine={onLine} />
      <Problems onLine={onLine} />
      <Suspense fallback={<Loading what="the run" />}>
        {run && <RunDrawer key={run} id={run} onClose={() => setRun("")} />}
        {dialog === "new" && <NewDialog onMade={(made) => navigate(editPath(made))} onClose={() => setDialog("")} />}
        {dialog === "run" && (
          <RunDialog
            onStarted={(id) => {
              setRun(id);
              setDialog("");
            }}
            onClose={() => setDialog("")}
          />
        )}
      </Suspense>
      <LiveRegion />
    </section>
  );
}

/** Says what happened to those who cannot see it. */
function LiveRegion() {
  const { words, turn } = useEditorState((state) => state.said);
  return (
    <p className="sr-only" role="status" data-testid="said">
      {words}
      {turn % 2 === 1 ? "\u00a0" : ""}
    </p>
  );
}

function Panes({ mode, onLine }: { mode: Mode; onLine: (line: number) => void }) {
  const editor = useEditor(onLine);
  return (
    <div className={`edit-panes edit-panes-${mode}`}>
      {(mode === "canvas" || mode === "split") && <CanvasPane onLine={onLine} />}
      {(mode === "source" || mode === "split") && <Source />}
      {mode === "outline" && <OutlinePane editor={editor} />}
      {mode !== "source" && (
        <aside className="edit-inspector" aria-label="inspector">
          <h2 className="sr-only">Inspector</h2>
          <Suspense fallback={<Loading what="the inspector" />}>
            <Inspector editor={editor} />
          </Suspense>
        </aside>
      )}
    </div>
  );
}

function OutlinePane({ editor }: { editor: Editor }) {
  return (
    <div className="edit-outline">
      <button type="button" className="button button-small" aria-pressed={editor.selected.length === 0} onClick={() => editor.select([])}>
        The workflow
      </button>
      <Suspense fallback={<Loading what="the steps" />}>
        <Outline editor={editor} />
      </Suspense>
    </div>
  );
}

function CanvasPane({ onLine }: { onLine: (line: number) => void }) {
  const { store, actions } = useOpenFile();
  const palette = useEditorState((state) => state.palette);
  const readOnly = useEditorState((state) => isReadOnly(state) || state.isBroken);
  const picture = usePicture();
  const [question, ask] = useState<CanvasAsk | null>(null);
  const [linking, setLinking] = useState("");
  const [chosenEdge, setChosenEdge] = useState("");
  const open = useOpening(ask);
  const up = () => store.setState(({ drill, sketch }) => ({ drill: nodeOf(sketch, drill)?.parent ?? "", selected: drill ? [drill] : [] }));
  const showSource = () => {
    const { sketch, selected } = store.getState();
    const line = nodeOf(sketch, selected.at(-1))?.span?.["line"];
    if (line) onLine(line);
  };
  const { onKeyDown } = useEditKeys({ picture, linking, setLinking, chosenEdge, setChosenEdge, ask, open, up, showSource });
  // What was typed before is made first: ports that it names are what a new step is connected by.
  const add = (kind: string) =>
    void actions.inTurn(() => {
      const { sketch, drill, dialect, selected } = store.getState();
      return actions.apply(addAfter(sketch, drill, isPlacedDialect(dialect), selected.at(-1), { kind }));
    });
  const onPick = useCallback(
    (path: string, isMore: boolean) => {
      setChosenEdge("");
      store.setState(({ selected }) => ({ selected: !isMore ? [path] : selected.includes(path) ? selected.filter((one) => one !== path) : [...selected, path] }));
    },
    [store],
  );
  return (
    <div className="edit-canvas-pane">
      {palette.groups.length > 0 && <Palette palette={palette} isReadOnly={readOnly} onAdd={add} />}
      <div className="edit-stage" onKeyDown={onKeyDown}>
        <Bar />
        <EditCanvas picture={picture} onOpen={open} ask={ask} linking={linking} chosenEdge={chosenEdge} onEdge={setChosenEdge} onPick={onPick} />
      </div>
      <CanvasDialog question={question} onClose={() => ask(null)} />
    </div>
  );
}

/** Opens what a step holds: its inside, another file, or its form. */
function useOpening(ask: (question: CanvasAsk) => void) {
  const { store } = useOpenFile();
  return useCallback(
    (path: string) => {
      const { sketch, file, others, selected } = store.getState();
      const [, into, name] = /^empty:(.*):([^:]*)$/.exec(path) ?? [];
      if (into !== undefined) return ask({ kind: "add", place: { into, case: name || null } });
      const node = nodeOf(sketch, path);
      if (!node) return;
      if (holds(node)) store.setState({ drill: path, selected: [] });
      else if (node.body === "file" && node.file in others) store.setState({ notice: `${node.file} is not saved yet: save first (Ctrl+S), then open it` });
      else if (node.body === "file" && node.file) navigate(editPath(fileBeside(file, node.file)));
      else {
        if (!selected.includes(path)) store.setState({ selected: [path] });
        // The form of the step is there once it is drawn.
        requestAnimationFrame(() => document.querySelector<HTMLElement>(".edit-inspector :is(input, textarea, select, button)")?.focus());
      }
    },
    [store, ask],
  );
}

/** Where one is, and a field to find a step. */
function Bar() {
  const { store } = useOpenFile();
  const drill = useEditorState((state) => state.drill);
  const sketch = useEditorState((state) => state.sketch);
  const file = useEditorState((state) => state.file);
  const parts = drill ? drill.split("/") : [];
  const to = (path: string) => store.setState({ drill: path, selected: [] });
  return (
    <div className="edit-bar">
      <nav aria-label="place in the file">
        <ol className="crumbs">
          <li>{drill ? <button type="button" className="link" onClick={() => to("")}>{file}</button> : <span aria-current="location">{file}</span>}</li>
          {parts.map((part, index) => {
            const path = parts.slice(0, index + 1).join("/");
            return <li key={path}>{index < parts.length - 1 ? <button type="button" className="link" onClick={() => to(path)}>{part}</button> : <span aria-current="location">{part}</span>}</li>;
          })}
        </ol>
      </nav>
      <input
        type="search"
        list="edit-steps"
        placeholder="find a step"
        aria-label="find a step"
        onChange={(event) => {
          const found = sketch.nodes.find((node) => node.path === event.target.value);
          if (found) store.setState({ selected: [found.path], drill: found.parent.startsWith(drill) ? drill : "" });
        }}
      />
      <TidyButton />
      <datalist id="edit-steps">
        {sketch.nodes.map((node) => (
          <option key={node.path} value={node.path} />
        ))}
      </datalist>
    </div>
  );
}

/** Lays a canvas out anew, as one step of undo; files without positions are always laid out. */
function TidyButton() {
  const { store, actions } = useOpenFile();
  const isPlaced = useEditorState((state) => isPlacedDialect(state.dialect));
  const readOnly = useEditorState((state) => isReadOnly(state) || state.isBroken);
  if (!isPlaced) return null;
  const tidy = () => void actions.apply(tidied(store.getState().sketch).map((place) => ({ operation: "place", ...place })));
  return (
    <button type="button" className="button button-small" disabled={readOnly} onClick={tidy}>
      Tidy
    </button>
  );
}
