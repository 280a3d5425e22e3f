/** The workflows of the project: what they are, what is wrong with them, and how to start them. */
import type { WorkflowItem } from "../../api";
import { Empty, ErrorNotice, Loading } from "../../app/Notice";
import { Link } from "../../app/router";
import { useLoad } from "../../app/session";
import type { ScreenProps } from "..";
import { Preview } from "./Preview";
import { StartForm } from "./StartForm";

export default function Workflows({ query }: ScreenProps) {
  const list = useLoad((client, signal) => client.workflows(signal), []);
  if (list.error) return <ErrorNotice error={list.error} onRetry={list.reload} />;
  if (!list.value) return <Loading what="the workflows" />;
  const { workflows } = list.value;
  if (workflows.length === 0) {
    return (
      <Empty title="No workflows yet">
        <p>
          Put a workflow file into the project, or make one: <code>whorl new self-refine</code>
        </p>
      </Empty>
    );
  }
  const chosen = workflows.find((one) => one.file === query["file"]);
  return (
    <section className="screen screen-workflows">
      <div className="workflow-columns">
        <nav className="workflow-list" aria-label="workflows">
          <h1>Workflows</h1>
          <ul>
            {workflows.map((one) => (
              <li key={one.file}>
                <Entry item={one} isChosen={one === chosen} />
              </li>
            ))}
          </ul>
        </nav>
        {chosen ? <Chosen key={`${chosen.file} ${query["from"] ?? ""}`} item={chosen} from={query["from"] ?? ""} /> : <Unchosen file={query["file"] ?? ""} />}
      </div>
    </section>
  );
}

function Entry({ item, isChosen }: { item: WorkflowItem; isChosen: boolean }) {
  return (
    <Link to="/workflows/start" query={{ file: item.file }} className="workflow-entry" aria-current={isChosen ? "true" : undefined}>
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
    </Link>
  );
}

function Unchosen({ file }: { file: string }) {
  return (
    <Empty title={file ? `There is no workflow ${file}` : "Choose a workflow"}>
      <p>Its graph, its problems and its inputs are shown here.</p>
    </Empty>
  );
}

function Chosen({ item, from }: { item: WorkflowItem; from: string }) {
  const checked = useLoad((client) => client.validate({ workflow: item.file }), [item.file]);
  return (
    <div className="workflow-detail">
      <header>
        <h2 className="workflow-title">
          {item.name} {item.dialect && <span className="badge tone-idle">{item.dialect}</span>}
        </h2>
        <p className="faint">
          <code>{item.file}</code>
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
