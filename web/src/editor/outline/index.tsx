/** A file as a tree of its steps: what the canvas is on narrow screens, and for who does not see it. */
import { useState, type KeyboardEvent, type MouseEvent } from "react";
import { visible } from "../../journal/words";
import type { Editor } from "../contract";
import { problemsOf } from "../inspector/source";
import { moveOf, rowsOf, stepTo, type OutlineRow } from "./tree";

export function Outline({ editor }: { editor: Editor }) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const { sketch } = editor;
  if (!sketch) return null;
  const rows = rowsOf(sketch, closed);
  const current = editor.selected.at(-1) ?? "";
  const focused = rows.some((row) => row.node.path === current) ? current : (rows[0]?.node.path ?? "");
  const toggle = (path: string) => setClosed(new Set(closed.has(path) ? [...closed].filter((one) => one !== path) : [...closed, path]));
  const press = (event: KeyboardEvent<HTMLElement>, path: string) => {
    const moved = event.altKey && !editor.isReadOnly ? moveOf(sketch, path, event.key) : null;
    if (event.altKey) {
      if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      if (moved) void editor.apply([{ operation: "move", at: path, ...moved }]).then((made) => made && editor.select(made.select));
      return;
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      editor.select(event.shiftKey ? added(editor.selected, path) : [path]);
      return;
    }
    const step = stepTo(rows, path, event.key, closed);
    if (step.path === undefined && !step.toggles) return;
    event.preventDefault();
    if (step.toggles) toggle(path);
    else if (step.path !== undefined) {
      editor.select(event.shiftKey ? added(editor.selected, step.path) : [step.path]);
      document.getElementById(idOf(step.path))?.focus();
    }
  };
  if (rows.length === 0) return <p className="faint">No steps yet.</p>;
  return (
    <ul className="outline" role="tree" aria-label={`steps of ${editor.file}`} aria-multiselectable="true">
      {rows.map((row) => (
        <Row
          key={row.node.path}
          row={row}
          isOpen={!closed.has(row.node.path)}
          isSelected={editor.selected.includes(row.node.path)}
          isFocused={row.node.path === focused}
          problems={problemsOf(editor, row.node).length}
          onToggle={toggle}
          onSelect={(event) => editor.select(event.ctrlKey || event.metaKey || event.shiftKey ? added(editor.selected, row.node.path) : [row.node.path])}
          onPress={press}
        />
      ))}
    </ul>
  );
}

const idOf = (path: string): string => `outline-${path}`;

const added = (selected: readonly string[], path: string): string[] => (selected.includes(path) ? selected.filter((one) => one !== path) : [...selected, path]);

interface RowProps {
  row: OutlineRow;
  isOpen: boolean;
  isSelected: boolean;
  isFocused: boolean;
  problems: number;
  onToggle: (path: string) => void;
  onSelect: (event: MouseEvent) => void;
  onPress: (event: KeyboardEvent<HTMLElement>, path: string) => void;
}

function Row({ row: { node, level, hasInner }, isOpen, isSelected, isFocused, problems, onToggle, onSelect, onPress }: RowProps) {
  return (
    <li
      id={idOf(node.path)}
      role="treeitem"
      className="outline-row"
      data-level={Math.min(level, 8)}
      aria-level={level}
      aria-selected={isSelected}
      aria-expanded={hasInner ? isOpen : undefined}
      tabIndex={isFocused ? 0 : -1}
      onClick={onSelect}
      onKeyDown={(event) => onPress(event, node.path)}
    >
      <span
        className="outline-mark"
        aria-hidden="true"
        onClick={(event) => {
          if (!hasInner) return;
          event.stopPropagation();
          onToggle(node.path);
        }}
      >
        {hasInner ? (isOpen ? "▾" : "▸") : ""}
      </span>
      {node.case && <span className="outline-case">{visible(node.case)}</span>}
      <span className="outline-name">{visible(node.title)}</span>
      <span className="faint">{node.kind}</span>
      {problems > 0 && (
        <span className="badge tone-bad">
          <span aria-hidden="true">✗ </span>
          {problems}
          <span className="sr-only"> {problems === 1 ? "problem" : "problems"}</span>
        </span>
      )}
    </li>
  );
}
