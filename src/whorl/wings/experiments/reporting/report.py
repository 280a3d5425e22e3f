"""What an experiment found: variants compared by case, with intervals.

Numbers are means over cases; a variant is called better or worse only where the interval, at a
level that is shared among all variants, says so. Only whole blocks are compared.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass
from whorl.wings.experiments.graders import SOLVED
from whorl.wings.experiments.reporting import notes, statistics
from whorl.wings.experiments.reporting.statistics import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.graders import Graded


# One variant of an experiment: its grades, what it costs, and the difference to the baseline.


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
    # Whether the difference is one that does not matter, by the margin that wins and losses have.
    within_margin: bool = False
    # At which level the interval of the difference holds: all of them hold together at 95 %.
    level: float | None = None
    noise: str = ""
    # How many of its trials have failed by themselves, by code, and how many have ended.
    failed: dict[str, int] = field(default_factory=dict)
    ended: int = 0
    # How many of its trials made calls without a known price: what it costs is not known then.
    unpriced: int = 0


@dataclass(slots=True)
class Cell:
    """A case under a variant: the mean over its repeats."""

    grade: float
    repeats: list[float]
    cost_usd: float
    solved: float
    iterations: float


def table_of(
    experiment: Experiment, blocks: Iterable[Sequence[Graded]]
) -> dict[str, dict[str, Cell]]:
    """Cells by case and variant; a case without a grade under a variant has none there."""
    main = experiment.main_grader
    table: dict[str, dict[str, Cell]] = {}
    for block in blocks:
        for name in experiment.variants:
            trials = [one for one in block if one.outcome.trial.variant == name]
            grades = [grade for one in trials if (grade := one.value(main)) is not None]
            if grades and trials:
                count = len(trials)
                table.setdefault(trials[0].outcome.trial.case.id, {})[name] = Cell(
                    statistics.mean(grades),
                    grades,
                    sum(one.outcome.cost_usd for one in trials) / count,
                    sum(bool(one.is_solved) for one in trials) / count,
                    sum(one.outcome.iterations for one in trials) / count,
                )
    return table


def costs_of(
    experiment: Experiment, table: dict[str, dict[str, Cell]]
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
        estimates = statistics.cost_estimates(each, units, seed=f"{experiment.name} cost")
        found |= dict(zip(names, estimates, strict=True))
    return found


def variant_of(
    experiment: Experiment,
    table: dict[str, dict[str, Cell]],
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
        grade=statistics.mean_estimate(
            [cell.grade for cell in cells.values()], units, is_repeated=experiment.repeat > 1
        ),
        difference=None,
        words="",
        could_see=None,
        solved=statistics.mean([cell.solved for cell in cells.values()]) if cells else None,
        cost_usd=cost,
        per_solved=per_solved,
        iterations=statistics.mean([cell.iterations for cell in cells.values()]) if cells else 0.0,
        noise=_noise([cell.repeats for cell in cells.values()]),
    )
    if name != experiment.baseline:
        _compare(experiment, table, one, is_complete=is_complete)
    return one


def fewer_words(variants: Iterable[VariantReport], cases: int, baseline: str) -> list[str]:
    """Variants that have no grade for some of the cases, or are compared over fewer of them."""
    lines = []
    for one in variants:
        compared = one.cases if one.name == baseline else one.wins + one.ties + one.losses
        pairs = f", {compared} of them also under {baseline}" if compared < one.cases else ""
        if one.cases < cases or pairs:
            lines.append(f"{one.name}: {one.cases} of {cases} cases have a grade{pairs}")
    return lines


def _noise(repeats: list[list[float]]) -> str:
    share = statistics.within_share(repeats)
    if share is None:
        return ""
    return "more repeats help" if share > 0.5 else "more cases help"


def difference_seed(experiment: Experiment, one: str, other: str) -> str:
    """What the interval of a difference is drawn with, whoever asks and whichever comes first."""
    return " ".join((experiment.name, *sorted((one, other))))


def shared_level(experiment: Experiment) -> float:
    """The level of each interval, so that those of all variants hold together at 95 %."""
    return 1 - (1 - statistics.LEVEL) / max(1, len(experiment.variants) - 1)


def level_words(experiment: Experiment) -> list[str]:
    """What the intervals of several variants say, and why the gate's is narrower."""
    others, each, level = len(experiment.variants) - 1, shared_level(experiment), statistics.LEVEL
    if others < 2:
        return []
    together = f"hold for {others} variants together at {100 * level:g} %, each at"
    words = f"differences to {experiment.baseline} {together} {round(100 * each, 2):g} %"
    return [f"{words}; the gate compares one, at {100 * level:g} %"]


def _side(difference: float, margin: float) -> int:
    """1: better, -1: worse, 0: the difference does not matter; of a case, and of the mean."""
    return (difference > margin) - (difference < -margin)


