"""Statistics of experiments, with the standard library only: intervals, paired differences, kappa.

Units are cases, or groups of cases that belong together. An interval never treats iterations or
repeated runs of one case as independent. Random draws use a seed, so that a report is the same
each time.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import field, fields
from functools import lru_cache
from operator import itemgetter
from statistics import NormalDist, StatisticsError, correlation
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

LEVEL = 0.95
# With fewer units than this there is no interval.
UNITS_MIN = 8
# The power: the probability that a detectable difference is seen.
POWER = 0.8
RESAMPLES = 4_000
# The draws for kappa, which take longer.
KAPPA_RESAMPLES = 1_000
_NORMAL = NormalDist()
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the limits of its interval, or None as limits if there are too few units.

    An infinite upper limit means unlimited.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def is_known(self) -> bool:
        return self.low is not None

    def document(self) -> dict[str, float | None]:
        """Returns the estimate as JSON, which has no infinite numbers."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}


def fields_document(made: Any) -> dict[str, Any]:
    """Returns the fields of a report as JSON."""
    values = {field.name: getattr(made, field.name) for field in fields(made)}
    return {n: v.document() if isinstance(v, Estimate) else v for n, v in values.items()}


def too_few(count: int, noun: str) -> str:
    """Says that there are too few units."""
    return f"{count} {noun} is too few" if count == 1 else f"{count} {noun}s are too few"


def finite(number: float | None) -> float | None:
    """Returns a number for JSON, or None if it is infinite or NaN."""
    return number if number is not None and math.isfinite(number) else None


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


@lru_cache(maxsize=1_024)
def t_quantile(share: float, degrees: int) -> float:
    """Returns the quantile of Student's t at this share, by its expansion.

    (Abramowitz and Stegun 26.7.5.) With the fewest units that have an interval, its error is below
    a thousandth.
    """
    z = _NORMAL.inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + math.fsum(term / math.pow(degrees, n) for n, term in enumerate(terms, 1))


def wilson(hits: int, count: int, level: float = LEVEL) -> tuple[float, float]:
    """Returns the interval of Wilson (1927) for a share."""
    z = _NORMAL.inv_cdf(0.5 + level / 2)
    share, square = hits / count, z * z / count
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def agresti_min(
    better: float, worse: float, count: int, level: float = LEVEL
) -> tuple[float, float]:
    """Returns the interval of Agresti and Min (2005) for the difference of two paired shares."""
    z, total = _NORMAL.inv_cdf(0.5 + level / 2), count + 2
    up, down = (better + 0.5) / total, (worse + 0.5) / total
    half = z * math.sqrt((up + down - (up - down) ** 2) / total)
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def gather(
    values: Sequence[float], groups: Sequence[Hashable] | None
) -> tuple[list[float], list[int]]:
    """Returns the sum and the number of values of each unit."""
    if groups is None:
        return list(values), [1] * len(values)
    totals: dict[Hashable, float] = {}
    for value, group in zip(values, groups, strict=True):
        totals[group] = totals.get(group, 0.0) + value
    sizes = Counter(groups)
    return list(totals.values()), [sizes[group] for group in totals]


def clustered(totals: Sequence[float], sizes: Sequence[int], level: float = LEVEL) -> Estimate:
    """Returns a mean with Student's interval, from the sum and number of values of each unit."""
    middle = sum(totals) / (sum(sizes) or 1)
    if len(totals) < UNITS_MIN:
        return Estimate(middle)
    half = t_quantile(0.5 + level / 2, len(totals) - 1) * _error(totals, sizes, middle)
    return Estimate(middle, middle - half, middle + half)


def _error(totals: Sequence[float], sizes: Sequence[int], middle: float) -> float:
    """Returns the standard error of a mean, from the differences between units."""
    count, apart = len(totals), [t - n * middle for t, n in zip(totals, sizes, strict=True)]
    return math.sqrt(count / (count - 1) * sum([x * x for x in apart])) / sum(sizes)


def expanded(drawn: Sequence[float], units: int, level: float = LEVEL) -> tuple[float, float]:
    """Returns the expanded percentile interval (Hesterberg 2015) of draws from so many units."""
    wide = math.sqrt(units / (units - 1)) * t_quantile(0.5 + level / 2, units - 1)
    cut, last, ordered = _NORMAL.cdf(-wide), len(drawn), sorted(drawn)
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
    """Returns the mean of grades over cases: Wilson if each is a single yes or no, else Student."""
    totals, sizes = gather(values, groups)
    if len(totals) < UNITS_MIN:
        return Estimate(mean(values))
    if groups is None and not is_repeated and all(value in (0, 1) for value in values):
        return Estimate(mean(values), *wilson(round(sum(values)), len(values), level))
    found = clustered(totals, sizes, level)
    assert found.low is not None
    assert found.high is not None
    return Estimate(mean(values), max(0.0, found.low), min(1.0, found.high))


