"""Answers by bit masks: one bit for each iteration, so that hundreds of rules take no time.

Only rules of simple shape are answered: any of some conditions, at most one of them a judge, over
runs whose iterations all went through. Whatever else there is, the walk in `walking` answers.
"""

from __future__ import annotations

import math
from dataclasses import field
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs.loops.rules import is_outside
from whorl.ir import AllOf, BranchTaken, Judge, Plateau, Score, Stable, When
from whorl.ir.expressions import conditions_in
from whorl.lazily import dataclass
from whorl.wings.experiments.reporting import statistics
from whorl.wings.experiments.what_if.evaluate import answer, obstacle, reads_best, rule_words
from whorl.wings.experiments.what_if.loop_facts import FAULT, HIDDEN, atom_of, count_votes, votes_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.ir import Condition, Loop
    from whorl.wings.experiments.reporting.statistics import Estimate
    from whorl.wings.experiments.what_if.evaluate import Rule
    from whorl.wings.experiments.what_if.loop_facts import LoopFacts, Subject

Found = tuple[int, int | None, float]
NO_GRADE = "an iteration that it returns has no grade"
FAILS = "the loop would have failed, and a run that fails has no grade here"


class Prepared:
    """The facts of a loop as masks and sums, made when they are first asked for."""

    def __init__(self, facts: LoopFacts) -> None:
        self.rows = facts.iterations
        self.outside_usd = facts.outside.get("cost_usd", 0.0)
        body = (
            sum(call.usage.get("cost_usd", 0) for call in row.calls if not call.judge)
            for row in self.rows
        )
        self._body = list(accumulate(body))
        self._masks: dict[int, tuple[object, tuple[int, int] | None]] = {}
        self._bests: dict[str, list[int]] = {}
        self._judges: dict[tuple[str, int], tuple[int, int, list[float]]] = {}
        numbers = [row.number for row in self.rows]
        is_whole = numbers == list(range(1, len(numbers) + 1)) and not facts.steered
        through = (row.status == "succeeded" and row.is_judged for row in self.rows)
        self.is_simple = is_whole and all(through)

    def body_cost(self, number: int) -> float:
        return self._body[min(number, len(self._body)) - 1] if self._body and number else 0.0

    def masks(self, leaves: tuple[Condition, ...], first: Score | None) -> tuple[int, int] | None:
        """The iterations that meet any of some conditions, and those that one of them approves.

        None: an expression fails, or is not known.
        """
        key = id(leaves)
        if key not in self._masks:
            # What the key stands for is kept, so that it stays its own.
            self._masks[key] = leaves, self._combined(leaves, first)
        return self._masks[key][1]

    def _combined(
        self, leaves: tuple[Condition, ...], first: Score | None
    ) -> tuple[int, int] | None:
        met = good = 0
        for leaf in leaves:
            mask = self._made(leaf, first)
            if mask is None:
                return None
            met |= mask
            if not isinstance(leaf, Stable | Plateau):
                good |= mask
        return met, good

    def _made(self, leaf: Condition, first: Score | None) -> int | None:
        if isinstance(leaf, Plateau):
            return self._plateau(leaf, first)
        atom, mask = atom_of(leaf), 0
        for index, row in enumerate(self.rows):
            value = row.atoms.get(atom)
            if value in (FAULT, HIDDEN) and isinstance(value, str):
                return None
            mask |= _meets(leaf, value) << index
        return mask

    def _plateau(self, leaf: Plateau, first: Score | None) -> int:
        mask = stale = 0
        mark: float | None = None
        for index, score in enumerate(self._scores(first)):
            if score is not None:
                if mark is None or score > mark + leaf.min_delta:
                    mark, stale = score, 0
                else:
                    stale += 1
            mask |= (stale >= leaf.patience) << index
        return mask

    def _scores(self, first: Score | None) -> list[float | None]:
        if first is None:
            return [None] * len(self.rows)
        atom = atom_of(first)
        values = [row.atoms.get(atom) for row in self.rows]
        return [v if v is not None and not is_outside(first, v) else None for v in values]

    def best(self, atom: str, score: Score, number: int) -> int:
        """The first iteration of the highest score up to one; that one where none has a score."""
        if atom not in self._bests:
            best, found, bests = 0, None, []
            for index, value in enumerate(self._scores(score), 1):
                if value is not None and (found is None or value > found):
                    best, found = index, value
                bests.append(best or index)
            self._bests[atom] = bests
        bests = self._bests[atom]
        return bests[min(number, len(bests)) - 1]

    def judge(self, leaf: Judge) -> tuple[int, int, list[float]]:
        """The iterations that a judge meets, those it was asked in, and its cost by then."""
        atom = atom_of(leaf)
        key = (atom, leaf.votes)
        if key not in self._judges:
            met = known = 0
            costs = []
            for index, row in enumerate(self.rows):
                says, took, is_known = count_votes(votes_in(row.calls, atom), leaf.votes)
                calls = [call for call in row.calls if call.judge == atom][:took]
                costs.append(sum(call.usage.get("cost_usd", 0) for call in calls))
                is_asked = row.atoms.get(atom) is not False
                met |= bool(says and is_asked) << index
                known |= (is_known or not is_asked) << index
            self._judges[key] = met, known, [0.0, *accumulate(costs)]
        return self._judges[key]


