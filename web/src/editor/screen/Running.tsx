/** Runs the file from the editor: it is saved, started with its inputs, and watched in place. */
import { useState } from "react";
import type { Graph, WorkflowItem } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { Link, runPath } from "../../app/router";
import { RunProvider, useJournal, useRunView, statusOf } from "../../app/run";
import { useRecordLoading } from "../../app/records";
import { useClient, useLoad } from "../../app/session";
import { StatusBadge } from "../../charts";
import { ActionForm } from "../../dialogs/ActionForm";
import { commands } from "../../dialogs/commands";
import { ValueField } from "../../dialogs/fields";
import { Modal } from "../../dialogs/Modal";
import { loopLookedAt } from "../../screens/run/focus";
import { GraphTab } from "../../screens/run/GraphTab";
import { fieldsOf, inputsFrom, textsFor, type Texts } from "../../screens/workflows/inputs";
import { useEditorState, useOpenFile } from "../state";
import { isChanged } from "../state/store";

export function RunDialog({ onStarted, onClose }: { onStarted: (run: string) => void; onClose: () => void }) {
  const { store, saving } = useOpenFile();
  const file = useEditorState((state) => state.file);
  const saved = useLoad(
    async (client, signal) => {
      // Running is always what is saved, so that the run shows the file as it is.
      if (isChanged(store.getState()) && !(await saving.save())) throw new Error("the file could not be saved, so the run was not started");
      const { workflows } = await client.workflows(signal);
      return workflows.find((one) => one.file === file) ?? null;
    },
    [store, saving, file],
  );
  return (
    <Modal title={`Run ${file}`} onClose={onClose}>
      {saved.error ? (
        <>
          <ErrorNotice error={saved.error} />
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </>
      ) : saved.value ? (
        <RunForm item={saved.value} onStarted={onStarted} onClose={onClose} />
      ) : (
        <Loading what="the inputs" />
      )}
    </Modal>
  );
}

function RunForm({ item, onStarted, onClose }: { item: WorkflowItem; onStarted: (run: string) => void; onClose: () => void }) {
  const client = useClient();
  const [texts, setTexts] = useState<Texts>(() => textsFor(item, {}));
  const [key] = useState(() => crypto.randomUUID());
  const { inputs, problem } = inputsFrom(item, texts);
  const act = async () => {
    const { run } = await client.start({ workflow: item.file, named: item.named, inputs, key });
    onStarted(run);
  };
  return (
    <ActionForm label="Start" command={commands.run({ file: item.file, named: item.named, inputs, budget: undefined, iterations: undefined })} problem={problem} act={act} onCancel={onClose}>
      {fieldsOf(item).map((field) => (
        <ValueField key={field.name} name={field.name} type={field.type} text={texts[field.name] ?? ""} isRequired={field.isRequired} help={field.help} onText={(text) => setTexts({ ...texts, [field.name]: text })} />
      ))}
    </ActionForm>
  );
}

/** The run under the editor, as it turns. */
export function RunDrawer({ id, onClose }: { id: string; onClose: () => void }) {
  return (
    <section className="edit-run" aria-label="run">
      <RunProvider id={id}>
        <Watched id={id} onClose={onClose} />
      </RunProvider>
    </section>
  );
}

function Watched({ id, onClose }: { id: string; onClose: () => void }) {
  const graph = useLoad((client, signal) => client.graph(id, signal), [id]);
  const status = useRunView(statusOf);
  return (
    <>
      <div className="edit-run-head">
        <h2>Run {id}</h2>
        <StatusBadge status={status} />
        <Link to={runPath(id)}>Open the run</Link>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
      {graph.error ? <ErrorNotice error={graph.error} onRetry={graph.reload} /> : graph.value ? <Turning graph={graph.value} /> : <Loading what="the run" />}
    </>
  );
}

function Turning({ graph }: { graph: Graph }) {
  const path = useRunView((view) => view.loop);
  const chosen = useRunView((view) => view.chosen);
  const loop = useJournal((journal) => loopLookedAt(journal, path, chosen), [path, chosen]);
  const [view, setView] = useState<"aggregated" | "unrolled">("aggregated");
  useRecordLoading(graph);
  return <GraphTab graph={graph} loop={loop} view={view} onView={setView} />;
}
