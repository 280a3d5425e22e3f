"""The sweep: what many rules would have given and cost, and whether iterating helps.

A rule is ranked only if all runs answer it. Runs that stopped early are the easy cases, so leaving
out unknown answers would flatter long rules.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl.errors import plural
from whorl.ir import AnyOf, Judge, Plateau, Score
from whorl.ir.expressions import conditions_in
from whorl.lazily import dataclass
from whorl.wings.experiments import statistics
from whorl.wings.experiments.what_if import evaluate
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
# Grades by iteration and run, for the iteration that would be returned there.
Curves = dict[str, list[list[float]]]
_LAST, _SCORED, _MADE = "last", "best by score", "best that was made"


@dataclass(slots=True)
class RuleResult:
    """The results of a rule over all runs; `unknown` counts the runs that do not answer it.

    The cost of a run is NaN if its model has no price.
    """

    rule: evaluate.Rule
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
        """Adds the answer of a run."""
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

    If a model has no price, costs are NaN, and no rule is on the frontier. Values of `ideal` and
    `curve` are NaN if they need the grade of an ungraded iteration.
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
    # The limits of each mean of the curve; empty if there are too few cases, or one is unknown.
    bands: dict[str, list[tuple[float, float]]]
    words: list[str]
    # How many trials there are; `runs` of them are in these numbers.
    trials: int = 0

    def refuse(self, why: str) -> None:
        """Recommends no rule."""
        self.recommended, self.honest, self.not_recommended = None, {}, why


def results_of(
    loop: Loop, rules: Sequence[evaluate.Rule], subjects: Sequence[Subject]
) -> list[RuleResult]:
    """Returns the results of each rule; rules with the same condition are answered at once."""
    results = [RuleResult(rule, evaluate.rule_words(rule)) for rule in rules]
    alike: dict[str, list[RuleResult]] = {}
    for result in results:
        if why := evaluate.obstacle(loop, result.rule):
            result.unknown, result.why = len(subjects), why
        else:
            alike.setdefault(repr(result.rule.until), []).append(result)
    for group in alike.values():
        family = evaluate.AlikeRules(loop, [result.rule for result in group])
        for subject in subjects:
            for result, found in zip(group, family.answers(subject.facts), strict=True):
                result.add(subject, found)
        for result in group:
            if result.unknown:
                known, count = math.fsum(result.grades), len(subjects)
                result.bounds = known / count, (known + result.unknown) / count
    return results


def default_rules(loop: Loop, subjects: Sequence[Subject]) -> list[evaluate.Rule]:
    """Returns the rules that are tried by default."""
    longest = max((len(s.facts.iterations) for s in subjects), default=1)
    score = evaluate.first_score(loop.until)
    untils: list[Condition | None] = [loop.until, None]
    leaves = evaluate.simple_conditions(loop.until)
    untils += [leaf for leaf in leaves if getattr(leaf, "at_least", 0) is not None]
    if score is not None:
        read = (row.atoms.get(atom_of(score)) for s in subjects for row in s.facts.iterations)
        numbers = (v for v in read if isinstance(v, int | float) and not isinstance(v, bool))
        values = sorted(map(float, numbers))
        places = [len(values) * n // (THRESHOLDS + 1) for n in range(1, THRESHOLDS + 1)]
        quantiles = sorted({round(values[place], 2) for place in places if values})
        untils += [replace(score, at_least=at_least) for at_least in quantiles]
        untils += [Plateau(patience) for patience in (1, 2, 3)]
    rules: dict[str, evaluate.Rule] = {}
    for until in untils:
        whole = _ranking(until, score)
        for at_most in range(1, longest + 1):
            for returns in ("last", "best", "first") if score else ("last",):
                rule = evaluate.Rule(whole, at_most, returns, names=loop.facts)
                rules.setdefault(repr(rule), rule)
    return list(rules.values())[:RULES_MAX]


def _ranking(until: Condition | None, score: Score | None) -> Condition | None:
    """Returns a condition with the score that ranks iterations, if it has none of its own."""
    if score is None:
        return until
    measured = replace(score, at_least=None)
    if until is None:
        return measured
    own = evaluate.first_score(until)
    is_same = own is not None and atom_of(own) == atom_of(score)
    return until if is_same else AnyOf((measured, until))


def sweep_of(
    loop: Loop,
    subjects: Sequence[Subject],
    rules: Sequence[evaluate.Rule] | None = None,
    *,
    margin: float = 0.02,
) -> Sweep:
    """Answers rules over recorded runs, ranks those that all runs answer, and chooses one."""
    own = evaluate.own_rule(loop)
    tried = list(default_rules(loop, subjects) if rules is None else rules)
    if own is not None and not any(_is_same(own, rule) for rule in tried):
        tried.append(own)
    results = results_of(loop, tried, subjects)
    is_priced = all(subject.is_priced for subject in subjects)
    ranked = [result for result in results if not result.unknown]
    # If costs are unknown, rules with fewer iterations come first.
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
    found.words += filter(None, [evaluate.limits_left_out(loop)])
    if not ranked:
        return found
    best = max(ranked, key=lambda result: result.grade)
    for result in ranked:
        result.to_best = units.difference(result.grades, best.grades)
    choice = _Choice(ranked, units, margin)
    found.recommended, found.honest = ranked[choice.chosen], choice.honest()
    if why := choice.not_better(mine):
        found.recommended, found.not_recommended = None, why
    return found


def _is_same(first: evaluate.Rule, second: evaluate.Rule) -> bool:
    """Returns whether two rules do the same, with any names for the facts about the loop."""
    return replace(first, names=()) == replace(second, names=())


def frontier_of(points: Sequence[tuple[float, float]]) -> list[int]:
    """Returns the points, in order of cost, that no other one beats in both cost and grade."""
    frontier: list[int] = []
    best = -math.inf
    order = sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1]))
    for index in order:
        if points[index][1] > best:
            best = points[index][1]
            frontier.append(index)
    return frontier


class _Choice:
    """The cheapest of the rules that are not worse than the best one by the margin.

    It is made with all units, and once without each tenth of them, if there are enough.
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
        """Returns the index of the rule that is chosen without some units."""
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
        """Returns by unit the value of the choice that was made without it."""
        return [sums[self._held_out[u % FOLDS]][u] for u in self._every]

    def honest(self) -> dict[str, float]:
        """Returns the results of the choice on cases that it was not made with."""
        if not self._held_out:
            return {}
        size = sum(self._units.sizes)
        grade, cost = (sum(self._seen(sums)) / size for sums in (self._grades, self._costs))
        times = self._held_out.count(self.chosen)
        return {"grade": grade, "cost_usd": cost, "times": times, "of": FOLDS}

    def not_better(self, own: RuleResult | None) -> str:
        """Says why the choice is not better than the own rule on cases that it was not made with.

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


# Whether iterating helps, and until when: grades by iteration, over cases or groups of them.


class Units:
    """The case or group of each run, and sums over them, also without some of them."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self.of = [s.group or s.case or s.facts.run for s in subjects]
        self.sizes = list(Counter(self.of).values())
        self.count = len(self.sizes)
        noun = "group" if any(s.group for s in subjects) else "case"
        self.too_few = statistics.too_few(self.count, noun)

    def sums(self, values: Sequence[float]) -> list[float]:
        return statistics.gather(values, self.of)[0]

    def interval(
        self, totals: Sequence[float], kept: Sequence[int], level: float = statistics.LEVEL
    ) -> Estimate:
        """Returns Student's interval over the units that are kept."""
        sums, sizes = [totals[u] for u in kept], [self.sizes[u] for u in kept]
        return statistics.clustered(sums, sizes, level)

    def difference(
        self, first: Sequence[float], second: Sequence[float], level: float = statistics.LEVEL
    ) -> Estimate:
        """Returns how much more the first give than the second, run by run."""
        pairs = [a - b for a, b in zip(first, second, strict=True)]
        return self.interval(self.sums(pairs), range(self.count), level)


