/** How an experiment stands, as glyph and word. */

const LOOKS: Record<string, [glyph: string, tone: string]> = {
  new: ["○", "idle"],
  running: ["●", "busy"],
  paused: ["‖", "wait"],
  stopped: ["■", "wait"],
  open: ["◌", "wait"],
  failed: ["✗", "bad"],
  done: ["✓", "good"],
};

export function StateBadge({ state }: { state: string }) {
  const [glyph, tone] = LOOKS[state] ?? ["○", "idle"];
  return (
    <span className={`badge tone-${tone}`}>
      <span aria-hidden="true">{glyph}</span> {state}
    </span>
  );
}
