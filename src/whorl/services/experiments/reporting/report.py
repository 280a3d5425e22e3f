"""What an experiment found: variants compared by case, with intervals.

Numbers are means over cases; a variant is called better or worse only where the interval, at a
level that is shared among all variants, says so. Only whole blocks are compared.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass
from whorl.services.experiments.grading import SOLVED
from whorl.services.experiments.reporting import figures, notes
from whorl.services.experiments.reporting.figures import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.services.experiments.document import Experiment
    from whorl.services.experiments.grading import Graded

FORMAT = 1


@dataclass(slots=True)
class VariantReport:
    """One variant: its grade, the difference to the baseline, what it solves and what it costs."""

    name: str
    cases: int
    grade: Estimate
    difference: Estimate | None
    words: str
    could_see: float | None
    solved: float | None
    cost_usd: Estimate
    per_solved: Estimate
    iterations: float
    wins: int = 0
    ties: int = 0
    losses: int = 0
    noise: str = ""
    # How many of its trials have failed by themselves, by code, and how many have ended.
    failed: dict[str, int] = field(default_factory=dict)
    ended: int = 0


@dataclass(slots=True)
class Report:
    """All that is told of an experiment; `document` is what programs get."""

    experiment: str
    grader: str
    graders: list[str]
    baseline: str
    cases: int
    repeat: int
    is_complete: bool
    trials: int
    done: int
    variants: dict[str, VariantReport]
    rows: list[dict[str, Any]]
    left_out: list[str] = field(default_factory=list)
    rho: float | None = None
    extra_usd: float = 0.0
    spent_usd: float = 0.0
    people: dict[str, tuple[int, int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    # Whether a run that has failed is graded 0, or left out.
    on_failure: str = "zero"
    # Runs of cases, variants or versions that the file has no more.
    others: int = 0
    # Who grades, and when a trial is solved.
    graded_by: str = ""
    solved: str = ""

    def document(self) -> dict[str, Any]:
        made = {name: getattr(self, name) for name in self.__slots__}
        made["variants"] = {name: _plain(one) for name, one in self.variants.items()}
        return {"report": FORMAT, **made}

    def frame(self) -> list[dict[str, Any]]:
        """A row for each trial, for pandas or polars."""
        return self.rows

    def best(self) -> dict[str, Any] | None:
        """The variant with the highest grade, and its difference to the baseline."""
        graded = [one for one in self.variants.values() if one.cases]
        if not graded:
            return None
        best = max(graded, key=lambda one: one.grade.value)
        difference = None if best.difference is None else plain_estimate(best.difference)
        grade = plain_estimate(best.grade)
        return {"variant": best.name, "grade": grade, "difference": difference, "words": best.words}

    def by_case(self) -> list[dict[str, Any]]:
        """A row for each case with a cell for each variant; the largest differences first."""
        table: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for row in self.rows:
            table.setdefault(row["case"], {}).setdefault(row["variant"], []).append(row)
        rows: list[dict[str, Any]] = []
        for case, by in table.items():
            cells = {name: self._cell(trials) for name, trials in by.items()}
            base = cells.get(self.baseline, {}).get("grade")
            for cell in cells.values():
                is_known = base is not None and cell["grade"] is not None
                cell["difference"] = cell["grade"] - base if is_known else None
            spread = max((abs(cell["difference"] or 0.0) for cell in cells.values()), default=0.0)
            group = next(iter(by.values()))[0]["group"]
            rows.append({"case": case, "group": group, "spread": spread, "cells": cells})
        return sorted(rows, key=lambda row: -row["spread"])

    def _cell(self, trials: list[dict[str, Any]]) -> dict[str, Any]:
        """A case under a variant: means over its trials, and the trials."""
        grades = [g for row in trials if (g := row["grades"].get(self.grader)) is not None]
        names = ("run", "status", "error", "solved", "iterations", "returned", "grades", "cost_usd")
        return {
            "grade": figures.mean(grades) if grades else None,
            "cost_usd": figures.mean([row["cost_usd"] for row in trials]),
            "iterations": figures.mean([float(row["iterations"]) for row in trials]),
            "solved": figures.mean([float(bool(row["solved"])) for row in trials]),
            "trials": [{name: row[name] for name in names} for row in trials],
        }


def _plain(one: VariantReport) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in one.__slots__}
    return {n: plain_estimate(v) if isinstance(v, Estimate) else v for n, v in values.items()}


def plain_estimate(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON, which has no infinite numbers."""
    numbers = {name: getattr(estimate, name) for name in ("value", "low", "high")}
    return {n: v if v is not None and math.isfinite(v) else None for n, v in numbers.items()}


