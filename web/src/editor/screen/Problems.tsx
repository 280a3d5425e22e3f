/** What the reader says of the file, each with its step and line; what has no step stands first. */
import { useMemo } from "react";
import { visible } from "../../journal/words";
import { pathOf } from "../canvas/problems";
import { useEditorState, useOpenFile } from "../state";

export function Problems({ onLine }: { onLine: (line: number) => void }) {
  const { store } = useOpenFile();
  const diagnostics = useEditorState((state) => state.diagnostics);
  const sketch = useEditorState((state) => state.sketch);
  const rows = useMemo(
    () => diagnostics.map((one) => ({ ...one, path: pathOf(sketch, one) })).sort((one, other) => Number(one.path !== "") - Number(other.path !== "") || (one.line ?? 0) - (other.line ?? 0)),
    [diagnostics, sketch],
  );
  if (rows.length === 0) return null;
  return (
    <section className="edit-problems" aria-label="problems">
      <h2>
        Problems <span className="badge tone-idle">{rows.length}</span>
      </h2>
      <ol>
        {rows.map((one, index) => (
          <li key={index} className={one.severity === "error" ? "tone-bad" : "tone-wait"}>
            <span className="badge">
              <span aria-hidden="true">{one.severity === "error" ? "✗" : "!"} </span>
              {one.code}
            </span>
            {one.path && (
              <button type="button" className="link" onClick={() => store.setState({ selected: [one.path] })}>
                {visible(one.path)}
              </button>
            )}
            {one.line != null && (
              <button type="button" className="link" onClick={() => onLine(one.line ?? 1)}>
                line {one.line}
              </button>
            )}
            <span>
              {visible(one.message)}
              {one.help && <span className="help"> {visible(one.help)}</span>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
