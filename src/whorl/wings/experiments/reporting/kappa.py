"""How a judge and labels agree: accuracy, kappa, and what fewer votes would have given."""

from __future__ import annotations

import math
import random
from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass
from whorl.wings.experiments.reporting import statistics
from whorl.wings.experiments.reporting.statistics import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Judged:
    """A result with what the judge said of it, its votes, and the label.

    `run` and `iteration` say where the result is; `asked` is the run that has the judge's words.
    """

    case: str
    verdict: bool
    label: bool
    votes: tuple[bool | None, ...] = ()
    is_unclear: bool = False
    run: str = ""
    iteration: int | None = None
    asked: str = ""


@dataclass(slots=True)
class JudgeReport:
    """How a judge and labels agree; `votes` has accuracy and calls for fewer votes.

    All but that is of all `results`: on so many of them they have `agreed`, and each verdict is
    that of `verdict_votes`. Flips and fewer votes are of those that have most votes: `voted`.
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
    # How many results of how many cases have how many votes, and in how many of them these differ.
    voted: dict[str, int] | None = None
    # What the loop gives and costs: grade and dollars, by votes, with its own rule, always right;
    # None where a grade is missing, or a model has no price.
    loop: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    # Over so many runs.
    loop_runs: int = 0
    # Where the judge and the label differ, with the judge's words.
    disagreements: list[dict[str, Any]] = field(default_factory=list)
    of: str = ""
    # Results that have no verdict or no label, and labels that match no result; with what to do.
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        made = {name: getattr(self, name) for name in self.__slots__}
        for name in ("accuracy", "kappa"):
            one = made[name]
            made[name] = one and {"value": one.value, "low": one.low, "high": one.high}
        return {"judge": 1, **made}


def reliability(
    question: str, judged: Sequence[Judged], seed: str, *, verdict_votes: int = 1
) -> JudgeReport:
    """Accuracy, kappa and what fewer votes would give; intervals resample cases."""
    pairs = [(one.verdict, one.label) for one in judged]
    right = [float(verdict == label) for verdict, label in pairs]
    cases = [one.case for one in judged]
    yes = sum(label for _, label in pairs)
    no = len(pairs) - yes
    wrong_yes = sum(verdict and not label for verdict, label in pairs)
    wrong_no = sum(label and not verdict for verdict, label in pairs)
    kappa = _kappa(judged, seed)
    most = max((len(one.votes) for one in judged), default=0)
    flips = [one for one in judged if len(one.votes) == most and most > 1]
    voted = _voted(flips, most)
    return JudgeReport(
        question=question,
        results=len(judged),
        cases=len(set(cases)),
        accuracy=statistics.mean_estimate(right, cases, is_repeated=True),
        usual=max(yes, no) / len(pairs),
        usual_label=yes >= no,
        kappa=kappa,
        words=kappa_words(kappa),
        wrong_yes=(wrong_yes, no, statistics.wilson(wrong_yes, no) if no else (0.0, 1.0)),
        wrong_no=(wrong_no, yes, statistics.wilson(wrong_no, yes) if yes else (0.0, 1.0)),
        unclear=sum(one.is_unclear for one in judged),
        not_unanimous=voted["differing"] / len(flips) if voted else None,
        votes={n: _with_votes(flips, n) for n in range(1, most + 1, 2)} if flips else {},
        agreed=round(sum(right)),
        verdict_votes=verdict_votes,
        voted=voted,
    )


def _voted(judged: Sequence[Judged], votes: int) -> dict[str, int] | None:
    if not judged:
        return None
    cases, differing = {one.case for one in judged}, [len(set(one.votes)) > 1 for one in judged]
    made = {"results": len(judged), "cases": len(cases), "votes": votes}
    return made | {"differing": sum(differing)}


def _kappa(judged: Sequence[Judged], seed: str) -> Estimate | None:
    value = statistics.kappa([(one.verdict, one.label) for one in judged])
    if value is None:
        return None
    by_case: dict[str, list[tuple[bool, bool]]] = {}
    for one in judged:
        by_case.setdefault(one.case, []).append((one.verdict, one.label))
    units = list(by_case.values())
    if len(units) < statistics.UNITS_MIN:
        return Estimate(value)
    draw = random.Random(f"kappa {seed}")
    drawn = (draw.choices(units, k=len(units)) for _ in range(RESAMPLES))
    found = (statistics.kappa([pair for unit in each for pair in unit]) for each in drawn)
    ordered = sorted(each for each in found if each is not None)
    return (
        Estimate(value, *statistics.expanded(ordered, len(units))) if ordered else Estimate(value)
    )


def kappa_words(kappa: Estimate | None) -> str:
    """The word for a kappa, by its lower limit."""
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
    """Accuracy and calls with fewer votes: the mean over all orders of the votes that were cast."""
    accuracy = calls = 0.0
    for one in judged:
        yes = sum(vote is True for vote in one.votes)
        no = sum(vote is False for vote in one.votes)
        says, took = _expected(yes, no, len(one.votes) - yes - no, wanted)
        accuracy += says if one.label else 1 - says
        calls += took
    return accuracy / len(judged), calls / len(judged)


def _expected(yes: int, no: int, unclear: int, wanted: int) -> tuple[float, float]:
    """How likely so many votes say yes, and how many are asked, with the engine's early end.

    Votes are drawn without putting back (hypergeometric), step by step.
    """
    states = {(0, 0, 0): 1.0}
    says = calls = 0.0
    for number in range(1, wanted + 1):
        later: dict[tuple[int, int, int], float] = {}
        for (y, n, u), weight in states.items():
            left = yes + no + unclear - y - n - u
            calls += weight
            for at, rest in enumerate((yes - y, no - n, unclear - u)):
                if rest <= 0 or left <= 0:
                    continue
                drawn = (y + (at == 0), n + (at == 1), u + (at == 2))
                share = weight * rest / left
                if drawn[0] * 2 > wanted:
                    says += share
                elif drawn[1] * 2 < wanted and number < wanted:
                    later[drawn] = later.get(drawn, 0.0) + share
        states = later
    return min(1.0, says), calls if math.isfinite(calls) else 0.0