def made_grades(subject: Subject) -> dict[int, float]:
    """Returns the grades of all successful iterations; NaN for an iteration without a grade."""
    made = [row.number for row in subject.facts.iterations if row.status == "succeeded"]
    return dict.fromkeys(made, math.nan) | subject.grades


def _highest(grades: Sequence[float]) -> float:
    """Returns the highest of some grades; NaN if one is unknown."""
    return math.nan if any(map(math.isnan, grades)) else max(grades, default=0.0)


def by_iteration(subjects: Sequence[Subject], loop: Loop) -> Curves:
    """Returns grades by iteration and run: the last one, the best by score, the best made.

    An unknown grade is NaN.
    """
    goes_on = [s for s in subjects if fails_at(s, loop) is None] or subjects
    longest = min((max(s.grades, default=0) for s in goes_on), default=0)
    if longest < 1:
        return {}
    rows = [_curves_of(subject, loop, longest) for subject in subjects]
    names = [_LAST, _MADE, *([] if evaluate.first_score(loop.until) is None else [_SCORED])]
    return {name: [[row[name][k] for row in rows] for k in range(longest)] for name in names}


def _curves_of(subject: Subject, loop: Loop, longest: int) -> dict[str, list[float]]:
    """Returns the grades of one run by iteration; a run that has failed by then returns nothing."""
    grades, fails = made_grades(subject), fails_at(subject, loop) or longest + 1
    numbers = _best_numbers(subject, loop)
    curves: dict[str, list[float]] = {_LAST: [], _MADE: [], _SCORED: []}
    for k in range(1, longest + 1):
        made = [number for number in grades if number <= k]
        best = numbers[min(k, len(numbers)) - 1] if numbers else 0
        curves[_MADE].append(_highest([grades[number] for number in made]))
        curves[_LAST].append(grades[max(made)] if made and k < fails else 0.0)
        curves[_SCORED].append(grades.get(best, 0.0) if k < fails else 0.0)
    return curves


