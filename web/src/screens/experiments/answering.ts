/**
 * What a rule would have done in recorded runs, from their facts and without a call. Pure.
 *
 * The same walk as `what_if/evaluate.py`, over the facts that the server gives; both are held to the vectors in
 * `test/vectors/what-if.json`.
 */

export interface Leaf {
  kind: "when" | "score" | "stable" | "plateau" | "branch" | "judge";
  words: string;
  atom?: string;
  at_least?: number | null;
  low?: number | null;
  high?: number | null;
  threshold?: number;
  patience?: number;
  min_delta?: number;
  votes?: number;
  branch?: string;
}

export type Condition = Leaf | { any: Condition[] } | { all: Condition[] };

export interface Rule {
  until: Condition | null;
  at_most: number;
  return: string;
  limits?: Record<string, number>;
}

export interface Vote {
  verdict: string;
  cost_usd: number;
}

export interface Iteration {
  number: number;
  status: string;
  by: string;
  is_judged: boolean;
  is_approved: boolean;
  atoms: Record<string, unknown>;
  body_usd: number;
  votes: Record<string, Vote[]>;
  /** Judges that were asked, and gave no vote. */
  failed: string[];
  grade: number | null;
  is_solved: boolean;
}

export interface RunFacts {
  run: string;
  case: string;
  outside_usd: number;
  /** False: a model of the run has no price, so that nobody knows what it costs. */
  is_priced: boolean;
  steered: string;
  returned: number | null;
  made: number;
  /** How the loop ended, as it was. */
  exit_reason: string;
  /** What a rule sees that is checked before the first iteration. */
  ahead: Iteration | null;
  iterations: Iteration[];
}

export interface Facts {
  loop: string;
  own: Rule | null;
  check: string;
  on_limit: string;
  sees_best: boolean;
  on_failure: string;
  /** The grade of a run that fails with its loop; null: it has none, or is not known. */
  failed_grade: number | null;
  obstacle: string;
  obstacle_at_most: string;
  obstacle_score: string;
  obstacle_until: string;
  runs: RunFacts[];
}

export interface Known {
  iterations: number;
  returned: number | null;
  exit_reason: string;
  stopped_by: string;
  /** What the loop would have cost. */
  cost_usd: number;
}

export interface NotKnown {
  why: string;
}

export type Answer = Known | NotKnown;

export const isKnown = (answer: Answer): answer is Known => "returned" in answer;

/** An atom that could not be read: a rule that reads it would have failed there. */
const FAULT = "?";
/** What must be computed before a rule is checked ahead of an iteration; a fault, or nothing. */
const HANDED_OVER = "carry";

export const leavesOf = (condition: Condition | null): Leaf[] =>
  condition === null ? [] : "any" in condition ? condition.any.flatMap(leavesOf) : "all" in condition ? condition.all.flatMap(leavesOf) : [condition];

const firstScore = (rule: Rule): Leaf | undefined => leavesOf(rule.until).find((leaf) => leaf.kind === "score");

const isSameScore = (one: Leaf | undefined, other: Leaf | undefined) => one?.atom === other?.atom && one?.low === other?.low && one?.high === other?.high;

/** Why a rule would have changed the iterations themselves; empty: it would not. */
function obstacleOf(facts: Facts, rule: Rule): string {
  if (facts.own && facts.own.at_most !== rule.at_most && facts.obstacle_at_most) return facts.obstacle_at_most;
  if (facts.own && !isSameScore(firstScore(facts.own), firstScore(rule)) && facts.obstacle_score) return facts.obstacle_score;
  if (facts.own && JSON.stringify(facts.own.until) !== JSON.stringify(rule.until) && facts.obstacle_until) return facts.obstacle_until;
  return facts.obstacle;
}

interface Ready {
  why: string;
  leaves: Leaf[];
  score: Leaf | undefined;
}

/** What is the same for all runs; `why` says why no run answers the rule. */
function readyFor(facts: Facts, rule: Rule): Ready {
  const leaves = leavesOf(rule.until);
  const judges = leaves.flatMap((leaf) => (leaf.kind === "judge" ? [leaf.atom] : []));
  const isTwice = new Set(judges).size < judges.length;
  const hasLimits = Object.keys(rule.limits ?? {}).length > 0;
  const why = hasLimits ? "for a limit of cost or time, use whorl experiment what-if" : isTwice ? "the rule asks the same judge twice" : "";
  return { why: obstacleOf(facts, rule) || why, leaves, score: firstScore(rule) };
}

