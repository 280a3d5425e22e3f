"""What another rule would have done in a recorded loop, without a call; or why nobody knows."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from whorl.errors import plural
from whorl.interpreter.budget import NOTHING
from whorl.interpreter.constructs.loops.rules import Verdict, combined, is_outside, verdict_of
from whorl.interpreter.events import charged
from whorl.interpreter.plan import Combined, loop_plan
from whorl.ir import AllOf, AnyOf, BranchTaken, Judge, Plateau, Score, Stable, When
from whorl.ir.expressions import Names, conditions_in, inner_values
from whorl.language import Expression
from whorl.lazily import dataclass
from whorl.wings.experiments.what_if.loop_facts import (
    FAULT,
    HANDED_OVER,
    HIDDEN,
    USAGE,
    atom_of,
    count_votes,
    votes_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.plan import Leaf, LoopPlan
    from whorl.interpreter.plan import Rule as RuleTree
    from whorl.ir import Condition, Loop, LoopLimits
    from whorl.ir.nodes import Fact
    from whorl.wings.experiments.what_if.loop_facts import Call, IterationFacts, LoopFacts

GONE_ON = "would have gone on"
_LIMITS = ("max_iterations", "budget", "timeout")


class NotKnownError(Exception):
    """The record does not tell what the rule would have done."""

    def __init__(self, why: str, code: str = "") -> None:
        super().__init__(why)
        self.code = code


def answer(facts: LoopFacts, loop: Loop, rule: Rule) -> Answer:
    """What a rule would have done in a recorded loop."""
    if why := obstacle(loop, rule):
        return Answer(False, why, "X106")
    if facts.steered:
        return Answer(False, f"a person has {facts.steered} the run")
    judges = [atom_of(part) for part in conditions_in(rule.until) if isinstance(part, Judge)]
    if len(judges) > len(set(judges)):
        return Answer(False, "the rule asks the same judge twice")
    walk = _Walk(facts, loop, rule)
    try:
        return walk.answer()
    except NotKnownError as unknown:
        return Answer(False, str(unknown), unknown.code, walk.count, usage=dict(walk.usage))


class _OutOfBudgetError(Exception):
    """A call would have been refused."""


class _OutOfTimeError(Exception):
    """The time limit would have ended the loop."""


class _Walk:
    """Goes through the recorded iterations of a loop as the engine would under a rule."""

    def __init__(self, facts: LoopFacts, loop: Loop, rule: Rule) -> None:
        self._facts, self._loop, self._rule = facts, loop, rule
        self._plan: LoopPlan = loop_plan(rule.until)
        self._limits, self._interrupts = dict(rule.limits), loop.limits.interrupts
        self._time_s = self._limits.pop("time_s", math.inf)
        # Seconds since the loop began, without those of judges that the rule does not ask.
        self._clock = 0.0
        self._reads_best = reads_best(loop)
        self._marks: dict[str, float] = {}
        self._stale: dict[str, int] = {}
        self.usage: dict[str, float] = dict.fromkeys(USAGE, 0)
        self.count = self._in_doubt = 0
        self._first = self._last = self._best = None  # type: int | None
        self._latest: IterationFacts | None = None
        self._rank: tuple[bool, float] = (False, -math.inf)
        self._has_failures, self._failed_last = False, 0

    def answer(self) -> Answer:
        try:
            return self._answer()
        except _OutOfTimeError:
            return self._end("timeout")

    def _answer(self) -> Answer:
        if self._time_s < math.inf:
            self._check_clock()
        rows = self._facts.iterations
        ended = self._look_ahead(self._facts.ahead) if self._loop.check == "before" else None
        for index, row in enumerate(rows):
            ended = ended or self._limit() or self._iteration(row)
            if ended is not None:
                return ended
            if index + 1 < len(rows) and not self._limit():
                self._pause(row, rows[index + 1])
        ended = ended or self._limit()
        if ended is None:
            raise NotKnownError(f"{GONE_ON} after iteration {self.count}")
        return ended

    def _limit(self) -> Answer | None:
        """The end at a limit that lets no iteration begin."""
        if self.count >= self._rule.at_most:
            return self._end("max_iterations")
        if not self._interrupts and self._clock >= self._time_s:
            return self._end("timeout")
        if any(self._over(name) >= 0 for name in self._limits):
            return self._end("budget")
        return None

    def _check_clock(self) -> None:
        """A time limit is answered by the recorded clock, where that has run through."""
        if self._facts.has_paused:
            raise NotKnownError("the run was paused, so that a time limit cannot be answered")
        if self._loop.check != "after" and self._loop.delay is not None:
            words = f"the rule of {self._loop.name!r} is checked after a pause"
            raise NotKnownError(f"{words}, so that a time limit cannot be answered")

    def _pause(self, row: IterationFacts, later: IterationFacts) -> None:
        """The time between two iterations."""
        judged = [call.ended for call in row.calls if call.judge]
        self._pass(max(0.0, later.began - max([row.ended, *judged])))

    def _pass(self, seconds: float) -> None:
        if self._interrupts and self._clock + seconds > self._time_s:
            raise _OutOfTimeError
        self._clock += seconds

    def _iteration(self, row: IterationFacts) -> Answer | None:
        self._check_known(row)
        # Where its time ends, by the clock of the record.
        left = self._time_s - self._clock + row.began if self._interrupts else math.inf
        has_begun = False
        for call in row.calls:
            if call.judge or call.began >= left:
                continue
            if self._is_refused(call):
                if self._last is None:
                    raise NotKnownError(f"the budget would have paused the run in {row.number}")
                self.count += has_begun
                return self._end("budget")
            has_begun = True
            self._pay(call, is_cut=call.ended > left)
        self.count = row.number
        if row.ended > left:
            raise _OutOfTimeError
        self._clock += row.ended - row.began
        is_ahead = self._loop.check != "after"
        if row.status == "failed":
            return self._failed(row) or (self._look_ahead(row) if is_ahead else None)
        self._last, self._first, self._latest = row.number, self._first or row.number, row
        self._count_stale(row)
        if is_ahead or not row.is_judged:
            if FAULT in self._measured(row):
                return self._end("failed")
            self._keep_best(row, approved=False)
            if row.by == "break":
                return self._end("condition_met", "break")
            return self._look_ahead(row) if is_ahead else None
        try:
            verdict = self._check(row)
        except _OutOfBudgetError:
            self._keep_best(row, approved=False)
            return self._end("budget")
        if verdict is None:
            return self._end("failed")
        self._keep_best(row, approved=bool(verdict.approves))
        if verdict.state == "met":
            return self._end("condition_met", verdict.by)
        if self._reads_best and (row.is_approved or verdict.approves):
            words = "was approved, which later iterations could see"
            self._facts_end(row.number, words)
        return None

    def _look_ahead(self, row: IterationFacts | None) -> Answer | None:
        """The rule is checked before the iteration after one, or before the first one."""
        if self._rule.until is None:
            return None
        if row is None:
            raise NotKnownError("what was there before the first iteration is not recorded")
        try:
            verdict = self._check(row)
        except _OutOfBudgetError:
            return self._end("budget")
        if verdict is None:
            return self._end("failed")
        if verdict.approves and self._latest is not None:
            self._keep_best(self._latest, approved=True)
        return self._end("condition_met", verdict.by) if verdict.state == "met" else None

    def _facts_end(self, number: int, words: str) -> None:
        if number < self._rule.at_most:
            raise NotKnownError(f"iteration {number} {words}", "X106")

    def _check_known(self, row: IterationFacts) -> None:
        if row.status not in ("succeeded", "failed"):
            words = {"not_begun": "had not begun", "timed_out": "timed out"}.get(row.status)
            raise NotKnownError(f"iteration {row.number} {words or 'was ' + row.status}")
        if row.has_waited and (row.status == "failed" or self._time_s < math.inf):
            raise NotKnownError(f"a call of iteration {row.number} waited for its budget")
        if self._limits:
            if row.has_overlap or row.attempts > 1:
                words = f"calls of iteration {row.number} overlap, so that a limit of what is spent"
                raise NotKnownError(f"{words} cannot be answered", "X105")
            if any(call.is_capped for call in row.calls) and self._limits.keys() - {"calls"}:
                words = f"the budget limits how long the answers of iteration {row.number} may be"
                raise NotKnownError(f"{words}, so another one would have changed them", "X106")

    def _failed(self, row: IterationFacts) -> Answer | None:
        self._has_failures = True
        failure = self._loop.on_iteration_failure
        if failure.action != "continue":
            return self._end("failed")
        if failure.last_counts:
            self._failed_last = row.number
        return None

    def _over(self, name: str) -> float:
        used = self.usage.get(name, 0)
        if name == "tokens":
            used = self.usage["input_tokens"] + self.usage["output_tokens"]
        return used - self._limits[name]

    def _is_refused(self, call: Call) -> bool:
        return any(self._over(n) + call.reserve.get(n, 0) > NOTHING for n in self._limits)

    def _pay(self, call: Call, *, is_cut: bool = False) -> None:
        """Counts a call; one that is cancelled on its way counts as far as it was reserved."""
        usage = charged(call.reserve) if is_cut else call.usage
        self._in_doubt += is_cut or call.is_in_doubt
        for name in USAGE:
            self.usage[name] += usage.get(name, 0)

    def _keep_best(self, row: IterationFacts, *, approved: bool) -> None:
        """As the engine does: one that is approved is never beaten by one that is not."""
        score = self._score(row)
        if not self._plan.scores or (score is None and not approved):
            return
        rank = (approved, -math.inf if score is None else score)
        if self._best is None or rank > self._rank:
            self._best, self._rank = row.number, rank

    def _score(self, row: IterationFacts) -> float | None:
        for score in self._plan.scores.values():
            number = row.atoms.get(atom_of(score))
            is_number = isinstance(number, int | float) and not is_outside(score, number)
            return number if is_number else None
        return None

    def _check(self, row: IterationFacts) -> Verdict | None:
        """The verdict on the rule; None where an expression of it fails."""
        values = [row.atoms.get(atom_of(leaf.condition)) for leaf in read_leaves(self._plan.rule)]
        if HIDDEN in values:
            raise NotKnownError("the rule reads what the iterations were not told", "X106")
        if FAULT in values or row.atoms.get(HANDED_OVER) == FAULT:
            return None
        if self._plan.rule is None:
            return Verdict("not_met")
        judged: dict[str, bool | None] = {}
        while True:
            verdict = self._verdict(self._plan.rule, row, judged)
            if verdict.state != "open":
                return verdict
            judged[verdict.judge] = self._ask(row, self._plan.judges[verdict.judge])

    def _measured(self, row: IterationFacts) -> list[Any]:
        """What is read of an iteration as it ends, wherever its rule is checked."""
        leaves = [leaf.condition for leaf in read_leaves(self._plan.rule)]
        return [row.atoms.get(atom_of(c)) for c in leaves if isinstance(c, Score | Stable)]

    def _count_stale(self, row: IterationFacts) -> None:
        score = self._score(row)
        for leaf, plateau in self._plan.plateaus.items() if score is not None else ():
            assert score is not None
            if leaf not in self._marks or score > self._marks[leaf] + plateau.min_delta:
                self._marks[leaf], self._stale[leaf] = score, 0
            else:
                self._stale[leaf] += 1

    def _verdict(
        self, tree: RuleTree, row: IterationFacts, judged: dict[str, bool | None]
    ) -> Verdict:
        if isinstance(tree, Combined):
            parts = [self._verdict(part, row, judged) for part in tree.parts]
            return combined(parts, every=tree.every)
        if isinstance(tree.condition, Judge):
            return judge_verdict(tree, row, judged)
        stale = self._stale.get(tree.id, 0)
        return leaf_verdict(tree, row.atoms.get(atom_of(tree.condition)), stale)

    def _ask(self, row: IterationFacts, judge: Judge) -> bool | None:
        """What a judge says, and what that costs; fewer votes than were cast may be enough."""
        atom = atom_of(judge)
        votes = votes_in(row.calls, atom)
        if not votes:
            is_failed = any(call.judge == atom for call in row.calls)
            words = "failed" if is_failed else "was not asked"
            raise NotKnownError(f"the judge {words} in iteration {row.number}")
        met, took, is_known = count_votes(votes, judge.votes)
        if not is_known:
            words = f"the judge has {plural(len(votes), 'vote')} in iteration {row.number}, "
            words += f"not {judge.votes}"
            raise NotKnownError(words)
        for call in [call for call in row.calls if call.judge == atom][:took]:
            if self._is_refused(call):
                raise _OutOfBudgetError
            seconds = call.ended - call.began
            self._pay(call, is_cut=self._interrupts and self._clock + seconds > self._time_s)
            self._pass(seconds)
        return met

    def _end(self, reason: str, by: str = "") -> Answer:
        if self._loop.on_limit == "pause" and reason in _LIMITS:
            raise NotKnownError(f"a person would have been asked at the limit, after {self.count}")
        returned = {"last": self._last, "first": self._first, "all": None}.get(
            self._rule.returns, self._best or self._last
        )
        is_lost = self._has_failures and self._last is None and not self._failed_last
        if is_lost and reason != "timeout":
            reason, by = "failed", ""
        usage = {name: amount for name, amount in self.usage.items() if amount}
        return Answer(
            True,
            iterations=self.count,
            iteration=self.count,
            returned=returned,
            exit_reason=reason,
            stopped_by=by,
            by_clock=self._time_s < math.inf,
            in_doubt=self._in_doubt,
            usage=usage,
        )


# Rules: when a loop stops and what it returns, and which rules change the iterations themselves.
#
# A rule decides after iteration k from what iterations 1 to k gave. As long as nothing that the
# body sees depends on the rule, the recorded iterations are those that it would have had; where
# that does not hold, there is an obstacle, in words.


@dataclass(frozen=True, slots=True)
class Rule:
    """When a loop stops, and what it returns. `limits` has cost_usd, tokens, calls and time_s."""

    until: Condition | None
    at_most: int
    returns: str = "last"
    limits: tuple[tuple[str, float], ...] = ()
    # What its conditions call the facts about the loop.
    names: tuple[tuple[str, Fact], ...] = ()


@dataclass(slots=True)
class Answer:
    """What a rule would have done in one loop; where it is not `exact`, `why` says why not.

    `usage` is that of the loop; `iteration` is the one up to which it is known. With `by_clock` the
    rule has a time limit, and the clock is the recorded one.
    """

    exact: bool
    why: str = ""
    code: str = ""
    iteration: int = 0
    iterations: int = 0
    returned: int | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    by_clock: bool = False
    # Calls of which nobody knows what they used; what was reserved for them counts.
    in_doubt: int = 0
    usage: dict[str, float] = field(default_factory=dict)


def own_rule(loop: Loop) -> Rule | None:
    """The rule that a loop has in its file; None where a limit of it is computed."""
    most = loop.limits.iterations
    if not isinstance(most, int) or isinstance(loop.limits.time_s, Expression):
        return None
    return Rule(loop.until, most, loop.returns, limits_in(loop.limits), loop.facts)


def limits_in(limits: LoopLimits) -> tuple[tuple[str, float], ...]:
    values = {name: getattr(limits, name) for name in ("cost_usd", "tokens", "calls", "time_s")}
    return tuple((name, value) for name, value in values.items() if value is not None)


def obstacle(loop: Loop, rule: Rule) -> str:
    """Why a rule would have changed the iterations themselves, as far as the file tells."""
    facts = _facts_read(loop)
    own = own_rule(loop)
    if "limit" in facts and (own is None or own.at_most != rule.at_most):
        words = f"iterations of {loop.name!r} are told their limit"
        return f"{words}, so another at_most would have changed them"
    ranks = {"best", "score"} & facts or (loop.memory is not None and {"score"})
    ranks = ranks or {"best" for collect in loop.collect if collect.take == "best"}
    if ranks and _first_score(loop.until) != _first_score(rule.until):
        words = f"iterations of {loop.name!r} see {' and '.join(sorted(ranks))}"
        return f"{words}, which another score would have changed"
    if loop.check != "after" and reads_best(loop) and rule.until != loop.until:
        return f"iterations of {loop.name!r} see best, which another condition would have changed"
    if loop.ask != "never":
        return f"a person is asked about iterations of {loop.name!r}"
    return ""


def reads_best(loop: Loop) -> bool:
    """Whether an iteration sees which one is the best so far, which approval changes."""
    return "best" in _facts_read(loop) or any(c.take == "best" for c in loop.collect)


def _facts_read(loop: Loop) -> set[str]:
    """The facts about the loop that its iterations read, beside its own conditions."""
    names = Names()
    read = names.in_block(loop.body) | names.in_values(inner_values(replace(loop, until=None)))
    return {fact for name, fact in loop.facts if name in read or "results" in read}


def _first_score(until: Condition | None) -> str:
    scores = (part for part in conditions_in(until) if isinstance(part, Score))
    first = next(scores, None)
    return "" if first is None else f"{atom_of(first)} {first.low} {first.high}"


def rule_words(rule: Rule) -> str:
    """A rule in a line, for tables."""
    parts = [words for c in _leaves(rule.until) if (words := leaf_words(c))]
    joined = (" and " if isinstance(rule.until, AllOf) else ", ").join(parts)
    limits = [f"{name.partition('_')[0]} {amount:g}" for name, amount in rule.limits]
    return ", ".join([*filter(None, [joined]), f"at_most {rule.at_most}", *limits, rule.returns])


def _leaves(condition: Condition | None) -> list[Condition]:
    return [c for c in conditions_in(condition) if not isinstance(c, AnyOf | AllOf)]


def leaf_words(condition: Any) -> str:
    match condition:
        case Score(at_least=None):
            return ""
        case Score():
            return f"score {condition.at_least:g}"
        case Plateau():
            return f"plateau {condition.patience}"
        case Judge():
            return "judge" if condition.votes == 1 else f"judge ({condition.votes} votes)"
    if hasattr(condition, "test"):
        return str(condition.described or condition.test.source)
    return type(condition).__name__.lower()


def read_leaves(tree: RuleTree | None) -> Iterator[Leaf]:
    """The simple conditions of a rule that read something of an iteration."""
    if isinstance(tree, Combined):
        for part in tree.parts:
            yield from read_leaves(part)
    elif tree is not None and not isinstance(tree.condition, Plateau):
        yield tree


def judge_verdict(leaf: Leaf, row: IterationFacts, judged: dict[str, bool | None]) -> Verdict:
    if leaf.id in judged:
        return verdict_of(leaf, judged[leaf.id], "judge", {})
    if row.atoms.get(atom_of(leaf.condition)) is False:
        return verdict_of(leaf, None, "judge", {})
    return Verdict("open", "judge", judge=leaf.id)


def leaf_verdict(leaf: Leaf, value: Any, stale: int = 0) -> Verdict:
    """What a condition with its threshold makes of what it read; not of a judge."""
    match leaf.condition:
        case When():
            return verdict_of(leaf, value, "expression", {})
        case Score() as score:
            if score.at_least is None:
                return Verdict("measured", "score")
            has_score = value is not None and not is_outside(score, value)
            return verdict_of(leaf, value >= score.at_least if has_score else None, "score", {})
        case Stable() as stable:
            if value == -1.0:
                return Verdict("not_met", "stable", approves=None)
            met = None if value is None else stable.is_met(value)
            return verdict_of(leaf, met, "stable", {})
        case Plateau() as plateau:
            return verdict_of(leaf, stale >= plateau.patience, "plateau", {})
        case BranchTaken() as branch:
            return verdict_of(leaf, value == branch.name, "branch", {})
    raise AssertionError(f"{leaf.condition!r} is no simple condition")
