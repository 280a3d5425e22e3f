/** When each node ran: row = node, columns = iterations, idle gaps compressed. */
import { useMemo } from "react";
import { duration } from "../journal/words";
import { lookOf } from "./StatusBadge";
import { timelineOf, type Span } from "./timeline";

interface GanttProps {
  spans: readonly Span[];
  now: number;
  width?: number;
  selected?: string;
  onSelect?: (address: string) => void;
  chosenColumn?: string;
}

const ROW = 22;
const NAMES = 110;
const HEAD = 18;

export function Gantt({ spans, now, width = 900, selected = "", onSelect, chosenColumn = "" }: GanttProps) {
  const { rows, columns, bars, gaps } = useMemo(
    () => timelineOf(spans, { width: width - NAMES - 8, now }),
    [spans, now, width],
  );
  if (rows.length === 0) return <p className="faint">Nothing has run yet.</p>;
  const height = HEAD + rows.length * ROW + 4;
  return (
    <svg className="gantt" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="group" aria-label="timeline">
      {columns.map((column) => (
        <g key={column.name} className={column.name === chosenColumn ? "column column-chosen" : "column"}>
          <rect x={NAMES + column.x} y={HEAD - 2} width={column.width} height={height - HEAD} />
          {column.width > 14 && (
            <text x={NAMES + column.x + 3} y={HEAD - 6}>
              {column.name}
            </text>
          )}
        </g>
      ))}
      {rows.map((row, index) => (
        <text key={row} className="row-name" x={NAMES - 6} y={HEAD + index * ROW + 15} textAnchor="end">
          {row.length > 16 ? `${row.slice(0, 15)}…` : row}
          <title>{row}</title>
        </text>
      ))}
      {bars.map((bar) => {
        const { glyph, tone, word } = lookOf(bar.status);
        const y = HEAD + rows.indexOf(bar.row) * ROW + 3;
        const words = `${bar.address}: ${word}, ${duration(bar.seconds)}`;
        const select = onSelect && (() => onSelect(bar.address));
        return (
          <g
            key={bar.address}
            className={`bar tone-${tone}${bar.address === selected ? " bar-selected" : ""}`}
            onClick={select}
            onKeyDown={(event) => event.key === "Enter" && select?.()}
            {...(select ? { role: "button", tabIndex: 0, "aria-label": words } : {})}
          >
            <title>{words}</title>
            <rect x={NAMES + bar.x} y={y} width={bar.width} height={ROW - 6} rx="3" />
            {bar.width > 16 && (
              <text x={NAMES + bar.x + 4} y={y + 12}>
                {bar.width > 16 + bar.label.length * 7 ? `${glyph} ${bar.label}` : glyph}
              </text>
            )}
          </g>
        );
      })}
      {gaps.map((gap) => (
        <g key={gap.x} className="gap">
          <line x1={NAMES + gap.x} x2={NAMES + gap.x} y1={HEAD} y2={height} />
          <text x={NAMES + gap.x} y={HEAD - 6} textAnchor="middle">
            ⟨{duration(gap.seconds)}⟩
          </text>
        </g>
      ))}
    </svg>
  );
}