def report_of(
    experiment: Experiment,
    blocks: Sequence[Sequence[Graded]],
    spent_usd: float,
    others: int = 0,
) -> Report:
    """The report of what is there; only cases that all variants have are compared."""
    flat = [one for block in blocks for one in block]
    done = sum(one.outcome.is_done for one in flat)
    whole = [block for block in blocks if all(one.outcome.is_done for one in block)]
    table = _table(experiment, whole)
    names = list(experiment.variants)
    costs = _costs(experiment, table)
    variants = {
        name: _variant(experiment, table, name, costs[name], is_complete=done == len(flat))
        for name in names
    }
    for one in flat:
        variant = variants[one.outcome.trial.variant]
        variant.ended += one.outcome.is_done
        notes.count_failure(variant.failed, one.outcome)
    main = experiment.main_grader
    return Report(
        experiment=experiment.name,
        grader=main,
        graders=list(experiment.graders),
        baseline=experiment.baseline,
        cases=len(whole),
        repeat=experiment.repeat,
        is_complete=done == len(flat),
        trials=len(flat),
        done=done,
        variants=variants,
        rows=[_row(one) for one in flat if one.outcome.run is not None],
        left_out=notes.left_out(flat),
        rho=notes.rho(whole, main),
        extra_usd=sum(one.outcome.extra_usd for one in flat),
        spent_usd=spent_usd,
        people=notes.people(experiment, flat),
        faults=notes.faults(flat),
        on_failure=experiment.on_failure,
        others=others,
        graded_by=notes.grader_words(experiment.graders[main]),
        solved=experiment.solved or f"{main} >= {SOLVED}",
    )


def _row(one: Graded) -> dict[str, Any]:
    outcome, trial = one.outcome, one.outcome.trial
    return {
        "case": trial.case.id,
        "group": trial.case.group,
        "variant": trial.variant,
        "repeat": trial.number,
        "run": outcome.run,
        "status": outcome.status,
        "error": outcome.error,
        "is_outside": outcome.is_outside,
        "grades": {name: one.value(name) for name in one.grades},
        "solved": one.is_solved,
        "cost_usd": outcome.cost_usd,
        "seconds": outcome.seconds,
        "iterations": outcome.iterations,
        "returned": outcome.returned,
        "exit_reason": outcome.exit_reason,
        "score": outcome.scores.get(outcome.returned or 0),
    }


@dataclass(slots=True)
class _Cell:
    """A case under a variant: the mean over its repeats."""

    grade: float
    repeats: list[float]
    cost_usd: float
    solved: float
    iterations: float


def _table(
    experiment: Experiment, blocks: Iterable[Sequence[Graded]]
) -> dict[str, dict[str, _Cell]]:
    """Cells by case and variant; a case without a grade under a variant has none there."""
    main = experiment.main_grader
    table: dict[str, dict[str, _Cell]] = {}
    for block in blocks:
        for name in experiment.variants:
            trials = [one for one in block if one.outcome.trial.variant == name]
            grades = [grade for one in trials if (grade := one.value(main)) is not None]
            if grades and trials:
                count = len(trials)
                table.setdefault(trials[0].outcome.trial.case.id, {})[name] = _Cell(
                    figures.mean(grades),
                    grades,
                    sum(one.outcome.cost_usd for one in trials) / count,
                    sum(bool(one.is_solved) for one in trials) / count,
                    sum(one.outcome.iterations for one in trials) / count,
                )
    return table


