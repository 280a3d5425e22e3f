/** Other models and prompts for the steps that a fork does again. */
import type { Graph, GraphNode } from "../api";
import type { StepChanges } from "./commands";
import { Field } from "./fields";

const LINES_MAX = 10;

/** The steps that ask a model in a loop, or after it: those before it are not done again. */
export function stepsToChange(graph: Graph, loop: string): GraphNode[] {
  const path = loop.replace(/\[\d+\]/g, "");
  const first = graph.nodes.findIndex((node) => node.path === path);
  return graph.nodes.slice(first + 1).filter((node) => node.task === "ask");
}

/** Only what is other than the file says. */
export function stepChanges(steps: readonly GraphNode[], edits: StepChanges): StepChanges {
  const changed: Record<string, { model?: string; prompt?: string }> = {};
  for (const { path, model, settings } of steps) {
    const edit = edits[path];
    if (edit?.model?.trim() && edit.model.trim() !== (model ?? "")) changed[path] = { model: edit.model.trim() };
    if (edit?.prompt !== undefined && edit.prompt !== (settings?.["prompt"] ?? "")) changed[path] = { ...changed[path], prompt: edit.prompt };
  }
  return changed;
}

interface StepGroupProps {
  steps: readonly GraphNode[];
  edits: StepChanges;
  onEdit: (edits: StepChanges) => void;
}

export function StepGroup({ steps, edits, onEdit }: StepGroupProps) {
  const change = (path: string, field: "model" | "prompt", text: string) => onEdit({ ...edits, [path]: { ...edits[path], [field]: text } });
  return (
    <details className="value-group">
      <summary>Models and prompts</summary>
      {steps.map(({ path, model, settings }) => {
        const prompt = edits[path]?.prompt ?? settings?.["prompt"] ?? "";
        return (
          <fieldset key={path} className="step-change">
            <legend>
              <code>{path}</code>
            </legend>
            <Field label={`Model of ${path}`} help={model ? undefined : "empty: the model of the project"}>
              {(id) => <input id={id} type="text" value={edits[path]?.model ?? model ?? ""} onChange={(event) => change(path, "model", event.target.value)} />}
            </Field>
            <Field label={`Prompt of ${path}`}>
              {(id) => (
                <textarea id={id} rows={Math.min(LINES_MAX, Math.max(3, prompt.split("\n").length))} value={prompt} onChange={(event) => change(path, "prompt", event.target.value)} />
              )}
            </Field>
          </fieldset>
        );
      })}
    </details>
  );
}
