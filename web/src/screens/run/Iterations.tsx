/** The iterations of a loop as a table: only the rows in view are drawn. */
import { useMemo } from "react";
import { useNow } from "../../app/clock";
import { useJournal, useRunView } from "../../app/run";
import { BestMark, lookOf, ReturnedMark, VirtualTable, type Column } from "../../charts";
import { isKept, reviewOf, tokensOf, words, writtenIn, type Iteration, type LoopState, type Records } from "../../journal";
import { gainOf, gainWords } from "./focus";

interface IterationsProps {
  loop: LoopState;
  number: number;
  isScored: boolean;
  onChoose: (number: number) => void;
}

const ROW = 28;
/** With the reviewer's words under the figures. */
const ROW_TOLD = 46;
const HEIGHT = 282;

export function Iterations({ loop, number, isScored, onChoose }: IterationsProps) {
  const isFollowing = useRunView((view) => view.isFollowing);
  const records = useRunView((view) => view.records);
  const columns = useMemo(() => columnsOf(loop, isScored, records), [loop, isScored, records]);
  const hasReviews = useMemo(() => loop.iterations.some((one) => reviewOf(one, loop.address, records)), [loop, records]);
  const isWriting = useJournal((journal) => loop.status === "running" && writtenIn(journal, loop.iterations.at(-1)?.address ?? "") !== "", [loop]);
  const run = useRunView((view) => view.journal.run);
  const isTold = hasReviews || isWriting;
  if (loop.iterations.length === 0) return <p className="faint">No iteration has started.</p>;
  return (
    <VirtualTable
      label="iterations of the loop"
      rows={loop.iterations}
      columns={columns}
      rowKey={(row) => row.number}
      rowHeight={isTold ? ROW_TOLD : ROW}
      rowClass={(row) => [isTold ? "row-told" : "", isKept(run, row) ? "row-kept" : ""].join(" ").trim()}
      height={HEIGHT}
      selectedKey={number}
      onSelect={(row) => onChoose(row.number)}
      isFollowing={isFollowing}
    />
  );
}

const OF_SCORES = new Set(["score", "gain"]);

function columnsOf(loop: LoopState, isScored: boolean, records: Records): Column<Iteration>[] {
  const columns: Column<Iteration>[] = [
    { key: "number", head: "#", isNumber: true, cell: (row) => <Number row={row} loop={loop} />, width: `${40 + 8 * String(loop.number).length}px` },
    { key: "score", head: "score", isNumber: true, cell: (row) => <Score row={row} target={loop.target} />, width: "54px" },
    { key: "gain", head: "Δ", isNumber: true, cell: (row) => <Gain gain={gainOf(loop, row)} />, width: "66px" },
    { key: "time", head: "time", isNumber: true, cell: (row) => (row.seconds === null ? <Elapsed row={row} /> : row.seconds > 0 ? words.duration(row.seconds) : ""), width: "50px" },
    { key: "tokens", head: "tok", isNumber: true, cell: (row) => words.tokens(tokensOf(row.usage)), width: "46px" },
    { key: "cost", head: "cost", isNumber: true, cell: (row) => words.cost(row.usage), width: "64px" },
    { key: "verdict", head: "verdict", cell: (row) => <Told row={row} review={reviewOf(row, loop.address, records)} /> },
  ];
  return isScored ? columns : columns.filter((column) => !OF_SCORES.has(column.key));
}

/** How long the iteration has been under way. */
function Elapsed({ row }: { row: Iteration }) {
  const isMoving = useRunView((view) => view.journal.run.status === "running");
  const lastAt = useRunView((view) => view.journal.lastAt);
  const now = useNow(isMoving);
  return words.duration((isMoving ? Math.max(now, lastAt) : lastAt) - row.startedAt);
}

/** The end of what is being written, as it comes. */
function Written({ row }: { row: Iteration }) {
  const text = useJournal((journal) => writtenIn(journal, row.address), [row.address]);
  return text && <span className="review written">{words.visible(text)}</span>;
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

/** What the condition came to, and under the figures what the reviewer said. */
function Told({ row, review }: { row: Iteration; review: string }) {
  const isOver = row.status !== "running";
  const verdict = words.visible(isOver ? words.verdictWords(row) : "");
  const told = words.visible(isOver && !row.error ? review : "");
  // The score has a column of its own, and the judge's reason a line.
  const short = row.outside ? "" : verdict.replace(/^score -?[\d.]+ /, "").replace(told ? `. ${told}` : "", "");
  const { mark, said } = markOf(row);
  return (
    <>
      <span title={verdict || said} className={`verdict${row.met ? " verdict-met" : ""}`}>
        <span aria-hidden="true">{mark}</span>
        <span className="sr-only">{said} </span> {short || said}
      </span>
      {told && (
        <span className="review" title={told}>
          {told}
        </span>
      )}
      {!isOver && <Written row={row} />}
    </>
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
