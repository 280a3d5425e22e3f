/** The workflows of the project: what they are, what is wrong with them, and how to start them. */
import { useState } from "react";
import type { RunItem, WorkflowItem } from "../../api";
import { useNow } from "../../app/clock";
import { Empty, ErrorNotice, Loading } from "../../app/Notice";
import { Link } from "../../app/router";
import { useLoad } from "../../app/session";
import { useTitle } from "../../app/title";
import { StatusBadge } from "../../charts";
import { words } from "../../journal";
import type { ScreenProps } from "..";
import { NewButton } from "./NewButton";
import { Preview } from "./Preview";
import { StartForm } from "./StartForm";

const SEARCHED_MIN = 8;
const RUNS_MAX = 200;

export default function Workflows({ query }: ScreenProps) {
  const list = useLoad((client, signal) => client.workflows(signal), []);
  const [search, setSearch] = useState("");
  const last = useLastRuns();
  useTitle(query["file"] ? `${query["file"]}` : "Workflows");
  if (list.error) return <ErrorNotice error={list.error} isPage onRetry={list.reload} />;
  if (!list.value) return <Loading what="the workflows" />;
  const { workflows } = list.value;
  if (workflows.length === 0) {
    return (
      <Empty title="No workflows yet" isPage>
        <p>
          Put a workflow file into the project, or create one: <code>whorl new self-refine</code>
        </p>
        <NewButton />
      </Empty>
    );
  }
  const chosen = chosenOf(workflows, query);
  const wanted = search.toLowerCase();
  const found = workflows.filter((one) => `${one.name} ${one.file} ${one.dialect}`.toLowerCase().includes(wanted));
  return (
    <section className="screen screen-workflows">
      <div className="workflow-columns">
        <nav className="workflow-list" aria-label="workflows">
          <h1>Workflows</h1>
          <NewButton />
          {workflows.length > SEARCHED_MIN && (
            <input type="search" aria-label="Search workflows" placeholder="Search name, file, format" value={search} onChange={(event) => setSearch(event.target.value)} />
          )}
          {byFolder(found).map(([folder, items]) => (
            <section key={folder} aria-label={folder || "the project"}>
              {folder && <h2 className="workflow-folder">{words.visible(folder)}</h2>}
              <ul>
                {items.map((one) => (
                  <li key={`${one.file} ${one.named}`}>
                    <Entry item={one} isChosen={one === chosen} last={last.get(one.file)} />
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </nav>
        {chosen ? <Chosen key={`${chosen.file} ${chosen.named} ${query["from"] ?? ""}`} item={chosen} from={query["from"] ?? ""} /> : <Unchosen file={query["file"] ?? ""} />}
      </div>
    </section>
  );
}

/** The workflow that the address names; of a file with several, the first where it says no more. */
export function chosenOf<T extends Pick<WorkflowItem, "file" | "named">>(items: readonly T[], query: Record<string, string>): T | undefined {
  const inFile = items.filter((one) => one.file === query["file"]);
  return inFile.find((one) => one.named === query["named"]) ?? inFile[0];
}

/** Python code is edited where it is written; the editor takes workflow files. */
export const isEditable = (file: string): boolean => /\.(ya?ml|json)$/i.test(file);

/** Workflows by the folder that they lie in; those of the project itself first. */
export function byFolder<T extends Pick<WorkflowItem, "file">>(items: readonly T[]): [folder: string, items: T[]][] {
  const folders = new Map<string, T[]>();
  for (const one of items) {
    const folder = one.file.split("/").slice(0, -1).join("/");
    folders.set(folder, [...(folders.get(folder) ?? []), one]);
  }
  return [...folders].sort(([one], [other]) => one.localeCompare(other));
}

/** The newest run of each file, among the newest of all. */
function useLastRuns(): ReadonlyMap<string, RunItem> {
  const runs = useLoad((client, signal) => client.runs({ limit: RUNS_MAX }, signal), []).value?.runs ?? [];
  return new Map(runs.toReversed().map((run) => [run.file, run]));
}

function Entry({ item, isChosen, last }: { item: WorkflowItem; isChosen: boolean; last: RunItem | undefined }) {
  const now = useNow(last !== undefined, 30_000);
  return (
    <Link to="/workflows/start" query={{ file: item.file, named: item.named }} className="workflow-entry" aria-current={isChosen ? "true" : undefined}>
      <span className="workflow-name">{item.name}</span>
      <span className="workflow-badges">
        {item.dialect && <span className="badge tone-idle">{item.dialect}</span>}
        {item.errors > 0 && (
          <span className="badge tone-bad">
            <span aria-hidden="true">✗ </span>
            {item.errors === 1 ? "1 problem" : `${item.errors} problems`}
          </span>
        )}
      </span>
      {item.name !== item.file && <span className="workflow-file">{item.file}</span>}
      {last && (
        <span className="workflow-last">
          <StatusBadge status={last.status} mark={last.mark ?? null} compact /> last run {words.age(now - last.created_at)} ago
        </span>
      )}
    </Link>
  );
}

function Unchosen({ file }: { file: string }) {
  return (
    <Empty title={file ? `There is no workflow ${file}` : "Choose a workflow"}>
      {!file && <p>Its graph, its problems and its inputs are shown here.</p>}
    </Empty>
  );
}

function Chosen({ item, from }: { item: WorkflowItem; from: string }) {
  const checked = useLoad((client) => client.validate({ workflow: item.file, named: item.named }), [item.file, item.named]);
  return (
    <div className="workflow-detail">
      <header>
        <h2 className="workflow-title">
          {item.name} {item.dialect && <span className="badge tone-idle">{item.dialect}</span>}
        </h2>
        <p className="faint">
          <code>{item.file}</code> {isEditable(item.file) && <Link to={`/edit/${encodeURIComponent(item.file)}`}>Edit</Link>}
        </p>
        {item.description && item.errors === 0 && <p className="workflow-words">{item.description}</p>}
      </header>
      <div className="workflow-parts">
        <Preview item={item} checked={checked.value} error={checked.error} onReload={checked.reload} />
        {checked.value?.ok && <StartForm item={item} from={from} worst={checked.value.worst_case?.words ?? ""} />}
      </div>
    </div>
  );
}
