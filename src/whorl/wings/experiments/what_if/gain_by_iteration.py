"""Whether iterating helps, and until when: grades by iteration, over cases or groups of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.errors import plural
from whorl.ir import Judge
from whorl.ir.expressions import conditions_in
from whorl.wings.experiments import statistics
from whorl.wings.experiments.what_if.evaluate import best_numbers, first_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Loop
    from whorl.wings.experiments.statistics import Estimate
    from whorl.wings.experiments.what_if.loop_facts import Subject

# Grades by iteration and run, by what would be returned there.
Curves = dict[str, list[list[float]]]
_LAST, _SCORED, _MADE = "last", "best by score", "best that was made"


class Units:
    """Which case or group each run belongs to, and sums over them without a part of them."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        names = [s.group or s.case or s.facts.run for s in subjects]
        numbers = {name: index for index, name in enumerate(dict.fromkeys(names))}
        self.of = [numbers[name] for name in names]
        self.count = len(numbers)
        self.sizes = [0] * self.count
        for unit in self.of:
            self.sizes[unit] += 1
        noun = "group" if any(s.group for s in subjects) else "case"
        self.too_few = statistics.too_few(self.count, noun)

    def sums(self, values: Sequence[float]) -> list[float]:
        totals = [0.0] * self.count
        for unit, value in zip(self.of, values, strict=True):
            totals[unit] += value
        return totals

    def interval(
        self, totals: Sequence[float], kept: Sequence[int], level: float = statistics.LEVEL
    ) -> Estimate:
        """Student's interval over the units that are kept."""
        sums, sizes = [totals[u] for u in kept], [self.sizes[u] for u in kept]
        return statistics.clustered(sums, sizes, level)

    def difference(
        self, first: Sequence[float], second: Sequence[float], level: float = statistics.LEVEL
    ) -> Estimate:
        """How much more the first give than the second, run by run."""
        pairs = [a - b for a, b in zip(first, second, strict=True)]
        return self.interval(self.sums(pairs), range(self.count), level)


def made_grades(subject: Subject) -> dict[int, float]:
    """The grades of all iterations that went through; not a number where one has no grade."""
    made = [row.number for row in subject.facts.iterations if row.status == "succeeded"]
    return dict.fromkeys(made, math.nan) | subject.grades


def _highest(grades: Sequence[float]) -> float:
    """The highest of some grades; not a number where one is not known."""
    return math.nan if any(map(math.isnan, grades)) else max(grades, default=0.0)


def by_iteration(subjects: Sequence[Subject], loop: Loop) -> Curves:
    """Grades by iteration and run: of the last one, of the best by score, of the best made.

    One that is not known is not a number.
    """
    goes_on = [s for s in subjects if fails_at(s, loop) is None] or subjects
    longest = min((max(s.grades, default=0) for s in goes_on), default=0)
    if longest < 1:
        return {}
    rows = [_curves_of(subject, loop, longest) for subject in subjects]
    names = [_LAST, _MADE, *([] if first_score(loop.until) is None else [_SCORED])]
    return {name: [[row[name][k] for row in rows] for k in range(longest)] for name in names}


def _curves_of(subject: Subject, loop: Loop, longest: int) -> dict[str, list[float]]:
    """The grades of one run by iteration; what fails by then gives nothing of what it had made."""
    grades, fails = made_grades(subject), fails_at(subject, loop) or longest + 1
    score = first_score(loop.until)
    numbers = [] if score is None else best_numbers(subject.facts, score)
    curves: dict[str, list[float]] = {_LAST: [], _MADE: [], _SCORED: []}
    for k in range(1, longest + 1):
        made = [number for number in grades if number <= k]
        best = numbers[min(k, len(numbers)) - 1] if numbers else 0
        curves[_MADE].append(_highest([grades[number] for number in made]))
        curves[_LAST].append(grades[max(made)] if made and k < fails else 0.0)
        curves[_SCORED].append(grades.get(best, 0.0) if k < fails else 0.0)
    return curves


def fails_at(subject: Subject, loop: Loop) -> int | None:
    """The iteration with which a run fails, where such a run has a grade."""
    rows = subject.facts.iterations
    if subject.failed_grade is None or not rows or rows[-1].status != "failed":
        return None
    return None if loop.on_iteration_failure.action == "continue" else rows[-1].number


def bands_of(values: Curves, units: Units) -> dict[str, list[tuple[float, float]]]:
    """Between which limits the mean of each iteration lies, where all of them are known."""
    if units.count < statistics.UNITS_MIN:
        return {}
    every = range(units.count)
    found = {
        name: [units.interval(units.sums(row), every) for row in rows]
        for name, rows in _known(values).items()
    }
    return {
        name: [(max(0.0, e.low or 0.0), min(1.0, e.high or 0.0)) for e in row]
        for name, row in found.items()
    }


def _known(values: Curves) -> Curves:
    """Those of which all grades are known."""
    sums = {name: math.fsum(map(math.fsum, rows)) for name, rows in values.items()}
    return {name: rows for name, rows in values.items() if math.isfinite(sums[name])}


def growth_words(values: Curves, units: Units, margin: float) -> list[str]:
    """Whether iterating helps, and until when; nothing where grades of it are not known."""
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
    """Whether iterating helps, where the last iteration is returned or the best by score."""
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
    """How many runs failed in the loop, and how many have iterations without a grade."""
    words, count = [], plural(len(subjects), "run")
    if failed := sum(fails_at(subject, loop) is not None for subject in subjects):
        words.append(f"{failed} of {count} failed in the loop: graded 0 from there on")
    if lacking := sum(any(map(math.isnan, made_grades(s).values())) for s in subjects):
        have = "has" if lacking == 1 else "have"
        without = f"{have} iterations without a grade: what needs one is not known"
        words.append(f"{lacking} of {count} {without}")
    return words


def ideal_rows(
    loop: Loop, subjects: Sequence[Subject], at_most: int | None = None
) -> dict[str, tuple[float, float, float]]:
    """Rows that nobody can run and everybody should see: grade, cost and iterations.

    A judge that is always right goes on as far as the record does, or `at_most` so far. What is not
    known is not a number: the cost where a model has no price, and all that follows from a grade
    where an iteration has none.
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
    """Grade, cost and iterations of one run in each of these rows; None: it has no grade at all."""
    facts, grades = subject.facts, made_grades(subject)
    outside = facts.outside.get("cost_usd", 0.0) if subject.is_priced else math.nan
    if not grades:
        made, grade = len(facts.iterations), subject.failed_grade
        return None if grade is None else ((grade, facts.body_usd(made) + outside, made),) * 3
    count, returned = _always_right(loop, subject, most)
    fails = fails_at(subject, loop)
    if fails is not None and returned not in subject.solved and fails <= (most or fails):
        # Nothing ends it before it fails.
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
    """Where a loop ends and what it returns if only a solved iteration ends it before its limit."""
    made = made_grades(subject)
    within = [n for n in made if most is None or n <= most] or [min(made)]
    solved, last = [n for n in within if n in subject.solved], max(within)
    if solved:
        return min(solved), min(solved)
    score = first_score(loop.until)
    numbers = [] if score is None else best_numbers(subject.facts, score)
    best = numbers[min(last, len(numbers)) - 1] if numbers else last
    return last, best if best in within else last