/** What a rule would have done in a run. */
export function answerOf(facts: Facts, run: RunFacts, rule: Rule, ready = readyFor(facts, rule)): Answer {
  const why = ready.why || (run.steered && `a person has ${run.steered} the run`);
  if (why) return { why };
  try {
    return new Walk(facts, run, rule, ready).answer();
  } catch (error) {
    if (error instanceof NotKnownError) return { why: error.message };
    throw error;
  }
}

class NotKnownError extends Error {}

interface Verdict {
  state: "met" | "not_met" | "inconclusive" | "open" | "measured";
  by: string;
  approves: boolean | null;
  judge?: Leaf;
}

/** Goes through the recorded iterations of a loop as the engine would under a rule. */
class Walk {
  private count = 0;
  private cost = 0;
  private first: number | null = null;
  private last: number | null = null;
  private best: number | null = null;
  private rank: [approved: boolean, score: number] = [false, -Infinity];
  private hasFailures = false;
  private latest: Iteration | null = null;
  private readonly marks = new Map<Leaf, number>();
  private readonly stale = new Map<Leaf, number>();
  private readonly leaves: Leaf[];
  private readonly score: Leaf | undefined;

  constructor(
    private readonly facts: Facts,
    private readonly run: RunFacts,
    private readonly rule: Rule,
    ready: Ready,
  ) {
    this.leaves = ready.leaves;
    this.score = ready.score;
  }

  answer(): Known {
    let ended = this.facts.check === "before" ? this.lookAhead(this.run.ahead) : null;
    for (const row of this.run.iterations) {
      if (ended || this.count >= this.rule.at_most) break;
      ended = this.iteration(row);
    }
    if (ended) return ended;
    if (this.count >= this.rule.at_most) return this.end("max_iterations");
    throw new NotKnownError(`would have continued after iteration ${this.count}`);
  }

  private iteration(row: Iteration): Known | null {
    if (row.status !== "succeeded" && row.status !== "failed") {
      const said = { not_begun: "had not begun", timed_out: "timed out" }[row.status] ?? `was ${row.status}`;
      throw new NotKnownError(`iteration ${row.number} ${said}`);
    }
    this.cost += row.body_usd;
    this.count = row.number;
    const isAhead = this.facts.check !== "after";
    if (row.status === "failed") {
      this.hasFailures = true;
      if (this.facts.on_failure !== "continue") return this.end("failed");
      return isAhead ? this.lookAhead(row) : null;
    }
    this.last = row.number;
    this.first ??= row.number;
    this.latest = row;
    this.countStale(row);
    if (isAhead || !row.is_judged) {
      if (this.isFaulty(row, (leaf) => leaf.kind === "score" || leaf.kind === "stable")) return this.end("failed");
      this.keepBest(row, false);
      if (row.by === "break") return this.end("condition_met", "break");
      return isAhead ? this.lookAhead(row) : null;
    }
    if (this.isFaulty(row)) return this.end("failed");
    const verdict = this.check(row);
    this.keepBest(row, verdict.approves === true);
    if (verdict.state === "met") return this.end("condition_met", verdict.by);
    if (this.facts.sees_best && (row.is_approved || verdict.approves) && row.number < this.rule.at_most) {
      throw new NotKnownError(`iteration ${row.number} was approved, which later iterations could see`);
    }
    return null;
  }

  /** The rule is checked before the iteration after one, or before the first one. */
  private lookAhead(row: Iteration | null): Known | null {
    if (!this.rule.until) return null;
    if (!row) throw new NotKnownError("the values before the first iteration are not recorded");
    if (this.isFaulty(row) || row.atoms[HANDED_OVER] === FAULT) return this.end("failed");
    const verdict = this.check(row);
    if (verdict.approves && this.latest) this.keepBest(this.latest, true);
    return verdict.state === "met" ? this.end("condition_met", verdict.by) : null;
  }

  private isFaulty(row: Iteration, isMeant: (leaf: Leaf) => boolean = () => true): boolean {
    return this.leaves.some((leaf) => isMeant(leaf) && leaf.atom !== undefined && row.atoms[leaf.atom] === FAULT);
  }

  private check(row: Iteration): Verdict {
    const until = this.rule.until;
    const judged = new Map<Leaf, boolean | null>();
    for (;;) {
      const verdict: Verdict = until ? this.verdict(until, row, judged) : { state: "not_met", by: "", approves: false };
      if (verdict.state !== "open" || !verdict.judge) return verdict;
      judged.set(verdict.judge, this.ask(row, verdict.judge));
    }
  }

