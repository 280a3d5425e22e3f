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
}

export interface Bar extends Omit<Span, "start" | "end"> {
  x: number;
  width: number;
  seconds: number;
}

export interface Gap {
  x: number;
  seconds: number;
}

export interface Timeline {
  rows: string[];
  columns: { name: string; x: number; width: number }[];
  bars: Bar[];
  gaps: Gap[];
}

export interface TimelineOptions {
  width: number;
  now: number;
  /** An idle stretch longer than this is drawn as a mark of fixed width. */
  idleSeconds?: number;
  barWidthMin?: number;
}

const GAP_WIDTH = 26;

export function timelineOf(spans: readonly Span[], options: TimelineOptions): Timeline {
  const { width, now, idleSeconds, barWidthMin = 2 } = options;
  const rows = [...new Set(spans.map((span) => span.row))];
  const busy = merged(spans.map((span) => [span.start, Math.max(span.start, span.end ?? now)] as const));
  const total = busy.reduce((sum, [from, to]) => sum + to - from, 0);
  // What counts as idle depends on the run: a tenth of its busy time, but never under a second.
  const idle = idleSeconds ?? Math.max(1, total / 10);
  const { place, gaps } = clockOf(busy, idle, width);
  const bars = spans.map(({ start, end, ...rest }) => {
    const until = Math.max(start, end ?? now);
    const x = place(start);
    return { ...rest, x, width: Math.max(barWidthMin, place(until) - x), seconds: until - start };
  });
  return { rows, columns: columnsOf(bars), bars, gaps };
}

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
  return { place, gaps };
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
