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

export function StatusBadge({ status, note = "", compact = false }: { status: string; note?: string; compact?: boolean }) {
  const { glyph, tone, word } = lookOf(status);
  return (
    <span className={`badge tone-${tone}`} title={compact ? word : undefined}>
      <span aria-hidden="true">{glyph}</span>
      {compact ? <span className="sr-only">{word}</span> : ` ${word}`}
      {note && ` ${note}`}
    </span>
  );
}