def difference_estimate(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: str,
    level: float = LEVEL,
) -> Estimate:
    """Returns the mean of differences by case: Agresti and Min for yes and no, else bootstrap."""
    is_yes_or_no = groups is None and all(value in (-1, 0, 1) for value in differences)
    if len(differences) >= UNITS_MIN and is_yes_or_no:
        better, worse = (sum(value == sign for value in differences) for sign in (1, -1))
        return Estimate(mean(differences), *agresti_min(better, worse, len(differences), level))
    ones = [1.0] * len(differences)
    return ratio_estimates([(differences, ones)], groups, seed=seed, level=level)[0]


def ratio_estimates(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: str,
    level: float = LEVEL,
) -> list[Estimate]:
    """Returns ratios of two sums, such as the cost per solved case, all from the same draws."""
    columns = {id(column): column for pair in pairs for column in pair}
    sums = {key: gather(each, groups)[0] for key, each in columns.items()}
    units = min(map(len, sums.values()), default=0)
    drawn = _resampled(sums, seed) if units >= UNITS_MIN else {}
    estimates = []
    for tops, bottoms in pairs:
        total = math.fsum(bottoms)
        estimate = Estimate(math.fsum(tops) / total if total else math.inf)
        if drawn and total:
            draws = zip(drawn[id(tops)], drawn[id(bottoms)], strict=True)
            limits = expanded([a / b if b else math.inf for a, b in draws], units, level)
            estimate = Estimate(estimate.value, *limits)
        estimates.append(estimate)
    return estimates


def _resampled(columns: dict[int, list[float]], seed: str) -> dict[int, list[float]]:
    """Returns sums of columns over units that are resampled, with the same draws for all."""
    count = min(map(len, columns.values()))
    # Columns that never vary need no draw.
    sums = {key: [column[0] * count] * RESAMPLES for key, column in columns.items()}
    varying = [(sums[key], column) for key, column in columns.items() if min(column) < max(column)]
    places, draw = range(count), random.Random(seed)
    for number in range(RESAMPLES if varying else 0):
        pick = itemgetter(*draw.choices(places, k=count))
        for drawn, column in varying:
            drawn[number] = sum(pick(column))
    return sums


def detectable(
    differences: Sequence[float], groups: Sequence[Hashable] | None = None, level: float = LEVEL
) -> float:
    """Returns the least difference that is seen four times of five at this level, rounded up."""
    totals, sizes = gather(differences, groups)
    if len(totals) < UNITS_MIN:
        return math.inf
    error, degrees = _error(totals, sizes, mean(differences)), len(totals) - 1
    least = (t_quantile(0.5 + level / 2, degrees) + t_quantile(POWER, degrees)) * error
    return math.ceil(100 * least - _TINY) / 100


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Returns Spearman's rho of two series, or None if one of them never varies."""
    try:
        return correlation(_ranks(first), _ranks(second))
    except StatisticsError:
        return None


def _ranks(values: Sequence[float]) -> list[float]:
    """Returns ranks from 1; equal values share the mean of theirs."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values), 1):
        places.setdefault(value, []).append(place)
    return [mean(places[value]) for value in values]


# How a judge and labels agree.


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Returns Cohen's kappa (1960) of two raters, or None if one of them never varies."""
    count = len(pairs)
    first = sum(one for one, _ in pairs) / count if count else 0.0
    second = sum(other for _, other in pairs) / count if count else 0.0
    if first in (0, 1) or second in (0, 1):
        return None
    chance = first * second + (1 - first) * (1 - second)
    agreed = sum(one == other for one, other in pairs) / count
    return (agreed - chance) / (1 - chance)


@dataclass(frozen=True, slots=True)
class Judged:
    """A result with the verdict of the judge, or the reason why it has none, and its label.

    `run` and `iteration` are the place of the result; `asked` is the run with the judge's words.
    """

    case: str
    verdict: bool | None
    label: bool | None
    votes: tuple[bool | None, ...] = ()
    run: str = ""
    iteration: int | None = None
    asked: str = ""
    fault: str = ""

    @property
    def is_known(self) -> bool:
        return None not in (self.verdict, self.label)

    @property
    def pair(self) -> tuple[bool, bool]:
        return bool(self.verdict), bool(self.label)


@dataclass(slots=True)
class JudgeReport:
    """How a judge and labels agree; `votes` has accuracy and calls for fewer votes.

    All fields but `votes` are about all `results`. Judge and label agree on `agreed` of them, and
    each verdict has `verdict_votes`. Flips and fewer votes are about the most votes: `voted`.
    """

    question: str
    results: int
    cases: int
    accuracy: Estimate
    usual: float
    usual_label: bool
    kappa: Estimate | None
    words: str
    wrong_yes: tuple[int, int, tuple[float, float]]
    wrong_no: tuple[int, int, tuple[float, float]]
    unclear: int
    not_unanimous: float | None
    votes: dict[int, tuple[float, float]] = field(default_factory=dict)
    agreed: int = 0
    verdict_votes: int = 1
    # The results and cases with the most votes, the number of votes, and the results that differ.
    voted: dict[str, int] | None = None
    # The results of the loop, grade and dollars: by votes, with its own rule, and always right.
    # None if a grade is missing, or a model has no price.
    loop: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    # The number of runs behind these results.
    loop_runs: int = 0
    # The results on which judge and label differ, with the judge's words.
    disagreements: list[dict[str, Any]] = field(default_factory=list)
    of: str = ""
    # Results without a verdict or a label, and labels without a result, with advice.
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {"judge": 1, **fields_document(self)}


