/** How much of a limit is used: money against its budget, tokens, time. */

interface MeterProps {
  /** What is measured, such as "cost". */
  label: string;
  /** Null where nobody knows it. */
  value: number | null;
  /** The limit; without one the value stands alone. */
  max: number | null;
  /** What running calls may still take, shown behind the value. */
  reserved?: number;
  /** The value in words, told apart from the other one where they differ. */
  format: (value: number | null, other?: number) => string;
  /** The limit in words, where they are others. */
  formatMax?: (max: number) => string;
}

export type MeterLevel = "plain" | "near" | "over";

/** From 80 % on a limit is near. */
export function levelOf(value: number | null, max: number | null): MeterLevel {
  if (value === null || max === null || max <= 0) return "plain";
  const share = value / max;
  return share >= 1 ? "over" : share >= 0.8 ? "near" : "plain";
}

const WORDS: Record<MeterLevel, string> = { plain: "", near: "near its limit", over: "at its limit" };

export function Meter({ label, value, max, reserved = 0, format, formatMax = format }: MeterProps) {
  if (max === null) {
    return (
      <span className="meter">
        <span className="meter-text" title={label}>
          {value === null ? `${label} ${format(value)}` : format(value)}
        </span>
      </span>
    );
  }
  const level = levelOf(value, max);
  const share = (amount: number) => `${Math.min(100, Math.max(0, (amount / max) * 100)).toFixed(1)}%`;
  const known = value ?? 0;
  const text = `${value === null ? `${label} ` : ""}${format(value, max)} / ${formatMax(max)}`;
  return (
    <span className={`meter meter-${level}`} title={`${label}: ${text}`}>
      <span className="meter-text">
        {text}
        {level !== "plain" && <span aria-hidden="true"> !</span>}
      </span>
      <span
        className="meter-bar"
        role="meter"
        aria-label={label}
        aria-valuenow={known}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuetext={[text, WORDS[level]].filter(Boolean).join(", ")}
      >
        <span className="meter-reserved" style={{ width: share(known + reserved) }} />
        <span className="meter-value" style={{ width: share(known) }} />
      </span>
    </span>
  );
}
