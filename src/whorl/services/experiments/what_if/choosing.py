"""The recommended rule: the cheapest one that is not worse than the best, and what it is worth.

Choosing among hundreds of rules flatters the winner, so the choice is made again without a part of
the cases, and graded on those.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.ir.expressions import conditions_in
from whorl.services.experiments import figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.services.experiments.what_if.answering import RuleResult
    from whorl.services.experiments.what_if.growth import Units

FOLDS = 10


class Sums:
    """Grades and costs of a rule by unit, and their sums without each fold."""

    def __init__(self, result: RuleResult, units: Units) -> None:
        self.grades, self._costs = units.sums(result.grades), units.sums(result.costs)
        self._grade, self._cost = _by_fold(self.grades), _by_fold(self._costs)

    def means(self, fold: int | None, sizes: Sequence[int]) -> tuple[float, float]:
        """The mean grade and cost of all units, or of those outside a fold."""
        grade, cost, size = sum(self._grade), sum(self._cost), sum(sizes)
        if fold is None:
            return grade / size, cost / size
        size -= sizes[fold]
        return (grade - self._grade[fold]) / size, (cost - self._cost[fold]) / size

    def of_fold(self, fold: int) -> tuple[float, float]:
        return self._grade[fold], self._cost[fold]


def _by_fold(totals: Sequence[float]) -> list[float]:
    return [math.fsum(totals[fold::FOLDS]) for fold in range(FOLDS)]


def choose(
    ranked: Sequence[RuleResult],
    units: Units,
    margin: float,
    sums: dict[int, Sums],
    fold: int | None = None,
) -> RuleResult:
    """The cheapest of the rules that are not worse than the best one by the margin.

    A choice that is made without a `fold` of the units has not seen them.
    """
    sizes = [round(size) for size in _by_fold(units.sizes)]
    means = {key: each.means(fold, sizes) for key, each in sums.items()}
    best = max(ranked, key=lambda r: (means[id(r)][0], -means[id(r)][1]))
    kept = [u for u in range(units.count) if fold is None or u % FOLDS != fold]
    top = sums[id(best)].grades

    def key(result: RuleResult) -> tuple[float, int, int]:
        leaves = sum(1 for _ in conditions_in(result.rule.until))
        return round(means[id(result)][1], 12), leaves, result.rule.at_most

    near = [r for r in ranked if means[id(r)][0] >= means[id(best)][0] - margin]
    for result in sorted(near, key=key):
        pairs = [a - b for a, b in zip(sums[id(result)].grades, top, strict=True)]
        found = units.interval(pairs, kept, figures.LEVEL)
        if result is best or (found.low is not None and found.low > -margin):
            return result
    return best


def held_out(
    ranked: Sequence[RuleResult],
    units: Units,
    chosen: RuleResult,
    margin: float,
    sums: dict[int, Sums],
) -> dict[str, float]:
    """What the choice gives on cases that it was not made with: ten times without a tenth."""
    if units.count < FOLDS:
        return {}
    grade = cost = 0.0
    times = 0
    for fold in range(FOLDS):
        found = choose(ranked, units, margin, sums, fold)
        times += found is chosen
        seen = sums[id(found)].of_fold(fold)
        grade, cost = grade + seen[0], cost + seen[1]
    size = sum(units.sizes)
    return {"grade": grade / size, "cost_usd": cost / size, "times": times, "of": FOLDS}
