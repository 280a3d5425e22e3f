/** What is selected, as a form and as text: a step, several steps, or the workflow itself. */
import { useState, type KeyboardEvent } from "react";
import { Icon } from "../canvas/icons";
import type { Editor, SketchNode } from "../contract";
import { Actions } from "./Actions";
import { Edges } from "./Edges";
import { kindOf, nameOf } from "./fields";
import { NamesProvider } from "./widgets/names";
import { Problems } from "./Problems";
import { Several } from "./Several";
import { StepForm } from "./StepForm";
import { StepSource } from "./StepSource";
import { Try } from "./tries/Try";
import { useDraft } from "./widgets/useDraft";
import { WorkflowForm } from "./WorkflowForm";

export { CanvasLoopFields } from "./loops/CanvasLoop";

export function Inspector({ editor }: { editor: Editor }) {
  const nodes = editor.sketch?.nodes.filter((node) => editor.selected.includes(node.path)) ?? [];
  const [node] = nodes;
  return (
    <section className="inspector" aria-label="inspector">
      <NamesProvider editor={editor}>
        {!editor.sketch ? (
          <p className="faint">The file has an error; the source view shows where.</p>
        ) : nodes.length > 1 ? (
          <Several editor={editor} nodes={nodes} />
        ) : node ? (
          <Step key={node.path} editor={editor} node={node} />
        ) : (
          <WorkflowForm editor={editor} />
        )}
      </NamesProvider>
    </section>
  );
}

const TABS = { form: "Form", source: "Source" } as const;
type Tab = keyof typeof TABS;

function Step({ editor, node }: { editor: Editor; node: SketchNode }) {
  const [tab, setTab] = useState<Tab>("form");
  return (
    <>
      <Head editor={editor} node={node} tab={tab} onTab={setTab} />
      <Problems editor={editor} node={node} />
      <div id="inspector-panel" role="tabpanel" aria-labelledby={`inspector-${tab}`} className="inspector-panel">
        {tab === "source" ? (
          <StepSource editor={editor} node={node} />
        ) : (
          <>
            <fieldset className="inspector-fields" disabled={editor.isReadOnly}>
              <legend className="sr-only">fields of {node.title}</legend>
              <StepForm editor={editor} node={node} />
            </fieldset>
            <Edges editor={editor} node={node} />
            <Try editor={editor} node={node} />
          </>
        )}
      </div>
      {!editor.isReadOnly && <Actions editor={editor} node={node} />}
    </>
  );
}

interface HeadProps {
  editor: Editor;
  node: SketchNode;
  tab: Tab;
  onTab: (tab: Tab) => void;
}

function Head({ editor, node, tab, onTab }: HeadProps) {
  const kind = kindOf(editor, node.kind);
  const name = nameOf(node.path);
  const draft = useDraft(name, async (text) => text === "" || text === name || (await editor.apply([{ operation: "rename", at: node.path, name: text }])) !== null);
  const move = (event: KeyboardEvent) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    const next = tab === "form" ? "source" : "form";
    onTab(next);
    document.getElementById(`inspector-${next}`)?.focus();
  };
  return (
    <header className="inspector-head">
      <div className="inspector-title">
        <input
          aria-label="name of the step"
          className="inspector-name"
          value={draft.text}
          readOnly={editor.isReadOnly}
          aria-invalid={draft.isRefused}
          onChange={(event) => draft.change(event.target.value)}
          onBlur={draft.flush}
          onKeyDown={(event) => {
            if (event.key === "Enter") draft.flush();
            if (event.key === "Escape") draft.drop();
          }}
        />
        <span className="badge tone-idle">{kind?.title ?? (node.kind || "unknown")}</span>
        {kind?.needs && (
          <span className="faint" title="what the operator must allow in whorl.toml">
            <Icon icon="lock" />{" "}
            <span className="sr-only">needs </span>
            {kind.needs}
          </span>
        )}
      </div>
      <div className="tabs" role="tablist" aria-label="views of the step" onKeyDown={move}>
        {(Object.keys(TABS) as Tab[]).map((one) => (
          <button key={one} id={`inspector-${one}`} type="button" role="tab" className="tab" aria-selected={one === tab} aria-controls="inspector-panel" tabIndex={one === tab ? 0 : -1} onClick={() => onTab(one)}>
            {TABS[one]}
          </button>
        ))}
      </div>
    </header>
  );
}
