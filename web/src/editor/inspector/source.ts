/** The lines of one step in the text of the file, as they are edited on their own. */
import type { Diagnostic, Editor, Lines, SketchNode } from "../contract";

const INDENTED = /^[ \t-]*$/;

/** The text of a step: whole lines with the remarks above them, or the part of a line between braces. */
export function textOfStep(text: string, span: Lines | null, isJson: boolean): string {
  if (!span) return "";
  const lines = text.split("\n");
  const [first, column, last] = [(span["line"] ?? 1) - 1, (span["column"] ?? 1) - 1, (span["end_line"] ?? 1) - 1];
  const before = (lines[first] ?? "").slice(0, column);
  if (isJson || !INDENTED.test(before)) return flowPart(lines.slice(first).join("\n").slice(column));
  let top = first;
  // Remarks right above a step, at its own column, belong to it.
  while (top > 0 && before.trim() === "" && isRemark(lines[top - 1] ?? "", column)) top -= 1;
  return dedented([...lines.slice(top, first), " ".repeat(column) + (lines[first] ?? "").slice(column), ...lines.slice(first + 1, last + 1)]);
}

const isRemark = (line: string, column: number): boolean => line.trimStart().startsWith("#") && line.length - line.trimStart().length === column;

function dedented(lines: string[]): string {
  const margin = Math.min(...lines.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length));
  return lines.map((line) => line.slice(Math.min(margin, line.length)).replace(/\r$/, "")).join("\n");
}

/** From the beginning of an entry between braces to its end. */
function flowPart(text: string): string {
  let depth = 0;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] ?? "";
    if (quote) {
      if (sign === "\\" && quote === '"') at += 1;
      else if (sign === quote) quote = "";
    } else if (sign === '"' || (sign === "'" && /[\s:,[{]/.test(text[at - 1] ?? " "))) quote = sign;
    else if ("{[".includes(sign)) depth += 1;
    else if ("}]".includes(sign)) {
      if (depth === 0) return text.slice(0, at).trimEnd();
      depth -= 1;
    } else if (sign === "," && depth === 0) return text.slice(0, at).trimEnd();
  }
  return text.trimEnd();
}

/** What is wrong with a step itself: the finding names it, or stands in its lines and in no inner step's. */
export function problemsOf(editor: Editor, node: SketchNode): Diagnostic[] {
  return editor.diagnostics.filter((found) => {
    const named = (found as Diagnostic & { node?: string | null }).node;
    return typeof named === "string" && named ? named === node.path : innermost(editor, found.line ?? 0)?.path === node.path;
  });
}

function innermost(editor: Editor, line: number): SketchNode | undefined {
  const around = editor.sketch?.nodes.filter(({ span }) => span && (span["line"] ?? 0) <= line && line <= (span["end_line"] ?? 0)) ?? [];
  return around.toSorted((one, other) => other.path.split("/").length - one.path.split("/").length)[0];
}
