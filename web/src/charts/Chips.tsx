/** The chips at the foot of a loop: each chooses an iteration. */
import { useLayoutEffect, useRef, type KeyboardEvent } from "react";
import type { Iteration } from "../journal";
import { outsideWords, score as scoreWords } from "../journal/words";
import { chipsOf, type Chip } from "./buckets";
import { BestMark, ReturnedMark } from "./Marks";

interface ChipsProps {
  iterations: readonly Iteration[];
  best: number | null;
  returned?: number | null;
  chosen: number | null;
  onChoose: (number: number) => void;
  /** The limit of iterations: those that are left are shown faintly, if they are few. */
  limit?: number | null;
  label?: string;
  chipsMax?: number;
}

const LEFT_MAX = 12;

export function Chips({ iterations, best, returned = null, chosen, onChoose, limit = null, label = "iterations", chipsMax }: ChipsProps) {
  const chips = chipsOf(iterations, { best, returned }, chipsMax);
  const last = iterations.at(-1)?.number ?? 0;
  const left = limit === null ? 0 : Math.max(0, limit - last);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || chosen === null) return;
    event.preventDefault();
    const first = iterations[0]?.number ?? 1;
    onChoose(Math.min(last, Math.max(first, chosen + step)));
  };
  const row = useRef<HTMLDivElement>(null);
  const cut = () => row.current && noteCut(row.current);
  useLayoutEffect(() => {
    const element = row.current;
    if (!element) return;
    // Another picture of the workflow, or another window, may leave less room.
    const watcher = new ResizeObserver(() => showChosen(element));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [chosen, chips.length]);
  return (
    <div ref={row} className="chips nodrag nopan nowheel" role="group" aria-label={label} onKeyDown={move} onScroll={cut}>
      {chips.map((chip) => (
        <ChipButton key={chip.from} chip={chip} chosen={chosen} onChoose={onChoose} />
      ))}
      {left <= LEFT_MAX &&
        Array.from({ length: left }, (_, index) => (
          <span key={index} className="chip chip-left" aria-hidden="true">
            {last + index + 1}
          </span>
        ))}
    </div>
  );
}

/** The chosen chip stays in view, without moving anything around the row. */
function showChosen(row: HTMLElement): void {
  const pressed = row.querySelector<HTMLElement>('[aria-pressed="true"]');
  if (pressed) {
    const [from, to] = [pressed.offsetLeft - row.offsetLeft, pressed.offsetLeft - row.offsetLeft + pressed.offsetWidth];
    if (from < row.scrollLeft || to > row.scrollLeft + row.clientWidth) row.scrollLeft = from - row.clientWidth / 2;
  }
  noteCut(row);
}

/** Notes at which ends of a row there are more chips than are seen. */
function noteCut(row: HTMLElement): void {
  const rest = row.scrollWidth - row.clientWidth - row.scrollLeft;
  row.dataset["cut"] = [row.scrollLeft > 2 ? "before" : "", rest > 2 ? "after" : ""].join(" ").trim();
}

const GLYPHS: Record<string, string> = { running: "…", failed: "✗", cut: "✂", cancelled: "⊘" };

function ChipButton({ chip, chosen, onChoose }: { chip: Chip; chosen: number | null; onChoose: (number: number) => void }) {
  const isOne = chip.from === chip.to;
  const isChosen = chosen !== null && chip.from <= chosen && chosen <= chip.to;
  const glyph = GLYPHS[chip.status] ?? (chip.met ? "✓" : "");
  return (
    <button
      type="button"
      className={`chip chip-${chip.status}${chip.met ? " chip-met" : ""}`}
      aria-pressed={isChosen}
      title={chipWords(chip)}
      onClick={() => onChoose(isChosen && chosen !== null ? chosen : chip.to)}
    >
      <span className="sr-only">{isOne ? "iteration" : "iterations"}</span>
      <span>{isOne ? chip.from : `${chip.from}–${chip.to}`}</span>
      <span className="sr-only">{[chip.status, chip.met ? "condition met" : ""].filter(Boolean).join(", ")}</span>
      {chip.score !== null && isOne && <ScoreBar score={chip.score} />}
      {chip.score !== null && isOne && <span className="chip-score">{scoreWords(chip.score)}</span>}
      {chip.outside && <span className="chip-score outside">{outsideWords(chip.outside)}</span>}
      {glyph && <span aria-hidden="true">{glyph}</span>}
      {chip.hasBest && <BestMark />}
      {chip.hasReturned && <ReturnedMark />}
    </button>
  );
}

function ScoreBar({ score }: { score: number }) {
  const height = Math.max(1, Math.min(1, Math.max(0, score)) * 10);
  return (
    <svg className="chip-bar" width="3" height="10" aria-hidden="true">
      <rect x="0" y={10 - height} width="3" height={height} />
    </svg>
  );
}

function chipWords(chip: Chip): string {
  const which = chip.from === chip.to ? `iteration ${chip.from}` : `iterations ${chip.from} to ${chip.to}`;
  const parts = [which, chip.status];
  if (chip.met) parts.push("condition met");
  if (chip.score !== null) parts.push(`score ${scoreWords(chip.score)}`);
  if (chip.outside) parts.push(`score ${outsideWords(chip.outside)}`);
  if (chip.hasBest) parts.push("best");
  if (chip.hasReturned) parts.push("returned");
  return parts.join(", ");
}
