"""The sweep: what many rules would have given and cost, the frontier, and the recommended rule.

A rule is ranked only if all runs answer it: runs that stopped early are the easy cases, and to drop
what is not known would flatter long rules.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl.ir import AnyOf, Plateau, Score
from whorl.ir.expressions import conditions_in
from whorl.lazily import dataclass
from whorl.wings.experiments import statistics
from whorl.wings.experiments.what_if.evaluate import (
    AlikeRules,
    Rule,
    first_score,
    obstacle,
    own_rule,
    rule_words,
    simple_conditions,
)
from whorl.wings.experiments.what_if.gain_by_iteration import (
    Units,
    bands_of,
    by_iteration,
    growth_words,
    ideal_rows,
    subject_words,
)
from whorl.wings.experiments.what_if.loop_facts import Subject, atom_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Condition, Loop
    from whorl.wings.experiments.statistics import Estimate
    from whorl.wings.experiments.what_if.evaluate import Answer

RULES_MAX = 500
THRESHOLDS = 8
FOLDS = 10
NO_GRADE = "an iteration that it returns has no grade"
FAILS = "the loop would have failed, and a run that fails has no grade here"


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

    def add(self, subject: Subject, found: Answer) -> None:
        """Takes in what a run answers."""
        is_failed = found.exit_reason == "failed"
        grade = subject.failed_grade if is_failed else subject.grades.get(found.returned or 0)
        if not found.exact or not found.iterations or grade is None:
            self.unknown += 1
            self.why = self.why or found.why or (FAILS if is_failed else NO_GRADE)
            return
        usd = found.usage.get("cost_usd", 0.0) + subject.facts.outside.get("cost_usd", 0.0)
        self.grades.append(grade)
        self.costs.append(usd if subject.is_priced else math.nan)
        self.iterations.append(found.iterations)


@dataclass(slots=True)
class Sweep:
    """All rules that were tried, in order of cost; indices lead into `rules`.

    Where a model has no price their costs are not numbers, and no rule is on the frontier. What
    needs the grade of an iteration that has none is not a number in `ideal` and `curve`.
    """

    loop: str
    runs: int
    rules: list[RuleResult]
    not_ranked: list[RuleResult]
    frontier: list[int]
    own: RuleResult | None
    recommended: RuleResult | None
    # Why no rule is recommended.
    not_recommended: str
    honest: dict[str, float]
    ideal: dict[str, tuple[float, float, float]]
    curve: dict[str, list[float]]
    # The limits of each mean of the curve; none where there are too few cases, or one is not known.
    bands: dict[str, list[tuple[float, float]]]
    words: list[str]
    # How many trials there are; `runs` of them are in these numbers.
    trials: int = 0

    def refuse(self, why: str) -> None:
        """Recommends no rule."""
        self.recommended, self.honest, self.not_recommended = None, {}, why


def results_of(loop: Loop, rules: Sequence[Rule], subjects: Sequence[Subject]) -> list[RuleResult]:
    """What each rule gives; those that differ only in their number and result at once."""
    results = [RuleResult(rule, rule_words(rule)) for rule in rules]
    alike: dict[str, list[RuleResult]] = {}
    for result in results:
        if why := obstacle(loop, result.rule):
            result.unknown, result.why = len(subjects), why
        else:
            alike.setdefault(repr((result.rule.until, result.rule.limits)), []).append(result)
    for group in alike.values():
        family = AlikeRules(loop, [result.rule for result in group])
        for subject in subjects:
            for result, found in zip(group, family.answers(subject.facts), strict=True):
                result.add(subject, found)
        for result in group:
            if result.unknown:
                known, count = math.fsum(result.grades), len(subjects)
                result.bounds = known / count, (known + result.unknown) / count
    return results


def default_rules(loop: Loop, subjects: Sequence[Subject]) -> list[Rule]:
    """The rules that are tried where none are given."""
    longest = max((len(s.facts.iterations) for s in subjects), default=1)
    score = first_score(loop.until)
    untils: list[Condition | None] = [loop.until, None]
    leaves = simple_conditions(loop.until)
    untils += [leaf for leaf in leaves if getattr(leaf, "at_least", 0) is not None]
    if score is not None:
        untils += [replace(score, at_least=at_least) for at_least in _quantiles(score, subjects)]
        untils += [Plateau(patience) for patience in (1, 2, 3)]
    rules: dict[str, Rule] = {}
    for until in untils:
        whole = _ranking(until, score)
        for at_most in range(1, longest + 1):
            for returns in ("last", "best", "first") if score else ("last",):
                rule = Rule(whole, at_most, returns, names=loop.facts)
                rules.setdefault(repr(rule), rule)
    return list(rules.values())[:RULES_MAX]


def _ranking(until: Condition | None, score: Score | None) -> Condition | None:
    """A condition with the score that ranks iterations, where it has none of its own."""
    if score is None:
        return until
    measured = replace(score, at_least=None)
    if until is None:
        return measured
    own = first_score(until)
    is_same = own is not None and atom_of(own) == atom_of(score)
    return until if is_same else AnyOf((measured, until))


def _quantiles(score: Score, subjects: Sequence[Subject]) -> list[float]:
    atom = atom_of(score)
    rows = (row for subject in subjects for row in subject.facts.iterations)
    read = (row.atoms.get(atom) for row in rows)
    numbers = (v for v in read if isinstance(v, int | float) and not isinstance(v, bool))
    values = sorted(map(float, numbers))
    places = [len(values) * n // (THRESHOLDS + 1) for n in range(1, THRESHOLDS + 1)]
    return sorted({round(values[place], 2) for place in places if values})


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
    if own is not None and not any(_is_same(own, rule) for rule in tried):
        tried.append(own)
    results = results_of(loop, tried, subjects)
    is_priced = all(subject.is_priced for subject in subjects)
    ranked = [result for result in results if not result.unknown]
    # Where nobody knows what they cost, short ones come first.
    ranked.sort(
        key=lambda r: (r.cost_usd if is_priced else statistics.mean(r.iterations), -r.grade)
    )
    others = [result for result in results if result.unknown]
    mine = next((r for r in results if own is not None and _is_same(own, r.rule)), None)
    units, values = Units(subjects), by_iteration(subjects, loop)
    found = Sweep(
        loop=loop.name,
        runs=len(subjects),
        rules=ranked,
        not_ranked=others,
        frontier=frontier_of([(r.cost_usd, r.grade) for r in ranked]) if is_priced else [],
        own=mine,
        recommended=None,
        not_recommended="",
        honest={},
        ideal=ideal_rows(loop, subjects),
        curve={name: [statistics.mean(row) for row in rows] for name, rows in values.items()},
        bands=bands_of(values, units),
        words=[*subject_words(subjects, loop), *growth_words(values, units, margin)],
    )
    if ranked:
        _recommend(found, units, margin)
    return found


def _is_same(first: Rule, second: Rule) -> bool:
    """Whether two rules do the same, whatever they call the facts about the loop."""
    return replace(first, names=()) == replace(second, names=())


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


def _recommend(found: Sweep, units: Units, margin: float) -> None:
    best = max(found.rules, key=lambda result: result.grade)
    for result in found.rules:
        result.to_best = units.difference(result.grades, best.grades)
    choice = _Choice(found.rules, units, margin)
    found.recommended, found.honest = found.rules[choice.chosen], choice.honest()
    why = _surely_better(found.not_ranked, best, found.runs) or choice.not_better(found.own)
    if why:
        found.recommended, found.not_recommended = None, why


class _Choice:
    """The cheapest of the rules that are not worse than the best one by the margin.

    It is made with all units, and once without each tenth of them, where there are enough.
    """

    def __init__(self, ranked: Sequence[RuleResult], units: Units, margin: float) -> None:
        self._ranked, self._units, self._margin = ranked, units, margin
        self._grades = [units.sums(result.grades) for result in ranked]
        self._costs = [units.sums(result.costs) for result in ranked]
        self._every = range(units.count)
        self.chosen = self._choose(slice(0, 0))
        folds = range(FOLDS) if units.count >= FOLDS else ()
        self._held_out = [self._choose(slice(fold, None, FOLDS)) for fold in folds]

    def _choose(self, out: slice) -> int:
        """The index of the rule that is chosen without some units."""
        kept, sizes = [*self._every], self._units.sizes
        del kept[out]
        size = sum(sizes) - sum(sizes[out])
        grades, costs = (
            [(sum(sums) - sum(sums[out])) / size for sums in each]
            for each in (self._grades, self._costs)
        )
        indices = range(len(self._ranked))
        best = max(indices, key=lambda n: (grades[n], -costs[n]))

        def price(n: int) -> tuple[float, int, int]:
            rule = self._ranked[n].rule
            return round(costs[n], 12), sum(1 for _ in conditions_in(rule.until)), rule.at_most

        near = [n for n in indices if grades[n] >= grades[best] - self._margin]
        for n in sorted(near, key=price):
            pairs = [a - b for a, b in zip(self._grades[n], self._grades[best], strict=True)]
            low = self._units.interval(pairs, kept, statistics.LEVEL).low
            if n == best or (low is not None and low > -self._margin):
                return n
        return best

    def _seen(self, sums: Sequence[Sequence[float]]) -> list[float]:
        """By unit: what the choice gives that was made without it."""
        return [sums[self._held_out[u % FOLDS]][u] for u in self._every]

    def honest(self) -> dict[str, float]:
        """What the choice gives on cases that it was not made with."""
        if not self._held_out:
            return {}
        size = sum(self._units.sizes)
        grade, cost = (sum(self._seen(sums)) / size for sums in (self._grades, self._costs))
        times = self._held_out.count(self.chosen)
        return {"grade": grade, "cost_usd": cost, "times": times, "of": FOLDS}

    def not_better(self, own: RuleResult | None) -> str:
        """Says so where the choice is not better than the own rule on cases it was not made with.

        It is better if its grade is higher, or if it is cheaper and not worse by the margin.
        """
        if not self._held_out:
            return f"{self._units.too_few} to recommend a rule"
        if not any(map(any, self._grades)):
            return "no rule is recommended: all grades are 0"
        if own is None:
            return ""
        words = "no rule is seen to be better than yours"
        if own.unknown:
            return f"{words}, which not all runs answer"
        mine = next(n for n, result in enumerate(self._ranked) if result is own)
        grade, cost = (
            self._units.interval(
                [a - b for a, b in zip(self._seen(sums), sums[mine], strict=True)],
                self._every,
                statistics.LEVEL,
            )
            for sums in (self._grades, self._costs)
        )
        assert grade.low is not None
        assert cost.high is not None
        if grade.low > 0 or (cost.high < 0 and grade.low >= -self._margin):
            return ""
        if set(self._held_out) == {mine}:
            return words
        limits = f"{grade.value:+.2f} ({grade.low:+.2f} to {grade.high:+.2f})"
        return f"{words}: on cases that it was not chosen with, the choice gives {limits}"


def _surely_better(others: Sequence[RuleResult], best: RuleResult, runs: int) -> str:
    """Says so where a rule is better than all others whatever the runs give that do not answer."""
    known = [(result.bounds[0], result) for result in others if result.bounds is not None]
    low, found = max(known, key=lambda one: one[0], default=(0.0, None))
    if found is None or low <= best.grade:
        return ""
    missing = f"{found.unknown} of {runs} runs {'does' if found.unknown == 1 else 'do'}"
    words = f"{found.words} gives at least {low:.2f}, and {missing} not answer it"
    return f"no rule is recommended: {words}"