  private verdict(condition: Condition, row: Iteration, judged: Map<Leaf, boolean | null>): Verdict {
    if ("any" in condition) return anyOf(condition.any.map((part) => this.verdict(part, row, judged)));
    if ("all" in condition) return allOf(condition.all.map((part) => this.verdict(part, row, judged)));
    const value = condition.atom === undefined ? null : (row.atoms[condition.atom] ?? null);
    if (condition.kind !== "judge") return leafVerdict(condition, value, this.stale.get(condition) ?? 0);
    const said = judged.get(condition);
    if (said !== undefined) return verdictOf(said, "judge");
    return value === false ? verdictOf(null, "judge") : { state: "open", by: "judge", approves: false, judge: condition };
  }

  /** What a judge says, and what that costs; fewer votes than were cast may be enough. */
  private ask(row: Iteration, judge: Leaf): boolean | null {
    const votes = row.votes[judge.atom ?? ""] ?? [];
    const wanted = judge.votes ?? 1;
    if (votes.length === 0) throw new NotKnownError(`the judge ${row.failed.includes(judge.atom ?? "") ? "failed" : "was not asked"} in iteration ${row.number}`);
    const [met, took] = countVotes(votes, wanted);
    if (took === 0) throw new NotKnownError(`the judge has ${votes.length} votes in iteration ${row.number}, not ${wanted}`);
    for (const vote of votes.slice(0, took)) this.cost += vote.cost_usd;
    return met;
  }

  private scoreOf(row: Iteration): number | null {
    const value = this.score?.atom === undefined ? null : row.atoms[this.score.atom];
    return typeof value === "number" && this.score && !isOutside(this.score, value) ? value : null;
  }

  private countStale(row: Iteration): void {
    const score = this.scoreOf(row);
    if (score === null) return;
    for (const leaf of this.leaves) {
      if (leaf.kind !== "plateau") continue;
      const mark = this.marks.get(leaf);
      const isBetter = mark === undefined || score > mark + (leaf.min_delta ?? 0);
      if (isBetter) this.marks.set(leaf, score);
      this.stale.set(leaf, isBetter ? 0 : (this.stale.get(leaf) ?? 0) + 1);
    }
  }

  /** One that is approved is never beaten by one that is not. */
  private keepBest(row: Iteration, isApproved: boolean): void {
    const score = this.scoreOf(row);
    if (!this.score || (score === null && !isApproved)) return;
    const [approved, highest] = this.rank;
    const rank = score ?? -Infinity;
    if (this.best === null || (isApproved && !approved) || (isApproved === approved && rank > highest)) {
      this.best = row.number;
      this.rank = [isApproved, rank];
    }
  }

  private end(reason: string, by = ""): Known {
    if (this.facts.on_limit === "pause" && reason === "max_iterations") {
      throw new NotKnownError(`a person would have been asked at the limit, after ${this.count}`);
    }
    const isLost = this.hasFailures && this.last === null;
    const returned = { last: this.last, first: this.first }[this.rule.return] ?? (this.rule.return === "best" ? (this.best ?? this.last) : null);
    return { iterations: this.count, returned, exit_reason: isLost ? "failed" : reason, stopped_by: isLost ? "" : by, cost_usd: this.cost };
  }
}

const isOutside = (score: Leaf, value: number) => (score.low != null && value < score.low) || (score.high != null && value > score.high);

function verdictOf(met: boolean | null, by: string): Verdict {
  const state = met === null ? "inconclusive" : met ? "met" : "not_met";
  return { state, by, approves: by === "stable" || by === "plateau" ? null : met === true };
}

/** What a condition with its threshold makes of what it read; not of a judge. */
function leafVerdict(leaf: Leaf, value: unknown, stale: number): Verdict {
  switch (leaf.kind) {
    case "when":
      return verdictOf(value === null ? null : Boolean(value), "expression");
    case "score":
      if (leaf.at_least == null) return { state: "measured", by: "score", approves: false };
      return verdictOf(typeof value === "number" && !isOutside(leaf, value) ? value >= leaf.at_least : null, "score");
    case "stable":
      if (value === -1) return { state: "not_met", by: "stable", approves: null };
      return verdictOf(typeof value === "number" ? value >= (leaf.threshold ?? 1) : null, "stable");
    case "plateau":
      return verdictOf(stale >= (leaf.patience ?? 1), "plateau");
    default:
      return verdictOf(value === leaf.branch, "branch");
  }
}

