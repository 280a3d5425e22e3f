"""Whether iterating helps, and until when: grades by iteration, over cases or groups of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.errors import plural
from whorl.ir import Judge, Score
from whorl.ir.expressions import conditions_in
from whorl.wings.experiments.reporting import statistics
from whorl.wings.experiments.reporting.statistics import Estimate
from whorl.wings.experiments.what_if.loop_facts import atom_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.ir import Loop
    from whorl.wings.experiments.what_if.loop_facts import Subject
    from whorl.wings.experiments.what_if.rule_results import Prepared


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

    def interval(self, totals: Sequence[float], kept: Sequence[int], level: float) -> Estimate:
        """Student's interval over the units that are kept."""
        values, sizes = [totals[u] for u in kept], [self.sizes[u] for u in kept]
        size, count = sum(sizes), len(values)
        middle = sum(values) / size if size else 0.0
        if count < statistics.UNITS_MIN:
            return Estimate(middle)
        apart = [value - each * middle for value, each in zip(values, sizes, strict=True)]
        error = math.sqrt(count / (count - 1) * sum([x * x for x in apart])) / size
        half = statistics.t_quantile(0.5 + level / 2, count - 1) * error
        return Estimate(middle, middle - half, middle + half)

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


def by_iteration(
    subjects: Sequence[Subject], prepared: Sequence[Prepared], loop: Loop
) -> dict[str, list[list[float]]]:
    """Grades by iteration and run: of the last one, of the best by score, of the best made.

    One that is not known is not a number.
    """
    made = {id(s): made_grades(s) for s in subjects}
    fails = {id(s): fails_at(s, loop) for s in subjects}
    goes_on = [s for s in subjects if fails[id(s)] is None] or subjects
    longest = min((max(s.grades, default=0) for s in goes_on), default=0)
    if longest < 1:
        return {}
    score = next((p for p in conditions_in(loop.until) if isinstance(p, Score)), None)
    ways: dict[str, Callable[[Subject, Prepared, int], float]] = {
        # Where nothing has come of a run so far, that is worth nothing.
        "last": lambda s, _, k: made[id(s)].get(
            max((n for n in made[id(s)] if n <= k), default=0), 0.0
        ),
        "best that was made": lambda s, _, k: _highest(
            [grade for n, grade in made[id(s)].items() if n <= k]
        ),
    }
    if score is not None:
        atom = f"{atom_of(score)} {score.low} {score.high}"
        ways["best by score"] = lambda s, p, k: made[id(s)].get(p.best(atom, score, k), 0.0)
    return {
        name: [
            [
                # A run that has failed by then gives nothing, whatever it had made.
                0.0 if (fails[id(s)] or k + 1) <= k and name in _MADE else way(s, p, k)
                for s, p in zip(subjects, prepared, strict=True)
            ]
            for k in span
        ]
        for name, way in ways.items()
        if (span := range(1, longest + 1))
    }


_MADE = ("last", "best by score")


def fails_at(subject: Subject, loop: Loop) -> int | None:
    """The iteration with which a run fails, where such a run has a grade."""
    rows = subject.facts.iterations
    if subject.failed_grade is None or not rows or rows[-1].status != "failed":
        return None
    return None if loop.on_iteration_failure.action == "continue" else rows[-1].number


def bands_of(
    values: dict[str, list[list[float]]], units: Units
) -> dict[str, list[tuple[float, float]]]:
    """Between which limits the mean of each iteration lies, where all of them are known."""
    if units.count < statistics.UNITS_MIN:
        return {}
    every = range(units.count)
    found = {
        name: [units.interval(units.sums(row), every, statistics.LEVEL) for row in rows]
        for name, rows in _known(values).items()
    }
    return {
        name: [(max(0.0, e.low or 0.0), min(1.0, e.high or 0.0)) for e in row]
        for name, row in found.items()
    }


def _known(values: dict[str, list[list[float]]]) -> dict[str, list[list[float]]]:
    """Those of which all grades are known."""
    sums = {name: math.fsum(math.fsum(row) for row in rows) for name, rows in values.items()}
    return {name: rows for name, rows in values.items() if math.isfinite(sums[name])}


def growth_words(values: dict[str, list[list[float]]], units: Units, margin: float) -> list[str]:
    """Whether iterating helps, and until when; nothing where grades of it are not known."""
    words: list[str] = []
    values = _known(values)
    last = values.get("last", [])
    if len(last) < 2 or units.count < statistics.UNITS_MIN:
        return words
    top = _top(last)
    words.append(_helps(values, units))
    harm = units.difference(last[top], last[-1])
    if top + 1 < len(last) and harm.low is not None and harm.low > 0:
        limits = f"{harm.value:.2f} ({harm.low:.2f} to {harm.high:.2f})"
        which = f"iteration {len(last)} is worse than {top + 1} by {limits}"
        words.append(f"later iterations harm: {which}: return best, not last")
    for name, rows in values.items():
        if name != "best that was made":
            words.append(f"{name}: {_stops(rows, units, margin)}")
    return words