def fails_at(subject: Subject, loop: Loop) -> int | None:
    """Returns the iteration at which a run fails, or None if failed runs have no grade."""
    rows = subject.facts.iterations
    if subject.failed_grade is None or not rows or rows[-1].status != "failed":
        return None
    return None if loop.on_iteration_failure.action == "continue" else rows[-1].number


def bands_of(values: Curves, units: Units) -> dict[str, list[tuple[float, float]]]:
    """Returns the interval of the mean of each iteration, for curves without unknown grades."""
    known = _known(values) if units.count >= statistics.UNITS_MIN else {}
    bands: dict[str, list[tuple[float, float]]] = {}
    for name, rows in known.items():
        found = [units.interval(units.sums(row), range(units.count)) for row in rows]
        bands[name] = [(max(0.0, e.low or 0.0), min(1.0, e.high or 0.0)) for e in found]
    return bands


def _known(values: Curves) -> Curves:
    """Returns the curves whose grades are all known."""
    sums = {name: math.fsum(map(math.fsum, rows)) for name, rows in values.items()}
    return {name: rows for name, rows in values.items() if math.isfinite(sums[name])}


def growth_words(values: Curves, units: Units, margin: float) -> list[str]:
    """Says whether iterating helps, and until when; returns nothing if grades are unknown."""
    values = _known(values)
    last = values.get(_LAST, [])
    if len(last) < 2 or units.count < statistics.UNITS_MIN:
        return []
    top, words = _top(last), [_helps(values, units)]
    harm = units.difference(last[top], last[-1])
    if top + 1 < len(last) and harm.low is not None and harm.low > 0:
        limits = f"{harm.value:.2f} ({harm.low:.2f} to {harm.high:.2f})"
        which = f"iteration {len(last)} is worse than {top + 1} by {limits}"
        words.append(f"later iterations harm: {which}: return best, not last")
    others = {name: rows for name, rows in values.items() if name != _MADE}
    return words + [f"{name}: {_stops(rows, units, margin)}" for name, rows in others.items()]


def _top(rows: list[list[float]]) -> int:
    means = [statistics.mean(row) for row in rows]
    return max(range(len(means)), key=means.__getitem__)


def _helps(values: Curves, units: Units) -> str:
    """Says whether iterating helps, if the loop returns the last iteration or the best by score."""
    gains = {}
    for name in (name for name in (_LAST, _SCORED) if name in values):
        rows = values[name]
        top = _top(rows)
        found = units.difference(rows[top], rows[0])
        if top and found.low is not None and found.low > 0:
            limits = f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"
            gains[name] = f"{limits} from iteration 1 to {top + 1}"
    if _LAST in gains:
        return f"iterating helps: {gains[_LAST]}"
    end = "is not seen to be better than the first"
    if _SCORED in gains:
        gain = f"{gains[_SCORED]}; the last iteration {end}"
        return f"iterating helps if the best by score is returned: {gain}"
    who = "neither the last iteration nor the best by score" if _SCORED in values else ""
    end = end.replace("not ", "") if who else end
    return f"iterating is not seen to help: {who or 'the last iteration'} {end}"


