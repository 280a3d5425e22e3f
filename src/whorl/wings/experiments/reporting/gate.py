"""The gate: whether a variant is worse than what was saved before, for CI."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, plural
from whorl.lazily import dataclass
from whorl.wings.experiments.graders import grader_digest
from whorl.wings.experiments.reporting import statistics
from whorl.wings.experiments.reporting.report import difference_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.reporting.report import Report
    from whorl.wings.experiments.reporting.statistics import Estimate

# The format of saved reports.
FORMAT = 1
_NAMED = 5
# Nobody has more cases.
_UNITS_MAX = 1_000_000


@dataclass(slots=True)
class Gate:
    """Whether a change may go in: `pass`, `fail` or `undecided`, with the reasons."""

    verdict: str
    reasons: list[str]
    difference: Estimate | None = None
    cost_ratio: Estimate | None = None
    cases: int = 0
    margin: float = 0.0
    # At which level the intervals hold.
    level: float = statistics.LEVEL

    @property
    def words(self) -> str:
        cases = "1 case" if self.cases == 1 else f"{self.cases} cases"
        return f"{self.verdict}, over {cases}"


def margin_of(experiment: Experiment) -> float:
    """The difference that the gate lets through: its own margin, or that of the file."""
    return float(experiment.gate.get("margin", experiment.margin))


def saved(report: Report, experiment: Experiment) -> dict[str, Any]:
    """What a later gate compares with: who graded, grades and costs by case, no texts."""
    grader = grader_digest(experiment.graders[report.grader])
    made = {"baseline": FORMAT, "experiment": report.experiment, "grader": grader}
    made["variant"] = report.baseline
    return made | {"cases": _by_case(report)}


def _by_case(report: Report) -> dict[str, dict[str, Any]]:
    rows = [row for row in report.rows if row["variant"] == report.baseline]
    cases: dict[str, dict[str, Any]] = {}
    for row in rows:
        empty = {"grades": [], "costs": [], "runs": [], "failed": 0, "in_doubt": 0}
        kept = cases.setdefault(row["case"], empty)
        kept["grades"].append(row["grades"].get(report.grader))
        kept["costs"].append(row["cost_usd"])
        kept["runs"].append(row["run"])
        kept["failed"] += row["status"] != "succeeded"
        kept["in_doubt"] += row["in_doubt"]
    return cases


def check_saved(value: Any) -> dict[str, Any]:
    """Refuses what `saved` has not made."""
    if not isinstance(value, dict) or value.get("baseline") != FORMAT:
        advice = "make one with `whorl experiment report FILE --save baseline.json`"
        raise UsageError("this is not a saved report", help=advice, code="X100")
    return value


def gate_of(report: Report, experiment: Experiment, variant: str, against: dict[str, Any]) -> Gate:
    """Compares a variant with a saved report, or with what was saved so of something else."""
    check_saved(against)
    own = _by_case(_only(report, variant))
    before = against["cases"]
    both = [case for case in own if case in before and _grade(own[case]) is not None]
    both = [case for case in both if _grade(before[case]) is not None]
    options = experiment.gate | {"margin": margin_of(experiment)}
    pairs = [_grade(own[case]) - _grade(before[case]) for case in both]  # type: ignore[operator]
    shared = [case for case in own if case in before]
    new = [case for case in shared if own[case]["failed"] > before[case]["failed"]]
    if not pairs:
        return _ungraded(own, new)
    seed = f"gate {experiment.name} {variant}"
    groups = {case.id: case.group for case in experiment.cases}
    units = [groups[case] for case in both] if experiment.is_grouped else None
    # As in a report of these two; only its level is another one where that has more variants.
    drawn = difference_seed(experiment, variant, against.get("variant", report.baseline))
    difference = statistics.difference_estimate(pairs, units, seed=drawn)
    found = Gate("undecided", [], difference, cases=len(pairs), margin=options["margin"])
    unsure = {case for case in both for of in (own, before) if of[case].get("in_doubt")}
    sure = [case for case in both if case not in unsure]
    costs, earlier = ([_cost(of[case]) for case in sure] for of in (own, before))
    is_priced = not any(map(math.isnan, (*costs, *earlier)))
    if any(earlier) and is_priced:
        grouped = [groups[case] for case in sure] if units else None
        found.cost_ratio = statistics.ratio_estimate(costs, earlier, grouped, seed=seed)
    is_same = all(own[case]["runs"] == before[case].get("runs") for case in both)
    if is_same and all(own[case]["grades"] == before[case]["grades"] for case in both):
        found.verdict, found.reasons = "pass", ["nothing has changed: these are the same runs"]
        return found
    _decide(found, options, pairs, units, new)
    if is_same:
        found.reasons.append("these are the same runs, graded otherwise")
    if unsure:
        words = f"the costs of {plural(len(unsure), 'case')} are not compared"
        _without_cost(found, options, f"{words}: calls of them are in doubt", is_all=not sure)
    if not is_priced:
        _without_cost(found, options, "costs are not compared: a model has no price")
    return found


def _ungraded(own: dict[str, dict[str, Any]], new: list[str]) -> Gate:
    """No case has a grade in both; a gate that compared nothing has let nothing through."""
    reasons = ["no case has a grade in both, so nothing was compared"]
    if failed := sum(bool(kept["failed"]) for kept in own.values()):
        reasons.append(f"{failed} of {len(own)} cases failed, and failures are left out")
    return Gate("fail", [*reasons, *([_new_failures(new)] if new else [])])


def _new_failures(new: list[str]) -> str:
    rest = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
    return f"failed, and did not fail before: {', '.join(new[:_NAMED])}{rest}"


def _only(report: Report, variant: str) -> Report:
    return replace(report, baseline=variant)


def _grade(kept: dict[str, Any]) -> float | None:
    known = [grade for grade in kept["grades"] if grade is not None]
    return statistics.mean(known) if known else None


def _cost(kept: dict[str, Any]) -> float:
    """What a case costs; not a number where a model of it has no price."""
    return math.nan if None in kept["costs"] else statistics.mean(kept["costs"])


def _without_cost(
    found: Gate, options: dict[str, Any], reason: str, *, is_all: bool = True
) -> None:
    """Not all costs are known; a limit of them that nobody can check has not been kept."""
    found.reasons.append(reason)
    if is_all and options.get("cost") is not None and found.verdict == "pass":
        found.verdict = "undecided"


def _decide(
    found: Gate,
    options: dict[str, Any],
    pairs: list[float],
    units: list[str] | None,
    new: list[str],
) -> None:
    margin, difference, ratio = options["margin"], found.difference, found.cost_ratio
    assert difference is not None
    verdict = _verdict(difference, margin)
    if verdict == "fail":
        worse = f"the grade is worse by {-difference.value:.2f}"
        found.reasons.append(f"{worse}, the margin is {margin:g}")
    most = options.get("cost")
    is_dearer = ratio is not None and most is not None and ratio.value > most
    if is_dearer and ratio is not None and ratio.low is not None and ratio.low > 1:
        found.reasons.append(f"it costs {ratio.value:.2f} times as much, at most {most:g} may be")
    if options.get("failures") == "none" and new:
        found.reasons.append(_new_failures(new))
    if found.reasons:
        found.verdict = "fail"
    elif verdict == "pass":
        words = f"the grade is not worse by the margin, {margin:g}"
        found.verdict, found.reasons = "pass", [words]
    else:
        number, unit = (len(set(units)), "group") if units else (len(pairs), "case")
        few = f"{plural(number, unit)} {'does' if number == 1 else 'do'} not decide"
        would = would_decide(pairs, units, margin)
        found.reasons = [f"{few} with a margin of {margin:g}; {would}"]


def _verdict(difference: Estimate, margin: float) -> str:
    """What the grade decides by itself: `pass`, `fail`, or nothing."""
    low, high = difference.low, difference.high
    if high is not None and high < 0 and difference.value < -margin:
        return "fail"
    return "pass" if low is not None and low > -margin else ""


def would_decide(pairs: list[float], units: list[str] | None, margin: float) -> str:
    """How many cases would, by the rule that decides here."""
    wanted = _deciding(pairs, units, lambda found: bool(_verdict(found, margin)))
    if wanted is None:
        return "nor would more cases like these: the difference is about the margin"
    groups = " groups" if units else ""
    return f"about {wanted:,}{groups} would, if their differences are like these"


def _deciding(
    differences: Sequence[float],
    groups: Sequence[str] | None,
    decides: Callable[[Estimate], bool],
) -> int | None:
    """How many units would decide, if their differences are like these; None: no number would."""
    low = max(statistics.UNITS_MIN, len(statistics.gather(differences, groups)) + 1) - 1
    high = low + 1
    while not decides(_with_units(differences, groups, high)):
        low, high = high, 2 * high
        if high > _UNITS_MAX:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = decides(_with_units(differences, groups, middle))
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def _with_units(differences: Sequence[float], groups: Sequence[str] | None, count: int) -> Estimate:
    """The estimate of so many units with differences like these.

    That of the bootstrap is Student's, which it comes close to, with this spread.
    """
    units, middle = statistics.gather(differences, groups), statistics.mean(differences)
    times = count / len(units)
    if statistics.is_yes_or_no(differences, groups):
        better, worse = (times * sum(value == sign for value in differences) for sign in (1, -1))
        return statistics.Estimate(middle, *statistics.agresti_min(better, worse, count))
    squares = times * math.fsum((total - size * middle) ** 2 for total, size in units)
    error = math.sqrt(count / (count - 1) * squares) / (times * len(differences))
    half = statistics.t_quantile(0.5 + statistics.LEVEL / 2, count - 1) * error
    return statistics.Estimate(middle, middle - half, middle + half)


def fallen(report: Report, variant: str, before: dict[str, Any], margin: float) -> dict[str, str]:
    """What fell, by case: it fails and did not, or its grade is lower by more than the margin."""
    own, words = _by_case(_only(report, variant)), {}
    errors = {row["case"]: row["error"] for row in report.rows if row["variant"] == variant}
    for case in [case for case in own if case in before["cases"]]:
        kept = before["cases"][case]
        now, then = _grade(own[case]), _grade(kept)
        if own[case]["failed"] > kept["failed"]:
            words[case] = f"failed: {errors[case] or 'it did not before'}"
        elif now is not None and then is not None and now < then - margin:
            words[case] = f"grade {now:.2f}, before {then:.2f}"
    return words


def check_comparable(experiment: Experiment, before: dict[str, Any], against: str) -> None:
    """Raises UsageError where the baseline has another grader, or none of the cases."""
    own = grader_digest(experiment.graders[experiment.main_grader])
    if before.get("grader", own) != own:
        words = f"{against!r} was graded by another grader than {experiment.name!r} has"
        advice = "give both the same main `grade`, or save the earlier report again with this one"
        raise UsageError(words, help=advice, code="X115")
    if {case.id for case in experiment.cases} & set(before["cases"]):
        return
    cases = list(before["cases"])
    more = ", ..." if len(cases) > _NAMED else ""
    words = f"no case of {experiment.name!r} is in {against!r}, so there is nothing to compare"
    ids = ", ".join(case.id for case in experiment.cases[:_NAMED])
    advice = f"its cases: {', '.join(cases[:_NAMED])}{more}; those of {experiment.name!r}: {ids}"
    raise UsageError(words, help=advice, code="X115")
