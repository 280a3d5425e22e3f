/** The steps of a file as rows of a tree, in reading order, and where the arrows lead in it. */
import type { Sketch, SketchNode } from "../contract";

export interface OutlineRow {
  node: SketchNode;
  level: number;
  hasInner: boolean;
}

/** All rows that are not inside of something closed. */
export function rowsOf(sketch: Sketch, closed: ReadonlySet<string>): OutlineRow[] {
  const inside = new Map<string, SketchNode[]>();
  for (const node of sketch.nodes) inside.set(node.parent, [...(inside.get(node.parent) ?? []), node]);
  const rows: OutlineRow[] = [];
  const walk = (parent: string, level: number) => {
    for (const node of inside.get(parent) ?? []) {
      const hasInner = inside.has(node.path);
      rows.push({ node, level, hasInner });
      if (hasInner && !closed.has(node.path)) walk(node.path, level + 1);
    }
  };
  walk("", 1);
  return rows;
}

/** Where an arrow leads from a row: another path, or opening or closing this one. */
export function stepTo(rows: readonly OutlineRow[], path: string, key: string, closed: ReadonlySet<string>): { path?: string; toggles?: boolean } {
  const at = rows.findIndex((row) => row.node.path === path);
  const row = rows[at];
  if (!row) return rows[0] ? { path: rows[0].node.path } : {};
  const isOpen = row.hasInner && !closed.has(path);
  switch (key) {
    case "ArrowDown":
      return to(rows[at + 1]);
    case "ArrowUp":
      return to(rows[at - 1]);
    case "Home":
      return to(rows[0]);
    case "End":
      return to(rows.at(-1));
    case "ArrowRight":
      return isOpen ? to(rows[at + 1]) : { toggles: row.hasInner };
    case "ArrowLeft":
      return isOpen ? { toggles: true } : to(rows.find((one) => one.node.path === row.node.parent));
    default:
      return {};
  }
}

const to = (row: OutlineRow | undefined): { path?: string } => (row ? { path: row.node.path } : {});

/** What moves a step among its neighbours, out of its holder or into the holder before it; null where nothing does. */
export function moveOf(sketch: Sketch, path: string, key: string): { into: string; case: string | null; after: string | null } | null {
  const node = sketch.nodes.find((one) => one.path === path);
  if (!node) return null;
  const beside = sketch.nodes.filter((one) => one.parent === node.parent && one.case === node.case);
  const at = beside.indexOf(node);
  const place = { into: node.parent, case: node.case };
  const [before, behind] = [beside[at - 1], beside[at + 1]];
  switch (key) {
    case "ArrowUp":
      return before ? { ...place, after: beside[at - 2]?.path ?? null } : null;
    case "ArrowDown":
      return behind ? { ...place, after: behind.path } : null;
    case "ArrowLeft": {
      const holder = sketch.nodes.find((one) => one.path === node.parent);
      return holder ? { into: holder.parent, case: holder.case, after: holder.path } : null;
    }
    case "ArrowRight": {
      if (before?.body !== "inline") return null;
      const inner = sketch.nodes.filter((one) => one.parent === before.path);
      return { into: before.path, case: inner.at(-1)?.case ?? null, after: inner.at(-1)?.path ?? null };
    }
    default:
      return null;
  }
}
