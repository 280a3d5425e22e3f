"""Statistics of experiments, by the standard library alone: intervals, paired differences, kappa.

Units are cases, or groups of cases that belong together; an interval never takes iterations or
repeated runs of one case for independent. Whatever is drawn is drawn from a seed, so that a report
says the same each time.
"""

from __future__ import annotations

import math
import random
from array import array
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeVar

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

LEVEL = 0.95
# Fewer units than this are too few to say anything.
UNITS_MIN = 8
# How likely a difference is to be seen that is called large enough to be seen.
POWER = 0.8
_NORMAL = NormalDist()
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the limits that it lies between; None: there are too few units to say.

    An upper limit that is infinite is none.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def is_known(self) -> bool:
        return self.low is not None

    def excludes(self, number: float) -> bool:
        return (
            self.low is not None and self.high is not None and not self.low <= number <= self.high
        )


def too_few(count: int, noun: str) -> str:
    """Says that there are too few units."""
    return f"{count} {noun} is too few" if count == 1 else f"{count} {noun}s are too few"


def finite(number: float) -> float | None:
    """A number as JSON has it, which knows none that is infinite or no number."""
    return number if math.isfinite(number) else None


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample."""
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


@lru_cache(maxsize=1_024)
def t_quantile(share: float, degrees: int) -> float:
    """Where Student's t has this share of its values below it."""
    if share < 0.5:
        return -t_quantile(1 - share, degrees)
    low, high = 0.0, 2.0
    while _t_below(high, degrees) < share:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _t_below(middle, degrees) < share else (low, middle)
    return (low + high) / 2


