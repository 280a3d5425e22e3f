/** A table that draws only the rows in view, so that ten thousand are as quick as ten. */
import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

export interface Column<T> {
  key: string;
  head: ReactNode;
  cell: (row: T, index: number) => ReactNode;
  /** For numbers: to the right, in figures of equal width. */
  isNumber?: boolean;
  width?: string;
}

interface VirtualTableProps<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  rowKey: (row: T, index: number) => string | number;
  label: string;
  rowHeight?: number;
  height?: number | string;
  selectedKey?: string | number | null;
  onSelect?: (row: T, index: number) => void;
  rowClass?: (row: T) => string;
  /** Keeps the last row in view while rows are added. */
  isFollowing?: boolean;
}

const OVERSCAN = 8;

/** Which rows to draw: those in view and a few around them. */
export function windowOf(count: number, rowHeight: number, scrolled: number, height: number): [number, number] {
  const first = Math.max(0, Math.floor(scrolled / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((scrolled + height) / rowHeight) + OVERSCAN);
  return [Math.min(first, last), last];
}

export function VirtualTable<T>(props: VirtualTableProps<T>) {
  const { rows, columns, rowKey, label, rowHeight = 30, height = 300, selectedKey = null, onSelect } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrolled: 0, height: typeof height === "number" ? height : 600 });
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setView({ scrolled: element.scrollTop, height: element.clientHeight });
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (props.isFollowing && frame.current) frame.current.scrollTop = frame.current.scrollHeight;
  }, [rows.length, props.isFollowing, rowHeight]);
  const [first, last] = windowOf(rows.length, rowHeight, view.scrolled, view.height);
  const scrolled = () => {
    const element = frame.current;
    if (element) setView({ scrolled: element.scrollTop, height: element.clientHeight });
  };
  return (
    <div ref={frame} className="table-frame" style={{ maxHeight: height }} onScroll={scrolled} tabIndex={0} role="region" aria-label={label}>
      <table className="table" aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th key={column.key} scope="col" className={column.isNumber ? "number" : ""} style={{ width: column.width }}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={first * rowHeight} columns={columns.length} />
          {rows.slice(first, last).map((row, offset) => {
            const index = first + offset;
            const key = rowKey(row, index);
            return (
              <tr
                key={key}
                aria-rowindex={index + 2}
                aria-selected={onSelect ? key === selectedKey : undefined}
                className={[onSelect ? "row-button" : "", props.rowClass?.(row) ?? ""].join(" ").trim()}
                style={{ height: rowHeight }}
                onClick={onSelect && (() => onSelect(row, index))}
                tabIndex={onSelect ? 0 : undefined}
                onKeyDown={onSelect && ((event) => event.key === "Enter" && onSelect(row, index))}
              >
                {columns.map((column) => (
                  <td key={column.key} className={column.isNumber ? "number" : ""}>
                    {column.cell(row, index)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Spacer height={(rows.length - last) * rowHeight} columns={columns.length} />
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" style={{ height }}>
      <td colSpan={columns} />
    </tr>
  );
}
