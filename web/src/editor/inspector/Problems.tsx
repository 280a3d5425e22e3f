/** What is wrong with one step, each with its line. */
import { visible } from "../../journal/words";
import type { Editor, SketchNode } from "../contract";
import { problemsOf } from "./source";

export function Problems({ editor, node }: { editor: Editor; node: SketchNode }) {
  const found = problemsOf(editor, node);
  if (found.length === 0) return null;
  return (
    <ul className="inspector-problems" aria-label="problems of the step">
      {found.map((one, index) => (
        <li key={index} className={one.severity === "error" ? "tone-bad" : "tone-wait"}>
          <span aria-hidden="true">{one.severity === "error" ? "✗" : "!"} </span>
          <span className="sr-only">{one.severity}: </span>
          {visible(one.message)}{" "}
          {one.line && (
            <button type="button" className="link-button" onClick={() => editor.showLine(one.line ?? 1)}>
              line {one.line}
            </button>
          )}
          {one.help && <span className="help"> {visible(one.help)}</span>}
        </li>
      ))}
    </ul>
  );
}
