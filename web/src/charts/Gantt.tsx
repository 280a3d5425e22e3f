/** When each node ran: row = node, columns = iterations, idle gaps compressed, the time under it. */
import { useMemo } from "react";
import { duration } from "../journal/words";
import { lookOf } from "./StatusBadge";
import { timelineOf, type Bar, type Span } from "./timeline";

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
const FOOT = 18;
const DIGIT = 6.2;

export function Gantt({ spans, now, width = 900, selected = "", onSelect, chosenColumn = "" }: GanttProps) {
  const { rows, lanes, columns, bars, gaps, ticks } = useMemo(
    () => timelineOf(spans, { width: width - NAMES - 8, now }),
    [spans, now, width],
  );
  if (rows.length === 0) return <p className="faint">No step that takes time has run yet.</p>;
  const tops = lanes.map((_, index) => HEAD + ROW * lanes.slice(0, index).reduce((sum, count) => sum + count, 0));
  const bottom = HEAD + ROW * lanes.reduce((sum, count) => sum + count, 0) + 2;
  const height = bottom + FOOT;
  const named = apart(columns.map((column) => ({ ...column, length: column.name.length })), width - NAMES);
  const unnamed = new Set(columns.filter((_, index) => !named.has(index)).map((column) => column.name));
  const times = apart([...gaps.map((gap) => ({ ...gap, length: duration(gap.seconds).length + 2 })), ...ticks.map((tick) => ({ ...tick, length: duration(tick.seconds).length }))]);
  return (
    <svg className="gantt" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="group" aria-label="timeline">
      {columns.map((column, index) => (
        <g key={column.name} className={column.name === chosenColumn ? "column column-chosen" : "column"}>
          <rect x={NAMES + column.x} y={HEAD - 2} width={column.width} height={bottom - HEAD} />
          {named.has(index) && (
            <text x={NAMES + column.x + 3} y={HEAD - 6}>
              {column.name}
            </text>
          )}
        </g>
      ))}
      {rows.map((row, index) => (
        <text key={row} className="row-name" x={NAMES - 6} y={(tops[index] ?? 0) + 15} textAnchor="end">
          {row.length > 16 ? `${row.slice(0, 15)}…` : row}
          <title>{row}</title>
        </text>
      ))}
      {bars.map((bar) => {
        const { glyph, tone, word } = lookOf(bar.status);
        const y = (tops[rows.indexOf(bar.row)] ?? 0) + bar.lane * ROW + 3;
        const words = `${bar.address}: ${word}, ${duration(bar.seconds)}`;
        const text = bar.width > 16 ? labelled(bar, glyph, unnamed.has(bar.column) ? bar.column : "") : "";
        // What is read out begins with what is seen, so that who speaks to the page can name it.
        const name = [text.replace(glyph, "").trim(), words].filter(Boolean).join(", ");
        const select = onSelect && (() => onSelect(bar.address));
        return (
          <g
            key={bar.address}
            className={`bar tone-${tone}${bar.address === selected ? " bar-selected" : ""}`}
            onClick={select}
            onKeyDown={(event) => event.key === "Enter" && select?.()}
            {...(select ? { role: "button", tabIndex: 0, "aria-label": name } : {})}
          >
            <title>{words}</title>
            <rect x={NAMES + bar.x} y={y} width={bar.width} height={ROW - 6} rx="3" />
            {text && (
              <text x={NAMES + bar.x + 4} y={y + 12}>
                {text}
              </text>
            )}
          </g>
        );
      })}
      {gaps.map((gap, index) => (
        <g key={gap.x} className="gap">
          <title>{`nothing ran for ${duration(gap.seconds)}`}</title>
          <line x1={NAMES + gap.x} x2={NAMES + gap.x} y1={HEAD} y2={bottom} />
          {times.has(index) && (
            <text x={NAMES + gap.x} y={height - 5} textAnchor="middle">
              ⟨{duration(gap.seconds)}⟩
            </text>
          )}
        </g>
      ))}
      {ticks.filter((_, index) => times.has(gaps.length + index)).map((tick) => (
        <g key={tick.x} className="tick">
          <line x1={NAMES + tick.x} x2={NAMES + tick.x} y1={bottom} y2={bottom + 4} />
          <text x={NAMES + tick.x} y={height - 5} textAnchor={tick.x > width - NAMES - 24 ? "end" : "middle"}>
            {duration(tick.seconds)}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Which of these words have room beside the ones before them, and inside of the picture. */
function apart(all: readonly { x: number; length: number }[], room = Infinity): ReadonlySet<number> {
  const kept = new Set<number>();
  all.forEach((one, index) => {
    if (one.x + 3 + one.length * DIGIT > room) return;
    const isFree = [...kept].every((other) => Math.abs((all[other]?.x ?? 0) - one.x) > ((one.length + (all[other]?.length ?? 0)) / 2) * DIGIT + 4);
    if (isFree) kept.add(index);
  });
  return kept;
}

/** What fits into a bar: its name, else its place inside the iteration, else its status alone. `column`: what stands nowhere above it. */
function labelled({ width, label, inner }: Bar, glyph: string, column: string): string {
  const texts = [[glyph, label, column, inner], [glyph, column, inner], [glyph, inner]].map((parts) => parts.filter(Boolean).join(" "));
  return texts.find((text) => width > 10 + text.length * 7) ?? glyph;
}
