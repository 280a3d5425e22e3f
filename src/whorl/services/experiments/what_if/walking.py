"""What another rule would have done in a recorded loop: a walk through the facts, without a call.

Where the record ends too early for it, the answer is not known, and says why.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whorl.interpreter.budget import NOTHING
from whorl.interpreter.constructs.judging import Verdict, combined, is_outside, verdict_of
from whorl.interpreter.plan import Combined, loop_plan
from whorl.ir import BranchTaken, Judge, Plateau, Score, Stable, When
from whorl.ir.expressions import conditions_in
from whorl.services.experiments.what_if.facts import (
    FAULT,
    HIDDEN,
    USAGE,
    atom_of,
    count_votes,
    votes_in,
)
from whorl.services.experiments.what_if.rules import Answer, obstacle, reads_best

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.plan import Leaf, LoopPlan
    from whorl.interpreter.plan import Rule as RuleTree
    from whorl.ir import Loop
    from whorl.services.experiments.what_if.facts import Call, IterationFacts, LoopFacts
    from whorl.services.experiments.what_if.rules import Rule

GONE_ON = "would have gone on"


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


class _Walk:
    """Goes through the recorded iterations of a loop as the engine would under a rule."""

    def __init__(self, facts: LoopFacts, loop: Loop, rule: Rule) -> None:
        self._facts, self._loop, self._rule = facts, loop, rule
        self._plan: LoopPlan = loop_plan(rule.until)
        self._limits = dict(rule.limits)
        self._reads_best = reads_best(loop)
        self._marks: dict[str, float] = {}
        self._stale: dict[str, int] = {}
        self.usage: dict[str, float] = dict.fromkeys(USAGE, 0)
        self.count = 0
        self._first = self._last = self._best = None  # type: int | None
        self._rank: tuple[bool, float] = (False, -math.inf)
        self._has_failures, self._failed_last = False, 0

    def answer(self) -> Answer:
        for row in self._facts.iterations:
            if self.count >= self._rule.at_most:
                return self._end("max_iterations")
            if any(self._over(name) >= 0 for name in self._limits):
                return self._end("budget")
            ended = self._iteration(row)
            if ended is not None:
                return ended
        if self.count >= self._rule.at_most:
            return self._end("max_iterations")
        if any(self._over(name) >= 0 for name in self._limits):
            return self._end("budget")
        raise NotKnownError(f"{GONE_ON} after iteration {self.count}")

    def _iteration(self, row: IterationFacts) -> Answer | None:
        self._check_known(row)
        body = [call for call in row.calls if not call.judge]
        has_begun = False
        for call in body:
            if self._is_refused(call):
                if self._last is None:
                    raise NotKnownError(f"the budget would have paused the run in {row.number}")
                self.count += has_begun
                return self._end("budget")
            has_begun = True
            self._pay(call)
        self.count = row.number
        if row.status == "failed":
            return self._failed(row)
        self._last, self._first = row.number, self._first or row.number
        if not row.is_judged:
            self._count_stale(row)
            self._keep_best(row, approved=False)
            return self._end("condition_met", "break") if row.by == "break" else None
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

    def _facts_end(self, number: int, words: str) -> None:
        if number < self._rule.at_most:
            raise NotKnownError(f"iteration {number} {words}", "X106")

    def _check_known(self, row: IterationFacts) -> None:
        if row.status not in ("succeeded", "failed"):
            words = {"not_begun": "had not begun", "cut": "was cut"}.get(row.status)
            raise NotKnownError(f"iteration {row.number} {words or 'was ' + row.status}")
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

    def _pay(self, call: Call) -> None:
        for name in USAGE:
            self.usage[name] += call.usage.get(name, 0)

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
        values = [row.atoms.get(atom_of(leaf.condition)) for leaf in _leaves(self._plan.rule)]
        if HIDDEN in values:
            raise NotKnownError("the rule reads what the iterations were not told", "X106")
        if FAULT in values:
            return None
        self._count_stale(row)
        if self._plan.rule is None:
            return Verdict("not_met")
        judged: dict[str, bool | None] = {}
        while True:
            verdict = self._verdict(self._plan.rule, row, judged)
            if verdict.state != "open":
                return verdict
            judged[verdict.judge] = self._ask(row, self._plan.judges[verdict.judge])

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
            return _judge_verdict(tree, row, judged)
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
            words = f"the judge has {len(votes)} votes in iteration {row.number}, not {judge.votes}"
            raise NotKnownError(words)
        for call in [call for call in row.calls if call.judge == atom][:took]:
            if self._is_refused(call):
                raise _OutOfBudgetError
            self._pay(call)
        return met

    def _end(self, reason: str, by: str = "") -> Answer:
        returned = {"last": self._last, "first": self._first, "all": None}.get(
            self._rule.returns, self._best or self._last
        )
        if self._has_failures and self._last is None and not self._failed_last:
            reason, by = "failed", ""
        usage = {name: amount for name, amount in self.usage.items() if amount}
        return Answer(
            True,
            iterations=self.count,
            iteration=self.count,
            returned=returned,
            exit_reason=reason,
            stopped_by=by,
            usage=usage,
        )


def _leaves(tree: RuleTree | None) -> Iterator[Leaf]:
    if isinstance(tree, Combined):
        for part in tree.parts:
            yield from _leaves(part)
    elif tree is not None and not isinstance(tree.condition, Plateau):
        yield tree


def _judge_verdict(leaf: Leaf, row: IterationFacts, judged: dict[str, bool | None]) -> Verdict:
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
            met = None if value is None else value >= stable.threshold
            return verdict_of(leaf, met, "stable", {})
        case Plateau() as plateau:
            return verdict_of(leaf, stale >= plateau.patience, "plateau", {})
        case BranchTaken() as branch:
            return verdict_of(leaf, value == branch.name, "branch", {})
    raise AssertionError(f"{leaf.condition!r} is no simple condition")
