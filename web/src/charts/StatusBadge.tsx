/** A status as glyph and word: the colour says the same again, never something of its own. */
import type { Mark } from "../journal";
import { MARK_WORDS } from "../journal/words";

const LOOKS: Record<string, [glyph: string, tone: string]> = {
  running: ["●", "busy"],
  retrying: ["↻", "busy"],
  judging: ["⚖", "busy"],
  waiting: ["‖", "wait"],
  paused: ["‖", "wait"],
  interrupted: ["◌", "wait"],
  in_doubt: ["?", "wait"],
  succeeded: ["✓", "good"],
  finished: ["✓", "good"],
  exhausted: ["■", "wait"],
  failed: ["✗", "bad"],
  timed_out: ["✗", "bad"],
  cut: ["✂", "wait"],
  cancelled: ["⊘", "idle"],
  skipped: ["↷", "idle"],
  idle: ["○", "idle"],
};

const WORDS: Record<string, string> = { in_doubt: "in doubt", timed_out: "timed out", idle: "not yet" };

/** How a status looks; a success that a limit or the budget brought about is no plain one. */
export function lookOf(status: string, mark: Mark | null = null): { glyph: string; tone: string; word: string } {
  if (mark && status === "succeeded") return { glyph: "!", tone: "wait", word: mark };
  const [glyph, tone] = LOOKS[status] ?? ["○", "idle"];
  return { glyph, tone, word: WORDS[status] ?? status };
}

interface StatusBadgeProps {
  status: string;
  mark?: Mark | null;
  /** Stands in place of the status' word, which is still told to those who do not see the colour. */
  text?: string;
  compact?: boolean;
}

export function StatusBadge({ status, mark = null, text = "", compact = false }: StatusBadgeProps) {
  const { glyph, tone, word } = lookOf(status, mark);
  const isSilent = compact || text !== "";
  const title = mark && status === "succeeded" ? `${status}: ${MARK_WORDS[mark]}` : isSilent ? word : undefined;
  return (
    <span className={`badge tone-${tone}`} title={title}>
      <span aria-hidden="true">{glyph}</span>
      {isSilent ? <span className="sr-only">{word}</span> : ` ${word}`}
      {text && ` ${text}`}
    </span>
  );
}
