/** A workflow as a picture, and its problems with their places in the file. */
import { useMemo, useState } from "react";
import type { Diagnostic, Graph, Validated, WorkflowItem } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { useLoad } from "../../app/session";
import { Command } from "../../dialogs/ActionForm";
import { canvasStates, GraphCanvas } from "../../graph";
import { emptyJournal, words } from "../../journal";

interface PreviewProps {
  item: WorkflowItem;
  checked: Validated | null;
  error: unknown;
  onReload: () => void;
}

export function Preview({ item, checked, error, onReload }: PreviewProps) {
  if (error) return <ErrorNotice error={error} onRetry={onReload} />;
  if (!checked) return <Loading what="the workflow" />;
  return (
    <div className="workflow-preview">
      {checked.diagnostics.length > 0 && <Problems found={checked.diagnostics} isFatal={!checked.ok} onReload={onReload} />}
      {checked.ok && <Picture file={item.file} />}
    </div>
  );
}

function Picture({ file }: { file: string }) {
  const graph = useLoad((client, signal) => client.workflowGraph(file, signal), [file]);
  if (graph.error) return <ErrorNotice error={graph.error} onRetry={graph.reload} />;
  if (!graph.value) return <Loading what="the graph" />;
  return <Canvas graph={graph.value} />;
}

function Canvas({ graph }: { graph: Graph }) {
  const [selected, select] = useState("");
  const states = useMemo(() => canvasStates(emptyJournal(), graph, {}), [graph]);
  return (
    <div className="workflow-canvas">
      <GraphCanvas graph={graph} states={states} selected={selected} onSelect={select} />
    </div>
  );
}

function Problems({ found, isFatal, onReload }: { found: readonly Diagnostic[]; isFatal: boolean; onReload: () => void }) {
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
            {one.help && <p className="help">{words.visible(one.help)}</p>}
            <Command text={`whorl explain ${one.code}`} />
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
