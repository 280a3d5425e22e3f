/** Small pictures of a run: each pure in what it is given. */
export { chipsOf, CHIPS_MAX, type Chip } from "./buckets";
export { Chips } from "./Chips";
export { Diff } from "./Diff";
export { folded, linesOf, sides } from "./differences";
export { Gantt } from "./Gantt";
export { BestMark, markWords, ReturnedMark } from "./Marks";
export { levelOf, Meter } from "./Meter";
export { ScoreCurve, type Curve } from "./ScoreCurve";
export { Sparkline } from "./Sparkline";
export { lookOf, StatusBadge } from "./StatusBadge";
export { timelineOf, type Span } from "./timeline";
export { VirtualTable, type Column } from "./VirtualTable";
