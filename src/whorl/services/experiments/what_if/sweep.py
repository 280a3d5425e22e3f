"""The sweep: what many rules would have given and cost, the frontier, and the recommended rule.

A rule is ranked only if all runs answer it: runs that stopped early are the easy cases, and to drop
what is not known would flatter long rules. Rules of simple shape are answered by bit masks and
sums; all others, and all that masks do not tell, by the walk in `walking`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.ir import AllOf, AnyOf, Judge, Plateau, Score
from whorl.ir.expressions import conditions_in
from whorl.lazily import dataclass
from whorl.services.experiments.reporting import figures
from whorl.services.experiments.what_if.answering import (
    Prepared,
    RuleResult,
    result_of,
)
from whorl.services.experiments.what_if.facts import Subject, atom_of
from whorl.services.experiments.what_if.growth import (
    Units,
    bands_of,
    by_iteration,
    fails_at,
    growth_words,
)
from whorl.services.experiments.what_if.rules import Rule, own_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Condition, Loop

RULES_MAX = 500
THRESHOLDS = 8
FOLDS = 10


@dataclass(slots=True)
class Sweep:
    """All rules that were tried, in order of cost; indices lead into `rules`."""

    loop: str
    runs: int
    rules: list[RuleResult]
    not_ranked: list[RuleResult]
    frontier: list[int]
    own: RuleResult | None
    recommended: RuleResult | None
    honest: dict[str, float]
    ideal: dict[str, tuple[float, float, float]]
    curve: dict[str, list[float]]
    # The limits of each mean of the curve; none of them where there are too few cases.
    bands: dict[str, list[tuple[float, float]]]
    words: list[str]


def default_rules(loop: Loop, subjects: Sequence[Subject]) -> list[Rule]:
    """The rules that are tried where none are given."""
    longest = max((len(s.facts.iterations) for s in subjects), default=1)
    scores = [part for part in conditions_in(loop.until) if isinstance(part, Score)]
    measured = _measuring(scores[0]) if scores else None
    own = loop.until
    leaves = [c for c in conditions_in(own) if not isinstance(c, AnyOf | AllOf)]
    untils: list[Condition | None] = [own, None]
    untils += [leaf for leaf in leaves if getattr(leaf, "at_least", 0) is not None]
    if scores:
        untils += [_with(scores[0], at_least) for at_least in _quantiles(scores[0], subjects)]
        untils += [Plateau(patience) for patience in (1, 2, 3)]
    rules: dict[str, Rule] = {}
    for until in untils:
        whole = _complete(until, measured)
        for at_most in range(1, longest + 1):
            for returns in ("last", "best", "first") if scores else ("last",):
                rule = Rule(whole, at_most, returns, names=loop.facts)
                rules.setdefault(repr(rule), rule)
    return list(rules.values())[:RULES_MAX]


def _measuring(score: Score) -> Score:
    return _with(score, None)


def _with(score: Score, at_least: float | None) -> Score:
    from dataclasses import replace

    return replace(score, at_least=at_least)


def _complete(until: Condition | None, measured: Score | None) -> Condition | None:
    """A condition with the score that ranks iterations, where it has none of its own."""
    if measured is None:
        return until
    if until is None:
        return measured
    first = next((part for part in conditions_in(until) if isinstance(part, Score)), None)
    if first is not None and atom_of(first) == atom_of(measured):
        return until
    return AnyOf((measured, until))


def _quantiles(score: Score, subjects: Sequence[Subject]) -> list[float]:
    atom = atom_of(score)
    values = sorted(
        float(value)
        for subject in subjects
        for row in subject.facts.iterations
        if isinstance(value := row.atoms.get(atom), int | float) and not isinstance(value, bool)
    )
    if not values:
        return []
    marks = {
        round(values[min(len(values) - 1, len(values) * n // (THRESHOLDS + 1))], 2)
        for n in range(1, THRESHOLDS + 1)
    }
    return sorted(marks)


def sweep_of(
    loop: Loop,
    subjects: Sequence[Subject],
    rules: Sequence[Rule] | None = None,
    *,
    margin: float = 0.02,
) -> Sweep:
    """Answers rules over recorded runs, ranks those that all runs answer, and chooses one."""
    own = own_rule(loop)
    tried = list(default_rules(loop, subjects) if rules is None else rules)
    if own is not None and all(_same(own, rule) is False for rule in tried):
        tried.append(own)
    prepared = [Prepared(subject.facts) for subject in subjects]
    results = [result_of(loop, rule, subjects, prepared) for rule in tried]
    ranked = sorted((r for r in results if not r.unknown), key=lambda r: (r.cost_usd, -r.grade))
    others = [result for result in results if result.unknown]
    mine = next((r for r in results if own is not None and _same(own, r.rule)), None)
    units = Units(subjects)
    chosen, honest = None, {}
    if ranked:
        best = max(ranked, key=lambda result: result.grade)
        for result in ranked:
            result.to_best = units.difference(result.grades, best.grades)
        sums = {id(result): _Sums(result, units) for result in ranked}
        chosen = _choose(ranked, units, margin, sums)
        honest = _held_out(ranked, units, chosen, margin, sums)
    values = by_iteration(subjects, prepared, loop)
    return Sweep(
        loop=loop.name,
        runs=len(subjects),
        rules=ranked,
        not_ranked=others,
        frontier=frontier_of([(r.cost_usd, r.grade) for r in ranked]),
        own=mine,
        recommended=chosen,
        honest=honest,
        ideal=ideal_rows(loop, subjects, prepared),
        curve={name: [figures.mean(row) for row in rows] for name, rows in values.items()},
        bands=bands_of(values, units),
        words=[
            *_failure_words(subjects, loop),
            *(growth_words(values, units, margin) if values else []),
        ],
    )


def _failure_words(subjects: Sequence[Subject], loop: Loop) -> list[str]:
    failed = sum(fails_at(subject, loop) is not None for subject in subjects)
    words = f"{failed} of {len(subjects)} runs failed in the loop: graded 0 from there on"
    return [words] if failed else []


def _same(first: Rule, second: Rule) -> bool:
    return (first.until, first.at_most, first.returns, first.limits) == (
        second.until,
        second.at_most,
        second.returns,
        second.limits,
    )


def frontier_of(points: Sequence[tuple[float, float]]) -> list[int]:
    """The points, in order of cost, that no other one beats in both cost and grade."""
    frontier: list[int] = []
    best = -math.inf
    order = sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1]))
    for index in order:
        if points[index][1] > best:
            best = points[index][1]
            frontier.append(index)
    return frontier


class _Sums:
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


def _choose(
    ranked: Sequence[RuleResult],
    units: Units,
    margin: float,
    sums: dict[int, _Sums],
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


def _held_out(
    ranked: Sequence[RuleResult],
    units: Units,
    chosen: RuleResult,
    margin: float,
    sums: dict[int, _Sums],
) -> dict[str, float]:
    """What the choice gives on cases that it was not made with: ten times without a tenth."""
    if units.count < FOLDS:
        return {}
    grade = cost = 0.0
    times = 0
    for fold in range(FOLDS):
        found = _choose(ranked, units, margin, sums, fold)
        times += found is chosen
        seen = sums[id(found)].of_fold(fold)
        grade, cost = grade + seen[0], cost + seen[1]
    size = sum(units.sizes)
    return {"grade": grade / size, "cost_usd": cost / size, "times": times, "of": FOLDS}


def ideal_rows(
    loop: Loop,
    subjects: Sequence[Subject],
    prepared: Sequence[Prepared],
    at_most: int | None = None,
) -> dict[str, tuple[float, float, float]]:
    """Rows that nobody can run and everybody should see: grade, cost and iterations.

    A judge that is always right goes on as far as the record does, or `at_most` so far.
    """
    names = ("no loop at all", "the judge is always right", "the best that was made")
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    judges = [part for part in conditions_in(loop.until) if isinstance(part, Judge)]
    for subject, ready in zip(subjects, prepared, strict=True):
        grades, judged = subject.grades, [ready.judge(judge)[2] for judge in judges]
        if not grades:
            if subject.failed_grade is not None:
                made = len(ready.rows)
                usd = ready.body_cost(made) + ready.outside_usd
                for row in rows.values():
                    row.append((subject.failed_grade, usd, made))
            continue
        count, returned = _always_right(loop, subject, ready, at_most)
        best, first = max(grades, key=lambda n: (grades[n], -n)), min(grades)
        fails = fails_at(subject, loop)
        is_solved = returned in subject.solved
        if fails is not None and not is_solved and fails <= (at_most or fails):
            # Nothing ends it before it fails.
            count, right = fails, subject.failed_grade or 0.0
        else:
            right = grades[returned]
        cost = ready.body_cost(count) + sum(spent[count] for spent in judged)
        found = (
            (grades[first], ready.body_cost(first), first),
            (right, cost, count),
            (grades[best], ready.body_cost(max(grades)), max(grades)),
        )
        for name, (grade, usd, made) in zip(names, found, strict=True):
            rows[name].append((grade, usd + ready.outside_usd, made))
    columns = {name: list(zip(*row, strict=True)) for name, row in rows.items() if row}
    means = {n: [figures.mean(list(column)) for column in each] for n, each in columns.items()}
    return {name: (grade, cost, count) for name, (grade, cost, count) in means.items()}


def _always_right(
    loop: Loop, subject: Subject, ready: Prepared, most: int | None
) -> tuple[int, int]:
    """Where a loop ends and what it returns if only a solved iteration ends it before its limit."""
    within = [n for n in subject.grades if most is None or n <= most] or [min(subject.grades)]
    solved, last = [n for n in within if n in subject.solved], max(within)
    if solved:
        return min(solved), min(solved)
    score = next((part for part in conditions_in(loop.until) if isinstance(part, Score)), None)
    if score is None:
        return last, last
    best = ready.best(f"{atom_of(score)} {score.low} {score.high}", score, last)
    return last, best if best in within else last
