/** A status as glyph and word: the colour says the same again, never something of its own. */

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

export function lookOf(status: string): { glyph: string; tone: string; word: string } {
  const [glyph, tone] = LOOKS[status] ?? ["○", "idle"];
  return { glyph, tone, word: WORDS[status] ?? status };
}

interface StatusBadgeProps {
  status: string;
  /** Stands in place of the status' word, which is still told to those who do not see the colour. */
  text?: string;
  compact?: boolean;
}

export function StatusBadge({ status, text = "", compact = false }: StatusBadgeProps) {
  const { glyph, tone, word } = lookOf(status);
  const isSilent = compact || text !== "";
  return (
    <span className={`badge tone-${tone}`} title={isSilent ? word : undefined}>
      <span aria-hidden="true">{glyph}</span>
      {isSilent ? <span className="sr-only">{word}</span> : ` ${word}`}
      {text && ` ${text}`}
    </span>
  );
}
