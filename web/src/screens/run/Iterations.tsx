/** The iterations of a loop as a table: only the rows in view are drawn. */
import { useMemo } from "react";
import { useRunView } from "../../app/run";
import { BestMark, lookOf, ReturnedMark, VirtualTable, type Column } from "../../charts";
import { tokensOf, words, type Iteration, type LoopState } from "../../journal";
import { gainOf, gainWords } from "./focus";

interface IterationsProps {
  loop: LoopState;
  number: number;
  isScored: boolean;
  onChoose: (number: number) => void;
}

const ROW = 28;
const ROWS_MAX = 9;

export function Iterations({ loop, number, isScored, onChoose }: IterationsProps) {
  const isFollowing = useRunView((view) => view.isFollowing);
  const columns = useMemo(() => columnsOf(loop, isScored), [loop, isScored]);
  if (loop.iterations.length === 0) return <p className="faint">None has begun.</p>;
  return (
    <VirtualTable
      label="iterations of the loop"
      rows={loop.iterations}
      columns={columns}
      rowKey={(row) => row.number}
      rowHeight={ROW}
      height={ROW * ROWS_MAX + 30}
      selectedKey={number}
      onSelect={(row) => onChoose(row.number)}
      isFollowing={isFollowing}
    />
  );
}

const OF_SCORES = new Set(["score", "gain"]);

function columnsOf(loop: LoopState, isScored: boolean): Column<Iteration>[] {
  const columns: Column<Iteration>[] = [
    { key: "number", head: "#", isNumber: true, cell: (row) => <Number row={row} loop={loop} />, width: `${40 + 8 * String(loop.number).length}px` },
    { key: "score", head: "score", isNumber: true, cell: (row) => <Score row={row} target={loop.target} />, width: "54px" },
    { key: "gain", head: "Δ", isNumber: true, cell: (row) => <Gain gain={gainOf(loop, row)} />, width: "66px" },
    { key: "time", head: "time", isNumber: true, cell: (row) => (row.seconds === null ? "…" : words.duration(row.seconds)), width: "50px" },
    { key: "tokens", head: "tok", isNumber: true, cell: (row) => words.tokens(tokensOf(row.usage)), width: "46px" },
    { key: "cost", head: "cost", isNumber: true, cell: (row) => words.dollars(row.usage.cost_usd), width: "64px" },
    { key: "verdict", head: "verdict", cell: (row) => <Told row={row} /> },
  ];
  return isScored ? columns : columns.filter((column) => !OF_SCORES.has(column.key));
}

function Number({ row, loop }: { row: Iteration; loop: LoopState }) {
  return (
    <>
      {row.number === loop.returned && <ReturnedMark />}
      {row.number === loop.best && <BestMark />} {row.number}
    </>
  );
}

function Score({ row, target }: { row: Iteration; target: number | null }) {
  // It needs the room of the next cell, which is empty: what does not count gains nothing.
  if (row.outside) return <span className="outside">{words.outsideWords(row.outside)}</span>;
  if (row.score === null) return null;
  const text = words.score(row.score, target);
  return <span title={text}>{text}</span>;
}

function Gain({ gain }: { gain: number | null }) {
  const tone = !gain ? "" : gain > 0 ? "gain-up" : "gain-down";
  const text = gainWords(gain);
  return (
    <span className={tone} title={text}>
      {text}
    </span>
  );
}

function Told({ row }: { row: Iteration }) {
  const whole = words.visible(row.status === "running" ? "" : words.verdictWords(row));
  // The score has a column of its own.
  const text = row.outside ? "" : whole.replace(/^score -?[\d.]+ /, "");
  const { mark, said } = markOf(row);
  return (
    <span title={whole || said} className={`verdict${row.met ? " verdict-met" : ""}`}>
      <span aria-hidden="true">{mark}</span>
      <span className="sr-only">{said} </span> {text || said}
    </span>
  );
}

function markOf(row: Iteration): { mark: string; said: string } {
  if (row.status !== "succeeded") {
    const { glyph, word } = lookOf(row.status);
    return { mark: glyph, said: word };
  }
  if (row.approved) return { mark: "✓", said: "approved" };
  if (row.met) return { mark: "✓", said: "met" };
  return row.facts.length === 0 ? { mark: "·", said: "done" } : { mark: "✗", said: "not met" };
}
