/** The limits of a loop: a bare number of iterations, or an object once there is a second limit. */
import { isRecord } from "../../../app/values";
import { budget } from "../../../journal/words";
import type { Json, Operation } from "../../contract";
import { put, set, unset, type Key } from "../fields";

export const LIMITS = {
  iterations: { words: "times", isNumber: true, usual: "10" },
  time: { words: "total time", isNumber: false, usual: "10m" },
  each_time: { words: "time per iteration", isNumber: false, usual: "1m" },
  cost: { words: "dollars", isNumber: true, usual: "0.50" },
  tokens: { words: "tokens", isNumber: true, usual: "100000" },
  calls: { words: "calls", isNumber: true, usual: "50" },
} as const;

export type Limit = keyof typeof LIMITS;

export const LIMIT_NAMES = Object.keys(LIMITS) as Limit[];
export const USUAL_ITERATIONS = 10;
const KEYS: Key[] = ["repeat", "at_most"];

export function limitOf(written: Json | undefined, limit: Limit): Json | undefined {
  if (isRecord(written)) return written[limit] as Json | undefined;
  return limit === "iterations" && written !== null ? written : undefined;
}

/** Sets or removes one limit; a bare number stays bare until a second limit is given. */
export function changeLimit(at: string, written: Json | undefined, limit: Limit, value: Json | undefined): Operation {
  if (isRecord(written)) return put(at, [...KEYS, limit], value);
  if (limit === "iterations") return put(at, KEYS, value);
  if (value === undefined) return unset(at, [...KEYS, limit]);
  const before: { [key: string]: Json } = written === undefined || written === null ? {} : { iterations: written };
  return set(at, KEYS, { ...before, [limit]: value });
}

const UNITS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** The seconds of a duration such as 1h30m; undefined where it is something else. */
export function secondsOf(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text.trim()) return undefined;
  return parts.reduce((sum, [, number = "0", unit = "s"]) => sum + Number(number) * (UNITS[unit] ?? 1), 0);
}

/** A duration as the terminal prints it. */
function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  if (hours >= 24) return `${Math.floor(hours / 24)}d${hours % 24}h`;
  if (hours > 0) return `${hours}h${two(minutes)}m`;
  return minutes > 0 ? `${minutes}m${two(rest)}s` : `${rest}s`;
}

const plural = (count: number, word: string): string => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** What bounds a loop, as the terminal says it. */
export function limitWords(written: Json | undefined): string {
  const of = (limit: Limit): Json | undefined => limitOf(written, limit);
  const iterations = of("iterations") ?? USUAL_ITERATIONS;
  const time = of("time");
  const seconds = typeof time === "number" ? time : typeof time === "string" ? secondsOf(time) : undefined;
  const counted = (limit: "tokens" | "calls") => (typeof of(limit) === "number" ? plural(of(limit) as number, limit.slice(0, -1)) : "");
  const cost = of("cost");
  const parts = [
    typeof iterations === "number" ? plural(iterations, "iteration") : "computed",
    time === undefined ? "" : seconds === undefined ? "a computed time" : duration(seconds),
    typeof cost === "number" ? budget(cost) : "",
    counted("tokens"),
    counted("calls"),
  ];
  return `at most ${parts.filter(Boolean).join(", ")}`;
}
