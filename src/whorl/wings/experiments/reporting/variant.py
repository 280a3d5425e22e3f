"""One variant of an experiment: its grades, what it costs, and the difference to the baseline."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.lazily import dataclass
from whorl.wings.experiments.reporting import statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.graders import Graded
    from whorl.wings.experiments.reporting.statistics import Estimate


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