def _meets(leaf: Condition, value: Any) -> bool:
    match leaf:
        case When():
            return bool(value)
        case Score():
            if leaf.at_least is None or value is None or is_outside(leaf, value):
                return False
            return bool(value >= leaf.at_least)
        case Stable():
            return value is not None and value != -1.0 and leaf.is_met(value)
        case BranchTaken():
            return bool(value == leaf.name)
    return False


@lru_cache(maxsize=1_024)
def _simple(until: Condition | None) -> tuple[tuple[Condition, ...], Judge | None] | None:
    """The conditions of a rule of simple shape, and its judge; the same objects each time."""
    parts = list(conditions_in(until))
    judges = [part for part in parts if isinstance(part, Judge)]
    if len(judges) > 1 or any(isinstance(part, AllOf) for part in parts):
        return None
    leaves = [p for p in parts if isinstance(p, When | Score | Stable | Plateau | BranchTaken)]
    return tuple(leaves), judges[0] if judges else None


def fast_answer(loop: Loop, rule: Rule) -> Callable[[Prepared], Found | None] | None:
    """How a rule is answered by masks: iterations, the returned one, dollars; None: not so."""
    simple = _simple(rule.until)
    if simple is None or rule.limits or rule.returns == "all" or reads_best(loop):
        return None
    if loop.check == "before":
        # It may end before the first iteration.
        return None
    leaves, judge = simple
    first = next((leaf for leaf in leaves if isinstance(leaf, Score)), None)
    atom = "" if first is None else f"{atom_of(first)} {first.low} {first.high}"
    limit, is_best = (1 << rule.at_most) - 1, rule.returns == "best" and first is not None

    def found(ready: Prepared) -> Found | None:
        masks = ready.masks(leaves, first) if ready.is_simple else None
        if masks is None:
            return None
        others, good = masks
        met, known, spent = others, -1, None
        if judge is not None:
            says, known, spent = ready.judge(judge)
            met, good = met | says, good | (says & ~others)
        ends = met & limit
        count = (ends & -ends).bit_length() if ends else rule.at_most
        if count > len(ready.rows) or ((1 << count) - 1) & ~(known | others):
            return None
        cost = ready.body_cost(count)
        if spent is not None:
            cost += spent[count - (others >> (count - 1) & 1)]
        returned = 1 if rule.returns == "first" else count
        if is_best and first is not None and not (ends and good >> (count - 1) & 1):
            returned = ready.best(atom, first, count)
        return count, returned, cost

    return found


@dataclass(slots=True)
class RuleResult:
    """What a rule gives over all runs; `unknown` are the runs that do not answer it.

    What a run costs whose model has no price is not a number.
    """

    rule: Rule
    words: str
    grades: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    returned: list[int | None] = field(default_factory=list)
    unknown: int = 0
    why: str = ""
    to_best: Estimate | None = None
    bounds: tuple[float, float] | None = None

    @property
    def grade(self) -> float:
        return statistics.mean(self.grades)

    @property
    def cost_usd(self) -> float:
        return statistics.mean(self.costs)


def result_of(
    loop: Loop, rule: Rule, subjects: Sequence[Subject], prepared: Sequence[Prepared]
) -> RuleResult:
    result = RuleResult(rule, rule_words(rule))
    if why := obstacle(loop, rule):
        result.unknown, result.why = len(subjects), why
        return result
    quick = fast_answer(loop, rule)
    for subject, ready in zip(subjects, prepared, strict=True):
        found = quick(ready) if quick is not None else None
        is_failed = False
        if found is None:
            found, is_failed = _slow(subject, loop, rule, result)
        number, returned, cost = found
        grade = subject.failed_grade if is_failed else subject.grades.get(returned or 0)
        if not number or grade is None:
            result.unknown += 1
            result.why = result.why or (FAILS if is_failed else NO_GRADE)
            continue
        result.iterations.append(number)
        result.returned.append(returned)
        result.grades.append(grade)
        result.costs.append(cost + ready.outside_usd if subject.is_priced else math.nan)
    if result.unknown:
        known, count = math.fsum(result.grades), len(subjects)
        result.bounds = (known / count, (known + result.unknown) / count)
    return result


def _slow(subject: Subject, loop: Loop, rule: Rule, result: RuleResult) -> tuple[Found, bool]:
    """What the walk finds, and whether the loop fails: then nothing of it is returned."""
    found = answer(subject.facts, loop, rule)
    if not found.exact:
        result.why = result.why or found.why
        return (0, None, 0.0), False
    is_failed = found.exit_reason == "failed"
    returned = None if is_failed else found.returned
    return (found.iterations, returned, found.usage.get("cost_usd", 0.0)), is_failed
