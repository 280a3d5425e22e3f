/** The step's own lines, edited as text; nothing else of the file can change by it. */
import { useState } from "react";
import type { Editor, SketchNode } from "../contract";
import { textOfStep } from "./source";

const LINES_MAX = 40;

export function StepSource({ editor, node }: { editor: Editor; node: SketchNode }) {
  const own = textOfStep(editor.text, node.span, editor.file.endsWith(".json"));
  const [draft, setDraft] = useState<string | null>(null);
  const text = draft ?? own;
  const isChanged = draft !== null && draft !== own;
  const line = node.span?.["line"] ?? 1;
  const apply = async () => {
    if (await editor.apply([{ operation: "rewrite", at: node.path, text }])) setDraft(null);
  };
  return (
    <div className="step-source">
      <p className="faint">
        line {line} of {editor.file}{" "}
        <button type="button" className="button button-quiet" onClick={() => editor.showLine(line)}>
          Show in the file
        </button>
      </p>
      <textarea
        className="mono"
        aria-label={`lines of ${node.title}`}
        spellCheck={false}
        readOnly={editor.isReadOnly}
        rows={Math.min(LINES_MAX, text.split("\n").length + 1)}
        value={text}
        onChange={(event) => setDraft(event.target.value)}
      />
      {isChanged && (
        <div className="action-row">
          <button type="button" className="button button-main" onClick={() => void apply()}>
            Apply
          </button>
          <button type="button" className="button" onClick={() => setDraft(null)}>
            Discard
          </button>
        </div>
      )}
    </div>
  );
}