def _t_below(t: float, degrees: int) -> float:
    return 1 - _beta_share(degrees / (degrees + t * t), degrees / 2, 0.5) / 2


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(1 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of it, by Lentz."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    product = d
    for m in range(1, 1_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            d = 1 / (1 + part * d)
            c = 1 + part / c
            product *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return product


def wilson(hits: int, count: int, level: float = LEVEL) -> tuple[float, float]:
    """The interval of Wilson (1927) for a share."""
    z = _NORMAL.inv_cdf(0.5 + level / 2)
    share, square = hits / count, z * z / count
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def agresti_min(
    better: float, worse: float, count: int, level: float = LEVEL
) -> tuple[float, float]:
    """The interval of Agresti and Min (2005) for the difference of two paired shares."""
    z, total = _NORMAL.inv_cdf(0.5 + level / 2), count + 2
    up, down = (better + 0.5) / total, (worse + 0.5) / total
    half = z * math.sqrt((up + down - (up - down) ** 2) / total)
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def gather(values: Sequence[float], groups: Sequence[Hashable] | None) -> list[tuple[float, float]]:
    """The sum and the number of values of each unit."""
    if groups is None:
        return [(value, 1.0) for value in values]
    sums: dict[Hashable, tuple[float, float]] = {}
    for value, group in zip(values, groups, strict=True):
        total, count = sums.get(group, (0.0, 0.0))
        sums[group] = (total + value, count + 1)
    return list(sums.values())


def t_interval(
    values: Sequence[float], groups: Sequence[Hashable] | None = None, level: float = LEVEL
) -> tuple[float, float]:
    """Student's interval for a mean, with the error between units (clustered)."""
    units, middle = gather(values, groups), mean(values)
    half = t_quantile(0.5 + level / 2, len(units) - 1) * _error(units, middle)
    return middle - half, middle + half


def _error(units: Sequence[tuple[float, float]], middle: float) -> float:
    """The standard error of a mean, given the sum and the number of values of each unit."""
    count, size = len(units), math.fsum(size for _, size in units)
    squares = math.fsum((total - each * middle) ** 2 for total, each in units)
    return math.sqrt(count / (count - 1) * squares) / size


def expanded(ordered: Sequence[float], units: int, level: float = LEVEL) -> tuple[float, float]:
    """The expanded percentile interval (Hesterberg 2015) of what was drawn from so many units."""
    wide = math.sqrt(units / (units - 1)) * t_quantile(0.5 + level / 2, units - 1)
    cut, last = _NORMAL.cdf(-wide), len(ordered)
    low = max(0, math.floor(cut * (last + 1)) - 1)
    high = min(last - 1, math.ceil((1 - cut) * (last + 1)) - 1)
    return ordered[low], ordered[high]


def mean_estimate(
    values: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    is_repeated: bool = False,
    level: float = LEVEL,
) -> Estimate:
    """The mean of grades over cases: Wilson where each is a yes or no of its own, else Student."""
    if len(gather(values, groups)) < UNITS_MIN:
        return Estimate(mean(values))
    if groups is None and not is_repeated and all(value in (0, 1) for value in values):
        return Estimate(mean(values), *wilson(round(sum(values)), len(values), level))
    low, high = t_interval(values, groups, level)
    return Estimate(mean(values), max(0.0, low), min(1.0, high))


def difference_estimate(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: str,
    level: float = LEVEL,
) -> Estimate:
    """The mean of differences by case: Agresti and Min for yes and no, else the bootstrap."""
    units = gather(differences, groups)
    if len(units) < UNITS_MIN:
        return Estimate(mean(differences))
    if is_yes_or_no(differences, groups):
        better = sum(value == 1 for value in differences)
        worse = sum(value == -1 for value in differences)
        return Estimate(mean(differences), *agresti_min(better, worse, len(differences), level))
    return Estimate(mean(differences), *expanded(resampled(units, seed), len(units), level))


def ratio_estimate(
    tops: Sequence[float],
    bottoms: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: str,
) -> Estimate:
    """The ratio of two sums, such as the cost per solved case; both are drawn together."""
    named = range(len(tops)) if groups is None else groups
    above, below = gather(tops, named), gather(bottoms, named)
    units = [(one[0], other[0]) for one, other in zip(above, below, strict=True)]
    total = math.fsum(bottoms)
    value = math.fsum(tops) / total if total else math.inf
    if len(units) < UNITS_MIN or not total:
        return Estimate(value)
    low, high = expanded(resampled(units, seed), len(units))
    return Estimate(value, low, high)


def cost_estimates(
    variants: Sequence[tuple[Sequence[float], Sequence[float]]],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: str,
) -> list[tuple[Estimate, Estimate]]:
    """The mean cost and the cost per solved case of variants with the same cases.

    Each is given as what its cases cost and how far they are solved; one draw serves all of them.
    """
    count = len(variants[0][0]) if variants else 0
    if groups is not None or count < UNITS_MIN:
        bottoms = [([1.0] * count, solved) for _, solved in variants]
        return [
            (
                ratio_estimate(costs, each, groups, seed=seed),
                ratio_estimate(costs, solved, groups, seed=seed),
            )
            for (costs, _), (each, solved) in zip(variants, bottoms, strict=True)
        ]
    drawn = iter(drawn_columns([column for both in variants for column in both], seed))
    estimates = []
    for costs, solved in variants:
        tops, bottoms_drawn = next(drawn), next(drawn)
        middle = Estimate(mean(costs), *expanded(sorted(top / count for top in tops), count))
        total, per_solved = math.fsum(solved), Estimate(math.inf)
        if total:
            ratios = ratios_of(map(complex, tops, bottoms_drawn))
            per_solved = Estimate(math.fsum(costs) / total, *expanded(ratios, count))
        estimates.append((middle, per_solved))
    return estimates


def detectable(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    level: float = LEVEL,
) -> float:
    """The least difference that would have been seen at this level, rounded up to two digits.

    Of yes and no: with as many cases against it as there are. Of other grades: four times of five.
    """
    units = gather(differences, groups)
    if len(units) < UNITS_MIN:
        return math.inf
    if is_yes_or_no(differences, groups):
        against = min(sum(value == sign for value in differences) for sign in (-1, 1))
        count = len(differences)
        wins = range(against, count - against + 1)
        seen = (n for n in wins if agresti_min(n, against, count, level)[0] > 0)
        least = (next(seen, math.inf) - against) / count
    else:
        error, degrees = _error(units, mean(differences)), len(units) - 1
        least = (t_quantile(0.5 + level / 2, degrees) + t_quantile(POWER, degrees)) * error
    return math.ceil(100 * least - _TINY) / 100 if math.isfinite(least) else least


def is_yes_or_no(differences: Sequence[float], groups: Sequence[Hashable] | None) -> bool:
    return groups is None and all(value in (-1, 0, 1) for value in differences)


def within_share(repeats: Sequence[Sequence[float]]) -> float | None:
    """The share of the variance of single runs that lies within cases; None: nothing varies."""
    rows = [row for row in repeats if len(row) > 1]
    if len(rows) < 2:
        return None
    within = mean([deviation(row) ** 2 for row in rows])
    size = mean([len(row) for row in rows])
    between = max(0.0, deviation([mean(row) for row in rows]) ** 2 - within / size)
    total = within + between
    return within / total if total > _TINY else None


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa (1960) of two who say yes or no; None where one side never varies."""
    count = len(pairs)
    first = sum(one for one, _ in pairs) / count if count else 0.0
    second = sum(other for _, other in pairs) / count if count else 0.0
    if first in (0, 1) or second in (0, 1):
        return None
    chance = first * second + (1 - first) * (1 - second)
    agreed = sum(one == other for one, other in pairs) / count
    return (agreed - chance) / (1 - chance)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rho: how far two go up together; None where one of them never varies."""
    ranks = [_ranks(first), _ranks(second)]
    middle = [mean(each) for each in ranks]
    (xs, ys) = ([value - at for value in each] for each, at in zip(ranks, middle, strict=True))
    scale = math.sqrt(math.fsum(x * x for x in xs) * math.fsum(y * y for y in ys))
    return math.fsum(x * y for x, y in zip(xs, ys, strict=True)) / scale if scale else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; those that are alike share the middle of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for index in order[start : end + 1]:
            ranks[index] = (start + end) / 2 + 1
        start = end + 1
    return ranks


# Resamples for bootstrap intervals: the same ones each time, and quickly drawn.

RESAMPLES = 4_000
_PLACES = 2**16
# From and to how many units a table of places is worth its while, and fair.
_TABLED = (128, 2_048)
# So many sums are drawn from the same table.
_SAME = 100
# How exact the parts are that are added in one integer.
_BITS = 48
_Number = TypeVar("_Number", int, float, complex)


def resampled(units: Sequence[tuple[float, float]], seed: str) -> Sequence[float]:
    """Ratios of two sums over units that are drawn again and again, in order.

    Where the lower sum is nothing the ratio is infinite.
    """
    return _resampled(tuple(units), seed, RESAMPLES)


# The same draw serves an interval at its own level, and at one that is shared among variants.
@lru_cache(maxsize=4)
def _resampled(units: tuple[tuple[float, float], ...], seed: str, times: int) -> tuple[float, ...]:
    draw, count = random.Random(seed), len(units)
    if all(size == 1.0 for _, size in units):
        sums = _drawn_sums([top for top, _ in units], draw, times)
        return tuple(sorted(total / count for total in sums))
    # Both sums in one: that of the real parts and that of the imaginary ones.
    return ratios_of(_drawn_sums([complex(*unit) for unit in units], draw, times))


def ratios_of(pairs: Iterable[complex]) -> tuple[float, ...]:
    """Real parts by imaginary ones, in order."""
    return tuple(sorted(pair.real / pair.imag if pair.imag else math.inf for pair in pairs))


def _drawn_sums(values: Sequence[_Number], draw: random.Random, times: int) -> Iterator[_Number]:
    """Sums of as many values as there are, drawn with putting back, again and again."""
    count, none = len(values), type(values[0])()
    if not _TABLED[0] <= count <= _TABLED[1]:
        for _ in range(times):
            yield sum(draw.choices(values, k=count), none)
        return
    # Half the time of `choices`: numbers of two bytes each lead into a table, in which every value
    # has the same number of places; who gets the few that are left is drawn now and then.
    often, left = divmod(_PLACES, count)
    table = list(values) * often + [none] * left
    for number in range(times):
        if number % _SAME == 0:
            table[_PLACES - left :] = draw.sample(values, left)
        yield sum(map(table.__getitem__, array("H", draw.randbytes(2 * count))), none)


def drawn_columns(columns: Sequence[Sequence[float]], seed: str) -> list[list[float]]:
    """Sums over cases that are drawn again and again, of several columns by the same draws.

    All numbers of a case, none below 0, are parts of one large integer: adding one is little slower
    than adding a float. They are as exact as a part in 2**48 of the largest in their column.
    """
    count = len(columns[0])
    width = _BITS + count.bit_length()
    scales = [2.0**_BITS / (max(column) or 1.0) for column in columns]
    rows = [
        sum(round(value * scales[at]) << at * width for at, value in enumerate(row))
        for row in zip(*columns, strict=True)
    ]
    drawn = list(_drawn_sums(rows, random.Random(seed), RESAMPLES))
    mask = (1 << width) - 1
    return [
        [(total >> at * width & mask) / scale for total in drawn] for at, scale in enumerate(scales)
    ]
