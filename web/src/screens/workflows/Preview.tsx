/** A workflow as a picture, and its problems with their places in the file. */
import { useMemo, useState } from "react";
import type { Diagnostic, Graph, Validated, WorkflowItem } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { useLoad } from "../../app/session";
import { Command } from "../../dialogs/ActionForm";
import { canvasStates, GraphCanvas } from "../../graph";
import { emptyJournal, words } from "../../journal";
import { Excerpt, inOrder, Listing } from "./Listing";
import { Settings } from "./Settings";

interface PreviewProps {
  item: WorkflowItem;
  checked: Validated | null;
  error: unknown;
  onReload: () => void;
}

export function Preview({ item, checked, error, onReload }: PreviewProps) {
  const [isOpen, setOpen] = useState(false);
  const found = useMemo(() => inOrder(checked?.diagnostics ?? []), [checked]);
  if (error) return <ErrorNotice error={error} onRetry={onReload} />;
  if (!checked) return <Loading what="the workflow" />;
  return (
    <div className="workflow-preview">
      {checked.diagnostics.length > 0 && <Problems item={item} found={found} isFatal={!checked.ok} onReload={onReload} />}
      {checked.ok && <Picture item={item} />}
      <details className="source" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>The file</summary>
        {isOpen && <Listing item={item} problems={checked.diagnostics} />}
      </details>
    </div>
  );
}

function Picture({ item: { file, named } }: { item: WorkflowItem }) {
  const graph = useLoad((client, signal) => client.workflowGraph(file, named, signal), [file, named]);
  if (graph.error) return <ErrorNotice error={graph.error} onRetry={graph.reload} />;
  if (!graph.value) return <Loading what="the graph" />;
  return <Canvas graph={graph.value} />;
}

function Canvas({ graph }: { graph: Graph }) {
  const [selected, select] = useState("");
  const node = graph.nodes.find((one) => one.path === selected);
  const states = useMemo(() => canvasStates(emptyJournal(), graph, {}), [graph]);
  return (
    <>
      <div className="workflow-canvas">
        <GraphCanvas graph={graph} states={states} selected={selected} onSelect={select} />
      </div>
      {node ? <Settings node={node} onClose={() => select("")} /> : <p className="faint">Choose a step to read its prompt, condition and settings.</p>}
    </>
  );
}

interface ProblemsProps {
  item: WorkflowItem;
  found: readonly Diagnostic[];
  isFatal: boolean;
  onReload: () => void;
}

function Problems({ item: { file, named }, found, isFatal, onReload }: ProblemsProps) {
  const source = useLoad((client, signal) => client.workflowSource(file, named, signal), [file, named], [found]);
  const textOf = (one: Diagnostic) => Object.entries(source.value?.files ?? {}).find(([name]) => !one.file || name.endsWith(one.file) || one.file.endsWith(name))?.[1];
  return (
    <section aria-label="problems" className="problems">
      <h3>{isFatal ? "This file cannot run as it is" : "Warnings"}</h3>
      <ol>
        {found.map((one, index) => (
          <li key={index} className={one.severity === "error" ? "tone-bad" : "tone-wait"}>
            <p>
              <span className="badge">
                <span aria-hidden="true">{one.severity === "error" ? "✗" : "!"} </span>
                {one.severity} {one.code}
              </span>{" "}
              {words.visible(one.message)}
            </p>
            <p className="faint">
              <code>{placeOf(one)}</code>
            </p>
            {textOf(one) !== undefined && <Excerpt text={textOf(one) ?? ""} problem={one} />}
            {one.help && <p className="help">{words.visible(one.help)}</p>}
            <Command text={`whorl help ${one.code}`} />
          </li>
        ))}
      </ol>
      {isFatal && (
        <button type="button" className="button" onClick={onReload}>
          Check again
        </button>
      )}
    </section>
  );
}

/** `file:line:column`, as the terminal prints it. */
export function placeOf({ file, line, column }: Pick<Diagnostic, "file" | "line" | "column">): string {
  return [file, line, column].filter((part) => part !== null && part !== undefined && part !== "").join(":");
}
