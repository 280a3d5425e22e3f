/** Usage: counted once, at the call, and added to everything around it. */
import type { Json, Usage } from "./types";

export const NOTHING: Usage = Object.freeze({
  calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  in_doubt: 0,
  doubt_usd: 0,
  unpriced: 0,
});

/** The usage that a body tells; what is no number counts as nothing. */
export function usageFrom(told: Json | undefined): Usage {
  if (!isObject(told)) return NOTHING;
  return {
    calls: amount(told["calls"]),
    input_tokens: amount(told["input_tokens"]),
    output_tokens: amount(told["output_tokens"]),
    cost_usd: amount(told["cost_usd"]),
    in_doubt: amount(told["in_doubt"]),
    doubt_usd: 0,
    unpriced: amount(told["unpriced"] ?? told["unpriced_calls"]) || (told["cost_usd"] === null ? amount(told["calls"]) : 0),
  };
}

/** A reservation as usage: its tokens are taken for the answer's, as the server counts them. */
export function usageOfReserve(told: Json | undefined): Usage {
  if (!isObject(told)) return NOTHING;
  return {
    ...NOTHING,
    calls: amount(told["calls"]),
    output_tokens: amount(told["tokens"]),
    cost_usd: amount(told["cost_usd"]),
  };
}

export function plus(one: Usage, other: Usage, sign: 1 | -1 = 1): Usage {
  return {
    calls: one.calls + sign * other.calls,
    input_tokens: one.input_tokens + sign * other.input_tokens,
    output_tokens: one.output_tokens + sign * other.output_tokens,
    cost_usd: exact(one.cost_usd + sign * other.cost_usd),
    in_doubt: one.in_doubt + sign * other.in_doubt,
    doubt_usd: exact(one.doubt_usd + sign * other.doubt_usd),
    unpriced: one.unpriced + sign * other.unpriced,
  };
}

/** What is known of the cost; null where no price is known. */
export function costOf({ cost_usd, unpriced }: Pick<Usage, "cost_usd" | "unpriced">): number | null {
  return unpriced > 0 && cost_usd === 0 ? null : cost_usd;
}

export function tokensOf(usage: Usage): number {
  return usage.input_tokens + usage.output_tokens;
}

export function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function amount(value: Json | undefined): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

// Adding cents a thousand times must not show as 0.30000000000000004.
function exact(dollars: number): number {
  return Math.round(dollars * 1e12) / 1e12;
}