function anyOf(parts: Verdict[]): Verdict {
  const approves = parts.some((part) => part.approves);
  const met = parts.filter((part) => part.state === "met");
  const approving = met.find((part) => part.approves);
  if (approving) return { state: "met", by: approving.by, approves: true };
  const first = met[0] ?? parts.find((part) => part.state === "open");
  return first ? { ...first, approves } : { state: "not_met", by: "", approves };
}

function allOf(all: Verdict[]): Verdict {
  const parts = all.filter((part) => part.state !== "measured");
  const opinions = parts.filter((part) => part.approves !== null);
  const approves = opinions.length > 0 ? opinions.every((part) => part.approves) : null;
  for (const state of ["not_met", "inconclusive", "open"]) {
    const part = parts.find((one) => one.state === state);
    if (part) return { ...part, approves };
  }
  return { state: parts.length > 0 ? "met" : "not_met", by: parts.at(-1)?.by ?? "", approves };
}

/** What a majority of so many votes says, and how many that took; none: they do not decide. */
function countVotes(votes: readonly Vote[], wanted: number): [met: boolean | null, took: number] {
  let [yes, no] = [0, 0];
  for (const [index, vote] of votes.entries()) {
    if (vote.verdict === "met") yes += 1;
    if (vote.verdict === "not_met") no += 1;
    if (yes * 2 > wanted) return [true, index + 1];
    if (no * 2 >= wanted || index + 1 >= wanted) return [no > 0 ? false : null, index + 1];
  }
  return [null, 0];
}

export interface CaseAnswer {
  run: RunFacts;
  answer: Answer;
  grade: number | null;
}

export interface RuleAnswer {
  rule: Rule;
  words: string;
  cases: CaseAnswer[];
  /** Means over all runs; null where not all of them are known, the cost also where a run has no price. */
  grade: number | null;
  cost_usd: number | null;
  iterations: number | null;
  unknown: number;
  why: string;
}

const NO_GRADE = "an iteration that it returns has no grade";
const FAILS = "the loop would have failed, and a run that fails has no grade here";

const hasFailed = (answer: Answer): boolean => isKnown(answer) && answer.exit_reason === "failed";

/** What a rule would have given and cost over all runs. */
export function answerAll(facts: Facts, rule: Rule): RuleAnswer {
  const ready = readyFor(facts, rule);
  const cases = facts.runs.map((run): CaseAnswer => {
    const answer = answerOf(facts, run, rule, ready);
    if (hasFailed(answer)) return { run, answer, grade: facts.failed_grade };
    const returned = isKnown(answer) ? run.iterations.find((row) => row.number === answer.returned) : undefined;
    return { run, answer, grade: returned?.grade ?? null };
  });
  const known = cases.flatMap(({ run, answer, grade }) => (isKnown(answer) && grade !== null ? [{ grade, count: answer.iterations, cost: answer.cost_usd + run.outside_usd }] : []));
  const unknown = cases.length - known.length;
  const first = cases.find(({ answer, grade }) => !isKnown(answer) || grade === null)?.answer;
  const why = !first ? "" : !isKnown(first) ? first.why : hasFailed(first) ? FAILS : NO_GRADE;
  const mean = (pick: (one: (typeof known)[number]) => number) => (unknown > 0 || known.length === 0 ? null : known.reduce((sum, one) => sum + pick(one), 0) / known.length);
  return { rule, words: ruleWords(rule), cases, grade: mean((one) => one.grade), cost_usd: facts.runs.every((run) => run.is_priced) ? mean((one) => one.cost) : null, iterations: mean((one) => one.count), unknown, why };
}

/** A rule in a line. */
export function ruleWords(rule: Rule): string {
  const joined = leavesOf(rule.until).map(leafWords).filter(Boolean).join(rule.until && "all" in rule.until ? " and " : ", ");
  return [joined, `at_most ${rule.at_most}`, rule.return].filter(Boolean).join(", ");
}

export function leafWords(leaf: Leaf): string {
  if (leaf.kind === "score") return leaf.at_least == null ? "" : `score ${leaf.at_least}`;
  if (leaf.kind === "plateau") return `plateau ${leaf.patience}`;
  if (leaf.kind === "judge") return (leaf.votes ?? 1) === 1 ? "judge" : `judge (${leaf.votes} votes)`;
  return leaf.words;
}