def _stops(rows: list[list[float]], units: Units, margin: float) -> str:
    for k in range(len(rows) - 1):
        later = range(k + 1, len(rows))
        level = 1 - (1 - statistics.LEVEL) / len(later)
        found = [units.difference(rows[j], rows[k], level) for j in later]
        if all(each.high is not None and each.high < margin for each in found):
            return f"stops growing after {k + 1}"
    return f"not seen to stop growing within {plural(len(rows), 'iteration')}"


def subject_words(subjects: Sequence[Subject], loop: Loop) -> list[str]:
    """Says how many runs failed in the loop, and how many have iterations without a grade."""
    words, count = [], plural(len(subjects), "run")
    if failed := sum(fails_at(subject, loop) is not None for subject in subjects):
        words.append(f"{failed} of {count} failed in the loop: graded 0 from there on")
    if lacking := sum(any(map(math.isnan, made_grades(s).values())) for s in subjects):
        have = "has" if lacking == 1 else "have"
        without = f"{have} iterations without a grade: results that need it are not known"
        words.append(f"{lacking} of {count} {without}")
    return words


def ideal_rows(
    loop: Loop, subjects: Sequence[Subject], at_most: int | None = None
) -> dict[str, tuple[float, float, float]]:
    """Returns rows for comparison that cannot be run: grade, cost and iterations.

    A judge that is always right continues to the end of the record, or to `at_most`. An unknown
    value is NaN: the cost if a model has no price, and all values that need the grade of an
    ungraded iteration.
    """
    names = ("no loop at all", "the judge is always right", "the best that was made")
    found = [rows for s in subjects if (rows := _ideal_of(loop, s, at_most)) is not None]
    means = [
        tuple(statistics.mean(column) for column in zip(*rows, strict=True))
        for rows in zip(*found, strict=True)
    ]
    return {
        name: (grade, usd, count) for name, (grade, usd, count) in zip(names, means, strict=False)
    }


def _ideal_of(
    loop: Loop, subject: Subject, most: int | None
) -> tuple[tuple[float, float, float], ...] | None:
    """Returns grade, cost and iterations of one run in each row, or None if it has no grade."""
    facts, grades = subject.facts, made_grades(subject)
    outside = facts.outside.get("cost_usd", 0.0) if subject.is_priced else math.nan
    if not grades:
        made, grade = len(facts.iterations), subject.failed_grade
        return None if grade is None else ((grade, facts.body_usd(made) + outside, made),) * 3
    count, returned = _always_right(loop, subject, most)
    fails = fails_at(subject, loop)
    if fails is not None and returned not in subject.solved and fails <= (most or fails):
        # No condition ends it before it fails.
        count, right = fails, subject.failed_grade or 0.0
    else:
        right = grades[returned]
    judges = [part for part in conditions_in(loop.until) if isinstance(part, Judge)]
    usd = facts.body_usd(count) + sum(facts.judge_usd(judge, count) for judge in judges)
    is_known = not any(math.isnan(grades[n]) for n in grades if n <= count)
    first, last = min(grades), max(grades)
    return (
        (grades[first], facts.body_usd(first) + outside, first),
        (right, usd + outside, count) if is_known else (math.nan,) * 3,
        (_highest([*grades.values()]), facts.body_usd(last) + outside, last),
    )


def _always_right(loop: Loop, subject: Subject, most: int | None) -> tuple[int, int]:
    """Returns the end and the result of a loop that only a solved iteration or its limit ends."""
    made = made_grades(subject)
    within = [n for n in made if most is None or n <= most] or [min(made)]
    solved, last = [n for n in within if n in subject.solved], max(within)
    if solved:
        return min(solved), min(solved)
    numbers = _best_numbers(subject, loop)
    best = numbers[min(last, len(numbers)) - 1] if numbers else last
    return last, best if best in within else last


def _best_numbers(subject: Subject, loop: Loop) -> list[int]:
    score = evaluate.first_score(loop.until)
    return [] if score is None else evaluate.best_numbers(subject.facts, score)
