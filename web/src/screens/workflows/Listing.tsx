/** The text of a file with its lines numbered, and the problems under the lines that they are about. */
import type { Diagnostic, WorkflowItem } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { useLoad } from "../../app/session";
import { words } from "../../journal";

const LINES_MAX = 3_000;
const AROUND = 2;

/** Problems in the order of their lines; those without one first. */
export function inOrder(found: readonly Diagnostic[]): Diagnostic[] {
  return found.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0));
}

/** The lines around one, with their numbers. */
export function linesAround(text: string, line: number, around = AROUND): [number: number, text: string][] {
  const all = text.split(/\r?\n/);
  const first = Math.max(1, line - around);
  return all.slice(first - 1, line + around).map((one, index) => [first + index, one]);
}

/** The line of a problem with a mark under its column, as the terminal shows it. */
export function Excerpt({ text, problem }: { text: string; problem: Diagnostic }) {
  const line = problem.line ?? 0;
  if (line < 1) return null;
  return (
    <pre className="excerpt" tabIndex={0} aria-label={`line ${line}`}>
      {linesAround(text, line).map(([number, one]) => (
        <span key={number} className={number === line ? "excerpt-line is-marked" : "excerpt-line"}>
          {String(number).padStart(4)} │ {words.visible(one)}
          {number === line && problem.column ? `\n     │ ${" ".repeat(problem.column - 1)}^ ${words.visible(problem.label)}` : ""}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** The whole file; lines with problems are marked. */
export function Listing({ item: { file, named }, problems }: { item: WorkflowItem; problems: readonly Diagnostic[] }) {
  const source = useLoad((client, signal) => client.workflowSource(file, named, signal), [file, named]);
  if (source.error) return <ErrorNotice error={source.error} onRetry={source.reload} />;
  if (!source.value) return <Loading what="the file" />;
  return Object.entries(source.value.files).map(([name, text]) => (
    <section key={name} aria-label={`source of ${name}`}>
      <h3 className="mono">{words.visible(name)}</h3>
      <Lines text={text} marked={new Set(problems.filter((one) => !one.file || name.endsWith(one.file)).map((one) => one.line ?? 0))} />
    </section>
  ));
}

function Lines({ text, marked }: { text: string; marked: ReadonlySet<number> }) {
  const lines = text.split(/\r?\n/);
  return (
    <pre className="excerpt listing" tabIndex={0}>
      {lines.slice(0, LINES_MAX).map((one, index) => (
        <span key={index} className={marked.has(index + 1) ? "excerpt-line is-marked" : "excerpt-line"}>
          {String(index + 1).padStart(4)} {marked.has(index + 1) ? "▸" : "│"} {words.visible(one)}
          {"\n"}
        </span>
      ))}
      {lines.length > LINES_MAX && `… ${lines.length - LINES_MAX} more lines`}
    </pre>
  );
}
