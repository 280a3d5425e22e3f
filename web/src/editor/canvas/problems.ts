/** Which step a problem belongs to: the innermost one whose lines it is in. */
import type { Diagnostic, Sketch } from "../contract";

export function pathOf(sketch: Sketch, { line }: Pick<Diagnostic, "line">): string {
  if (line == null) return "";
  const found = sketch.nodes.filter(({ span }) => span && line >= (span["line"] ?? 0) && line <= (span["end_line"] ?? 0));
  return found.sort((one, other) => length(one) - length(other))[0]?.path ?? "";
}

const length = ({ span }: Sketch["nodes"][number]): number => (span?.["end_line"] ?? 0) - (span?.["line"] ?? 0);

export function problemsByPath(sketch: Sketch, diagnostics: readonly Diagnostic[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const one of diagnostics) {
    const path = one.severity === "error" ? pathOf(sketch, one) : "";
    if (path) found.set(path, (found.get(path) ?? 0) + 1);
  }
  return found;
}