def _top(rows: list[list[float]]) -> int:
    means = [statistics.mean(row) for row in rows]
    return max(range(len(means)), key=means.__getitem__)


def _helps(values: dict[str, list[list[float]]], units: Units) -> str:
    """Whether iterating helps, where the last iteration is returned or the best by score."""
    gains = {}
    for name in (name for name in _MADE if name in values):
        rows = values[name]
        top = _top(rows)
        found = units.difference(rows[top], rows[0])
        if top and found.low is not None and found.low > 0:
            limits = f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"
            gains[name] = f"{limits} from iteration 1 to {top + 1}"
    if "last" in gains:
        return f"iterating helps: {gains['last']}"
    end = "is not seen to be better than the first"
    if gains:
        gain = "; ".join(gains.values())
        return f"iterating helps if the best by score is returned: {gain}; the last iteration {end}"
    if "best by score" in values:
        end = "neither the last iteration nor the best by score is seen to be better than the first"
        return f"iterating is not seen to help: {end}"
    return f"iterating is not seen to help: the last iteration {end}"


def _stops(rows: list[list[float]], units: Units, margin: float) -> str:
    for k in range(len(rows) - 1):
        later = range(k + 1, len(rows))
        level = 1 - (1 - statistics.LEVEL) / len(later)
        found = [units.difference(rows[j], rows[k], level) for j in later]
        if all(each.high is not None and each.high < margin for each in found):
            return f"stops growing after {k + 1}"
    return f"not seen to stop growing within {plural(len(rows), 'iteration')}"


def failure_words(subjects: Sequence[Subject], loop: Loop) -> list[str]:
    failed = sum(fails_at(subject, loop) is not None for subject in subjects)
    words = f"{failed} of {len(subjects)} runs failed in the loop: graded 0 from there on"
    return [words] if failed else []


def ungraded_words(subjects: Sequence[Subject]) -> list[str]:
    lacking = sum(any(map(math.isnan, made_grades(s).values())) for s in subjects)
    have = "has" if lacking == 1 else "have"
    words = f"{lacking} of {plural(len(subjects), 'run')} {have} iterations without a grade"
    return [f"{words}: what needs one is not known"] if lacking else []


def ideal_rows(
    loop: Loop,
    subjects: Sequence[Subject],
    prepared: Sequence[Prepared],
    at_most: int | None = None,
) -> dict[str, tuple[float, float, float]]:
    """Rows that nobody can run and everybody should see: grade, cost and iterations.

    A judge that is always right goes on as far as the record does, or `at_most` so far. What is not
    known is not a number: the cost where a model has no price, and all that follows from a grade
    where an iteration has none.
    """
    names = ("no loop at all", "the judge is always right", "the best that was made")
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    judges = [part for part in conditions_in(loop.until) if isinstance(part, Judge)]
    for subject, ready in zip(subjects, prepared, strict=True):
        grades, judged = made_grades(subject), [ready.judge(judge)[2] for judge in judges]
        outside = ready.outside_usd if subject.is_priced else math.nan
        if not grades:
            if subject.failed_grade is not None:
                made = len(ready.rows)
                usd = ready.body_cost(made) + outside
                for row in rows.values():
                    row.append((subject.failed_grade, usd, made))
            continue
        count, returned = _always_right(loop, subject, ready, at_most)
        first, best = min(grades), _highest([*grades.values()])
        fails = fails_at(subject, loop)
        is_solved = returned in subject.solved
        if fails is not None and not is_solved and fails <= (at_most or fails):
            # Nothing ends it before it fails.
            count, right = fails, subject.failed_grade or 0.0
        else:
            right = grades[returned]
        cost = ready.body_cost(count) + sum(spent[count] for spent in judged)
        is_known = not any(math.isnan(grades[n]) for n in grades if n <= count)
        found = (
            (grades[first], ready.body_cost(first), first),
            (right, cost, count) if is_known else (math.nan,) * 3,
            (best, ready.body_cost(max(grades)), max(grades)),
        )
        for name, (grade, usd, iterations) in zip(names, found, strict=True):
            rows[name].append((grade, usd + outside, iterations))
    columns = {name: list(zip(*row, strict=True)) for name, row in rows.items() if row}
    means = {n: [statistics.mean(list(column)) for column in each] for n, each in columns.items()}
    return {name: (grade, cost, count) for name, (grade, cost, count) in means.items()}


def _always_right(
    loop: Loop, subject: Subject, ready: Prepared, most: int | None
) -> tuple[int, int]:
    """Where a loop ends and what it returns if only a solved iteration ends it before its limit."""
    made = made_grades(subject)
    within = [n for n in made if most is None or n <= most] or [min(made)]
    solved, last = [n for n in within if n in subject.solved], max(within)
    if solved:
        return min(solved), min(solved)
    score = next((part for part in conditions_in(loop.until) if isinstance(part, Score)), None)
    if score is None:
        return last, last
    best = ready.best(f"{atom_of(score)} {score.low} {score.high}", score, last)
    return last, best if best in within else last