def reliability(
    question: str, judged: Sequence[Judged], seed: str, *, verdict_votes: int = 1
) -> JudgeReport:
    """Returns accuracy, kappa and the effect of fewer votes; intervals resample cases."""
    pairs = [one.pair for one in judged]
    right = [float(verdict == label) for verdict, label in pairs]
    cases = [one.case for one in judged]
    yes = sum(label for _, label in pairs)
    no = len(pairs) - yes
    wrong_yes, wrong_no = pairs.count((True, False)), pairs.count((False, True))
    found = _kappa_estimate(judged, seed)
    most = max((len(one.votes) for one in judged), default=0)
    voted = [one for one in judged if len(one.votes) == most and most > 1]
    differing = sum(len(set(one.votes)) > 1 for one in voted)
    report = JudgeReport(
        question=question,
        results=len(judged),
        cases=len(set(cases)),
        accuracy=mean_estimate(right, cases, is_repeated=True),
        usual=max(yes, no) / len(judged),
        usual_label=yes >= no,
        kappa=found,
        words=kappa_words(found),
        wrong_yes=(wrong_yes, no, wilson(wrong_yes, no) if no else (0.0, 1.0)),
        wrong_no=(wrong_no, yes, wilson(wrong_no, yes) if yes else (0.0, 1.0)),
        unclear=sum(None in one.votes for one in judged),
        not_unanimous=differing / len(voted) if voted else None,
        agreed=round(sum(right)),
        verdict_votes=verdict_votes,
    )
    if voted:
        of = {"results": len(voted), "cases": len({one.case for one in voted}), "votes": most}
        report.voted = of | {"differing": differing}
        report.votes = {n: _with_votes(voted, n) for n in range(1, most + 1, 2)}
    return report


def _kappa_estimate(judged: Sequence[Judged], seed: str) -> Estimate | None:
    value = kappa([one.pair for one in judged])
    by_case: dict[str, list[tuple[bool, bool]]] = {}
    for one in judged:
        by_case.setdefault(one.case, []).append(one.pair)
    units, draw = list(by_case.values()), random.Random(f"kappa {seed}")
    if value is None or len(units) < UNITS_MIN:
        return None if value is None else Estimate(value)
    drawn = (draw.choices(units, k=len(units)) for _ in range(KAPPA_RESAMPLES))
    found = (kappa([pair for unit in each for pair in unit]) for each in drawn)
    known = [each for each in found if each is not None]
    return Estimate(value, *expanded(known, len(units))) if known else Estimate(value)


def kappa_words(kappa: Estimate | None) -> str:
    """Returns the word for a kappa, by its lower limit."""
    if kappa is None:
        return "not defined: one side never varies"
    lowest = kappa.value if kappa.low is None else kappa.low
    if kappa.value <= 0:
        is_sure = kappa.high is not None and kappa.high < 0
        return "worse than chance" if is_sure else "not better than chance"
    for limit, words in ((0.2, "hardly better than chance"), (0.6, "weak"), (0.8, "fair")):
        if lowest < limit:
            return words
    return "good"


def _with_votes(judged: Sequence[Judged], wanted: int) -> tuple[float, float]:
    """Returns accuracy and calls with fewer votes: the mean over all orders of the cast votes."""
    accuracy = calls = 0.0
    for one in judged:
        left = tuple(one.votes.count(vote) for vote in (True, False, None))
        says_yes, asked = _expected(left, wanted // 2 + 1, (wanted + 1) // 2, wanted)
        accuracy += says_yes if one.label else 1 - says_yes
        calls += asked
    return accuracy / len(judged), calls / len(judged)


@lru_cache(maxsize=10_000)
def _expected(left: tuple[int, ...], yes: int, no: int, most: int) -> tuple[float, float]:
    """Returns the probability of a yes from the votes that are left, and the expected calls.

    It asks at most `most` times. So many more `yes` or `no` decide; it draws without replacement.
    """
    if not (yes and no and most):
        return float(not yes), 0.0
    says_yes, asked = 0.0, 1.0
    for at, count in enumerate(left):
        rest = tuple(number - (place == at) for place, number in enumerate(left))
        likely, more = (
            _expected(rest, yes - (at == 0), no - (at == 1), most - 1) if count else (0, 0)
        )
        says_yes += likely * count / sum(left)
        asked += more * count / sum(left)
    return says_yes, asked