def _compare(
    experiment: Experiment,
    table: dict[str, dict[str, Cell]],
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
    seed = difference_seed(experiment, base, one.name)
    # One interval for the eye and for the words, at a level that all variants share.
    one.level = level = shared_level(experiment)
    one.difference = statistics.difference_estimate(pairs, units, seed=seed, level=level)
    sides = [_side(pair, experiment.margin) for pair in pairs]
    one.wins, one.ties, one.losses = (sides.count(side) for side in (1, 0, -1))
    one.within_margin = _side(one.difference.value, experiment.margin) == 0
    if not is_complete:
        return
    if not one.difference.is_known:
        noun = "group" if experiment.is_grouped else "case"
        few = statistics.too_few(len(statistics.gather(pairs, units)), noun)
        one.words = f"{few} to say"
    elif one.difference.excludes(0):
        one.words = "better" if one.difference.value > 0 else "worse"
    else:
        one.words = "no difference seen"
        least = statistics.detectable(pairs, units, level)
        one.could_see = least if math.isfinite(least) else None


FORMAT = 1


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
    # Variants that have no grade, or no pair, for some of the cases.
    fewer: list[str] = field(default_factory=list)
    people: dict[str, tuple[int, int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    # Whether a run that has failed is graded 0, or left out.
    on_failure: str = "zero"
    # Runs of cases, variants or versions that the file has no more.
    others: int = 0
    # What has to be known of costs, and of grades that are missing.
    notes: list[str] = field(default_factory=list)
    # Who grades, and when a trial is solved.
    graded_by: str = ""
    solved: str = ""
    # A difference in grade that does not matter: wins and losses of a variant are beyond it.
    margin: float = 0.02

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
        costs = [row["cost_usd"] for row in trials]
        names = ("run", "status", "error", "solved", "iterations", "returned", "grades", "cost_usd")
        return {
            "grade": statistics.mean(grades) if grades else None,
            "cost_usd": None if None in costs else statistics.mean(costs),
            "iterations": statistics.mean([float(row["iterations"]) for row in trials]),
            "solved": statistics.mean([float(bool(row["solved"])) for row in trials]),
            "trials": [{name: row[name] for name in names} for row in trials],
        }


def _plain(one: VariantReport) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in one.__slots__}
    return {n: plain_estimate(v) if isinstance(v, Estimate) else v for n, v in values.items()}


def plain_estimate(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON, which has no infinite numbers."""
    numbers = {name: getattr(estimate, name) for name in ("value", "low", "high")}
    return {n: v if v is None else statistics.finite(v) for n, v in numbers.items()}


def report_of(
    experiment: Experiment,
    blocks: Sequence[Sequence[Graded]],
    spent_usd: float,
    others: int = 0,
    notes_of_money: Sequence[str] = (),
) -> Report:
    """The report of what is there; only cases that all variants have are compared."""
    flat = [one for block in blocks for one in block]
    done = sum(one.outcome.is_done for one in flat)
    ended = [block for block in blocks if all(one.outcome.is_done for one in block)]
    whole = notes.graded_blocks(experiment, ended)
    is_complete = len(whole) == len(blocks)
    table = table_of(experiment, whole)
    names = list(experiment.variants)
    costs = costs_of(experiment, table)
    variants = {
        name: variant_of(experiment, table, name, costs[name], is_complete=is_complete)
        for name in names
    }
    for one in flat:
        variant = variants[one.outcome.trial.variant]
        variant.ended += one.outcome.is_done
        variant.unpriced += bool(one.outcome.unpriced)
        if variant.unpriced:
            variant.cost_usd = variant.per_solved = Estimate(math.nan)
        notes.count_failure(variant.failed, one.outcome)
    main = experiment.main_grader
    return Report(
        experiment=experiment.name,
        grader=main,
        graders=list(experiment.graders),
        baseline=experiment.baseline,
        cases=len(whole),
        repeat=experiment.repeat,
        is_complete=is_complete,
        trials=len(flat),
        done=done,
        variants=variants,
        rows=[_row(one) for one in flat if one.outcome.run is not None],
        left_out=notes.left_out(flat),
        fewer=fewer_words(variants.values(), len(whole), experiment.baseline),
        rho=notes.rho(whole, main),
        extra_usd=sum(one.outcome.extra_usd for one in notes.distinct(flat)),
        spent_usd=spent_usd,
        people=notes.people(experiment, flat),
        faults=notes.faults(flat),
        on_failure=experiment.on_failure,
        others=others,
        notes=[
            *notes.same_runs(one.outcome.trial for one in flat),
            *notes.ungraded(experiment, flat),
            *notes_of_money,
            *level_words(experiment),
        ],
        graded_by=notes.grader_words(experiment.graders[main]),
        solved=experiment.solved or f"{main} >= {SOLVED}",
        margin=experiment.margin,
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
        "cost_usd": None if outcome.unpriced else outcome.cost_usd,
        "in_doubt": outcome.in_doubt,
        "seconds": outcome.seconds,
        "iterations": outcome.iterations,
        "returned": outcome.returned,
        "exit_reason": outcome.exit_reason,
        "score": outcome.scores.get(outcome.returned or 0),
    }
