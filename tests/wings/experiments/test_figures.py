"""The statistics of experiments: against SciPy, against published examples, and by coverage."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from campaign import amount
from whorl.wings.experiments import statistics


@pytest.mark.parametrize("degrees", [7, 19, 49, 999, 100_000])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.975, 0.9975, 0.025])
def test_quantiles_of_t_are_those_of_scipy(share: float, degrees: int) -> None:
    wanted = stats.t.ppf(share, degrees)

    assert statistics.t_quantile(share, degrees) == pytest.approx(wanted, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize(("hits", "count"), [(0, 8), (8, 8), (14, 78), (81, 263), (1, 1_000)])
@pytest.mark.parametrize("level", [0.95, 0.99])
def test_wilson_is_that_of_scipy(hits: int, count: int, level: float) -> None:
    wanted = stats.binomtest(hits, count).proportion_ci(level, method="wilson")

    assert statistics.wilson(hits, count, level) == pytest.approx(tuple(wanted), abs=1e-12)


def _graded(seed: int, count: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.betavariate(4, 1.5) for _ in range(count)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("count", [8, 20, 200, 1_000])
def test_a_paired_difference_is_that_of_scipy(count: int) -> None:
    """The t of pairs exactly; the bootstrap up to what is drawn."""
    first, second = _graded(1, count), _graded(2, count)
    differences = [one - other for one, other in zip(first, second, strict=True)]
    wanted = stats.ttest_rel(first, second).confidence_interval(0.95)
    drawn = stats.bootstrap(
        (differences,), np.mean, n_resamples=40_000, rng=np.random.default_rng(5)
    ).bootstrap_distribution
    cut = stats.norm.cdf(-math.sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1))

    found = statistics.difference_estimate(differences, seed="a seed")

    student = statistics.clustered(differences, [1] * count)
    assert (student.low, student.high) == pytest.approx((wanted.low, wanted.high), abs=1e-4)
    near = np.quantile(drawn, [cut, 1 - cut])
    assert (found.low, found.high) == pytest.approx(tuple(near), abs=0.15 * (near[1] - near[0]))
    assert found == statistics.difference_estimate(differences, seed="a seed")


def test_clustered_errors_are_those_of_a_regression_on_a_constant() -> None:
    """Written with matrices, as texts on clustered errors do."""
    values, groups = _graded(3, 60), [f"g{number % 12}" for number in range(60)]
    residuals = np.array(values) - np.mean(values)
    sums = [residuals[[g == name for g in groups]].sum() for name in dict.fromkeys(groups)]
    error = math.sqrt(12 / 11 * float(np.square(sums).sum())) / 60
    half = stats.t.ppf(0.975, 11) * error

    found = statistics.clustered(*statistics.gather(values, groups))

    assert (found.low, found.high) == pytest.approx(
        (np.mean(values) - half, np.mean(values) + half)
    )


def test_agresti_and_min_by_its_formula() -> None:
    """40 pairs, 17 better and 4 worse: the adjusted Wald interval with half in each cell."""
    up, down = 17.5 / 42, 4.5 / 42
    half = stats.norm.ppf(0.975) * math.sqrt((up + down - (up - down) ** 2) / 42)

    assert statistics.agresti_min(17, 4, 40) == pytest.approx((up - down - half, up - down + half))


def test_kappa_of_published_tables() -> None:
    """The worked example of most texts on kappa: 20, 5, 10 and 15 of 50 give 0.4."""

    def table(*counts: int) -> list[tuple[bool, bool]]:
        cells = [(True, True), (True, False), (False, True), (False, False)]
        return [pair for pair, count in zip(cells, counts, strict=True) for _ in range(count)]

    assert statistics.kappa(table(20, 5, 10, 15)) == pytest.approx(0.4)
    assert statistics.kappa(table(45, 15, 25, 15)) == pytest.approx(0.1304, abs=5e-5)
    assert statistics.kappa(table(25, 35, 5, 35)) == pytest.approx(0.2593, abs=5e-5)
    assert statistics.kappa(table(5, 0, 3, 0)) is None


def test_rho_is_that_of_scipy_also_with_ties() -> None:
    draw = random.Random(4)
    first = [draw.randrange(5) / 4 for _ in range(40)]
    second = [value + draw.random() for value in first]

    assert statistics.spearman(first, second) == pytest.approx(
        stats.spearmanr(first, second).statistic
    )
    assert statistics.spearman([1.0, 1.0], [0.0, 1.0]) is None


def test_few_units_have_no_interval() -> None:
    assert statistics.mean_estimate([0.5] * 7) == statistics.Estimate(0.5)
    assert statistics.difference_estimate([0.5] * 40, ["a", "b"] * 20, seed="s").low is None


@pytest.mark.sample(4)
@pytest.mark.parametrize(("count", "groups"), [(7, None), (16, 10), (400, None), (400, 10)])
def test_costs_of_variants_are_drawn_together_and_are_those_drawn_alone(
    count: int, groups: int | None
) -> None:
    draw = random.Random(count)
    costs = [draw.random() / 10**6 for _ in range(count)]
    dear = [draw.random() * 1000 for _ in range(count)]
    solved, nothing = [float(draw.random() < 0.3) for _ in range(count)], [0.0] * count
    units = None if groups is None else [number % groups for number in range(count)]
    pairs = [(costs, solved), (dear, nothing), (dear, solved), (dear, [1.0] * count)]

    each = statistics.ratio_estimates(pairs, units, seed="s")

    assert each == [statistics.ratio_estimates([pair], units, seed="s")[0] for pair in pairs]
    assert each[1] == statistics.Estimate(math.inf)


@pytest.mark.sample(3)
@pytest.mark.campaign
@pytest.mark.parametrize("count", [8, 20, 50, 200])
@pytest.mark.parametrize("kind", ["grades", "solved", "mean"])
def test_intervals_hold_the_truth_as_often_as_they_say(
    kind: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", amount(300, 1_000))
    draw, tried, hits = random.Random(f"{kind} {count}"), amount(120, 2_000), 0
    truth = {"grades": 4 / 5.5 - 3 / 4.5, "solved": 0.10, "mean": 4 / 5.5}[kind]
    for number in range(tried):
        if kind == "solved":
            values = draw.choices([1.0, -1.0, 0.0], [0.18, 0.08, 0.74], k=count)
        elif kind == "grades":
            pairs = [(draw.betavariate(4, 1.5), draw.betavariate(3, 1.5)) for _ in range(count)]
            values = [one - other for one, other in pairs]
        else:
            values = [draw.betavariate(4, 1.5) for _ in range(count)]
        found = (
            statistics.mean_estimate(values)
            if kind == "mean"
            else statistics.difference_estimate(values, seed=str(number))
        )
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high

    # Two errors of what is tried below what is promised, or above.
    slack = 2 * math.sqrt(0.95 * 0.05 / tried)
    assert hits / tried >= 0.93 - slack
    assert hits / tried <= 0.97 + slack or kind == "solved"
