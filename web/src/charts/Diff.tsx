/** Two texts and what changed between them: one under the other, or side by side. */
import { useMemo } from "react";
import { visible } from "../journal/words";
import { folded, linesOf, sides, type Row } from "./differences";

interface DiffProps {
  before: string;
  after: string;
  view?: "unified" | "split";
  /** How many equal lines stay around a change; Infinity shows all. */
  context?: number;
  label?: string;
}

const SIGNS = { same: " ", added: "+", removed: "-" } as const;

export function Diff({ before, after, view = "unified", context = 3, label = "differences" }: DiffProps) {
  const rows = useMemo(() => folded(linesOf(before, after), context), [before, after, context]);
  if (before === after) return <p className="faint">No difference.</p>;
  return (
    <table className={`diff diff-${view}`} aria-label={label}>
      <tbody>
        {view === "unified"
          ? rows.map((row, index) => (
              <tr key={index} className={`diff-${row.kind}`}>
                <Cells row={row} side="both" />
              </tr>
            ))
          : sides(rows).map(([left, right], index) => (
              <tr key={index}>
                <Cells row={left} side="before" />
                <Cells row={right} side="after" />
              </tr>
            ))}
      </tbody>
    </table>
  );
}

function Cells({ row, side }: { row: Row | null; side: "both" | "before" | "after" }) {
  if (row === null) return <td colSpan={2} className="diff-nothing" />;
  if (row.kind === "skipped") {
    return (
      <td colSpan={side === "both" ? 3 : 2} className="diff-skipped">
        {side === "after" ? "" : `… ${row.count} equal lines`}
      </td>
    );
  }
  return (
    <>
      {side !== "after" && <td className="diff-number">{row.before}</td>}
      {side !== "before" && <td className="diff-number">{row.after}</td>}
      <td className={`diff-text diff-${row.kind}`}>
        <span className="diff-sign">{SIGNS[row.kind]}</span>
        {row.pieces.map((piece, index) =>
          piece.isChanged ? <mark key={index}>{visible(piece.text)}</mark> : <span key={index}>{visible(piece.text)}</span>,
        )}
      </td>
    </>
  );
}