def _costs(
    experiment: Experiment, table: dict[str, dict[str, _Cell]]
) -> dict[str, tuple[Estimate, Estimate]]:
    """What each variant costs, in all and for each solved case; those with the same cases at once.

    A case without a grade under a variant is none of it there.
    """
    groups = {case.id: case.group for case in experiment.cases}
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in experiment.variants:
        alike.setdefault(tuple(case for case, row in table.items() if name in row), []).append(name)
    found: dict[str, tuple[Estimate, Estimate]] = {}
    for cases, names in alike.items():
        units = [groups[case] for case in cases] if experiment.is_grouped else None
        cells = [[table[case][name] for case in cases] for name in names]
        each = [([c.cost_usd for c in row], [c.solved for c in row]) for row in cells]
        estimates = figures.cost_estimates(each, units, seed=f"{experiment.name} cost")
        found |= dict(zip(names, estimates, strict=True))
    return found


def _variant(
    experiment: Experiment,
    table: dict[str, dict[str, _Cell]],
    name: str,
    costs: tuple[Estimate, Estimate],
    *,
    is_complete: bool,
) -> VariantReport:
    groups = {case.id: case.group for case in experiment.cases}
    cells = {case: row[name] for case, row in table.items() if name in row}
    units = [groups[case] for case in cells] if experiment.is_grouped else None
    cost, per_solved = costs
    one = VariantReport(
        name=name,
        cases=len(cells),
        grade=figures.mean_estimate(
            [cell.grade for cell in cells.values()], units, is_repeated=experiment.repeat > 1
        ),
        difference=None,
        words="",
        could_see=None,
        solved=figures.mean([cell.solved for cell in cells.values()]) if cells else None,
        cost_usd=cost,
        per_solved=per_solved,
        iterations=figures.mean([cell.iterations for cell in cells.values()]) if cells else 0.0,
        noise=_noise([cell.repeats for cell in cells.values()]),
    )
    if name != experiment.baseline:
        _compare(experiment, table, one, is_complete=is_complete)
    return one


def _noise(repeats: list[list[float]]) -> str:
    share = figures.within_share(repeats)
    if share is None:
        return ""
    return "more repeats help" if share > 0.5 else "more cases help"


def _compare(
    experiment: Experiment,
    table: dict[str, dict[str, _Cell]],
    one: VariantReport,
    *,
    is_complete: bool,
) -> None:
    """The difference to the baseline, over the cases that both have."""
    base, groups = experiment.baseline, {case.id: case.group for case in experiment.cases}
    both = {case: row for case, row in table.items() if one.name in row and base in row}
    pairs = [row[one.name].grade - row[base].grade for row in both.values()]
    units = [groups[case] for case in both] if experiment.is_grouped else None
    if not pairs:
        return
    seed = f"{experiment.name} {base} {one.name}"
    one.difference = figures.difference_estimate(pairs, units, seed=seed)
    margin = experiment.margin
    one.wins = sum(pair > margin for pair in pairs)
    one.losses = sum(pair < -margin for pair in pairs)
    one.ties = len(pairs) - one.wins - one.losses
    if is_complete:
        one.words, one.could_see = _words(experiment, pairs, units, seed)


def _words(
    experiment: Experiment, pairs: list[float], units: list[str] | None, seed: str
) -> tuple[str, float | None]:
    level = 1 - (1 - figures.LEVEL) / max(1, len(experiment.variants) - 1)
    shared = figures.difference_estimate(pairs, units, seed=seed, level=level)
    if not shared.is_known:
        count = len(figures.gather(pairs, units))
        return f"{count} cases are too few to say", None
    if shared.excludes(0):
        return ("better" if shared.value > 0 else "worse"), None
    return "no difference seen", figures.detectable(pairs, units)
