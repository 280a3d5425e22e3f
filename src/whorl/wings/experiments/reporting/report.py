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
from whorl.wings.experiments.reporting import cost_notes, notes, statistics
from whorl.wings.experiments.reporting.statistics import Estimate
from whorl.wings.experiments.reporting.variant import (
    VariantReport,
    costs_of,
    fewer_words,
    level_words,
    table_of,
    variant_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.graders import Graded

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
    whole = cost_notes.graded_blocks(experiment, ended)
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
            *cost_notes.ungraded(experiment, flat),
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
