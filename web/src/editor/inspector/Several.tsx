/** Several selected steps: what can be done with all of them. */
import type { Editor, SketchNode } from "../contract";
import { RemoveButton, WrapForm } from "./Actions";

export function Several({ editor, nodes }: { editor: Editor; nodes: readonly SketchNode[] }) {
  const isOneParent = new Set(nodes.map((node) => node.parent)).size === 1;
  return (
    <>
      <h2>{nodes.length} steps</h2>
      <ul className="inspector-list">
        {nodes.map((node) => (
          <li key={node.path}>
            <button type="button" className="link-button" onClick={() => editor.select([node.path])}>
              {node.path}
            </button>
          </li>
        ))}
      </ul>
      {!editor.isReadOnly && (
        <div className="inspector-actions">
          {isOneParent ? <WrapForm editor={editor} paths={nodes.map((node) => node.path)} /> : <p className="faint">Only steps with the same parent can be wrapped together.</p>}
          <RemoveButton editor={editor} nodes={nodes} />
        </div>
      )}
    </>
  );
}
