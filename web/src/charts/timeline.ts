/** The Gantt chart as numbers: rows are nodes, columns iterations, long idle gaps are cut short. */

export interface Span {
  row: string;
  column: string;
  start: number;
  end: number | null;
  status: string;
  /** What a click on it means. */
  address: string;
  label: string;
  /** Which iteration of a loop inside, or which item: `2` or `2.1`. */
  inner?: string;
}

export interface Bar extends Omit<Span, "start" | "end"> {
  x: number;
  width: number;
  seconds: number;
  /** Which line of its row: bars that overlap stand under each other. */
  lane: number;
}

export interface Tick {
  x: number;
  /** Since the first bar began. */
  seconds: number;
}

export interface Gap {
  x: number;
  seconds: number;
}

export interface Timeline {
  rows: string[];
  /** How many lines each row has. */
  lanes: number[];
  columns: { name: string; x: number; width: number }[];
  bars: Bar[];
  gaps: Gap[];
  ticks: Tick[];
}

export interface TimelineOptions {
  width: number;
  now: number;
  /** An idle stretch longer than this is drawn as a mark of fixed width. */
  idleSeconds?: number;
  barWidthMin?: number;
}

const GAP_WIDTH = 26;
const LANES_MAX = 8;
const TICK_WIDTH = 64;

export function timelineOf(spans: readonly Span[], options: TimelineOptions): Timeline {
  const { width, now, idleSeconds, barWidthMin = 2 } = options;
  const rows = [...new Set(spans.map((span) => span.row))];
  const busy = merged(spans.map((span) => [span.start, Math.max(span.start, span.end ?? now)] as const));
  const total = busy.reduce((sum, [from, to]) => sum + to - from, 0);
  // What counts as idle depends on the run: a tenth of its busy time, but never under a second.
  const idle = idleSeconds ?? Math.max(1, total / 10);
  const { place, gaps, stretches, perSecond } = clockOf(busy, idle, width);
  const ends = new Map<string, number[]>();
  const bars = spans.toSorted((one, other) => one.start - other.start).map(({ start, end, ...rest }) => {
    const until = Math.max(start, end ?? now);
    const x = place(start);
    return { ...rest, x, width: Math.max(barWidthMin, place(until) - x), seconds: until - start, lane: laneOf(rest.row, start, until, ends) };
  });
  const lanes = rows.map((row) => ends.get(row)?.length ?? 1);
  return { rows, lanes, columns: columnsOf(bars), bars, gaps, ticks: ticksOf(stretches, place, perSecond) };
}

/** The first line of its row that is free; where there are too many at once, the last one. */
function laneOf(row: string, start: number, until: number, ends: Map<string, number[]>): number {
  const known = ends.get(row) ?? [];
  ends.set(row, known);
  const free = known.findIndex((end) => end <= start);
  const lane = free >= 0 ? free : Math.min(known.length, LANES_MAX - 1);
  known[lane] = Math.max(known[lane] ?? 0, until);
  return lane;
}

/** Times at round distances, as far apart as their words need; none where time is cut short. */
function ticksOf(stretches: readonly [number, number][], place: (time: number) => number, perSecond: number): Tick[] {
  const begin = stretches[0]?.[0] ?? 0;
  if (perSecond <= 0) return [];
  const step = roundStep(TICK_WIDTH / perSecond);
  const found: Tick[] = [];
  for (const [from, to] of stretches) {
    for (let seconds = Math.ceil((from - begin) / step) * step; seconds <= to - begin + 1e-9; seconds += step) {
      const x = place(begin + seconds);
      if (x - (found.at(-1)?.x ?? -TICK_WIDTH) >= TICK_WIDTH * 0.7) found.push({ x, seconds });
    }
  }
  return found;
}

const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];

const roundStep = (least: number): number => STEPS_S.find((step) => step >= least) ?? Math.ceil(least / 86_400) * 86_400;

/** Stretches in which anything happens, joined where they touch. */
function merged(stretches: (readonly [number, number])[]): [number, number][] {
  const found: [number, number][] = [];
  for (const [from, to] of stretches.toSorted((one, other) => one[0] - other[0])) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

function clockOf(busy: [number, number][], idle: number, width: number) {
  const joined: [number, number][] = [];
  for (const [from, to] of busy) {
    const last = joined.at(-1);
    if (last && from - last[1] <= idle) last[1] = to;
    else joined.push([from, to]);
  }
  const seconds = joined.reduce((sum, [from, to]) => sum + to - from, 0);
  const room = Math.max(width / 2, width - GAP_WIDTH * (joined.length - 1));
  const perSecond = seconds > 0 ? room / seconds : 0;
  const gapWidth = joined.length > 1 ? Math.min(GAP_WIDTH, (width - room) / (joined.length - 1)) : 0;
  const starts: number[] = [];
  const gaps: Gap[] = [];
  let x = 0;
  joined.forEach(([from, to], index) => {
    starts.push(x);
    x += (to - from) * perSecond;
    const next = joined[index + 1];
    if (!next) return;
    gaps.push({ x: x + gapWidth / 2, seconds: next[0] - to });
    x += gapWidth;
  });
  const place = (time: number): number => {
    const index = Math.max(0, joined.findLastIndex(([from]) => from <= time));
    const stretch = joined[index];
    if (!stretch) return 0;
    return (starts[index] ?? 0) + (Math.min(time, stretch[1]) - stretch[0]) * perSecond;
  };
  return { place, gaps, stretches: joined, perSecond };
}

function columnsOf(bars: readonly Bar[]): Timeline["columns"] {
  const columns = new Map<string, { name: string; x: number; end: number }>();
  for (const bar of bars) {
    const known = columns.get(bar.column);
    if (!known) columns.set(bar.column, { name: bar.column, x: bar.x, end: bar.x + bar.width });
    else {
      known.x = Math.min(known.x, bar.x);
      known.end = Math.max(known.end, bar.x + bar.width);
    }
  }
  return [...columns.values()].map(({ name, x, end }) => ({ name, x, width: end - x }));
}
