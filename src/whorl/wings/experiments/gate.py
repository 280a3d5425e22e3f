"""The gate: whether a variant is worse than a saved report, for CI."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, plural
from whorl.lazily import dataclass
from whorl.wings.experiments import statistics
from whorl.wings.experiments.report import difference_seed, units_of
from whorl.wings.experiments.trials import grader_digest

if TYPE_CHECKING:
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.report import Report
    from whorl.wings.experiments.statistics import Estimate

_NAMED = 5


@dataclass(slots=True)
class Gate:
    """The decision on a change: `pass`, `fail` or `undecided`, with the reasons."""

    verdict: str
    reasons: list[str]
    difference: Estimate | None = None
    cost_ratio: Estimate | None = None
    cases: int = 0
    margin: float = 0.0
    # The confidence level of the intervals.
    level: float = statistics.LEVEL

    @property
    def words(self) -> str:
        return f"{self.verdict}, over {plural(self.cases, 'case')}"

    def document(self) -> dict[str, Any]:
        return statistics.fields_document(self)


def margin_of(experiment: Experiment) -> float:
    """Returns the difference that the gate allows: its own margin, or that of the file."""
    return float(experiment.gate.get("margin", experiment.margin))


def saved(report: Report, experiment: Experiment) -> dict[str, Any]:
    """Returns what a later gate compares with: the grader, and grades and costs by case."""
    return {
        "baseline": 1,
        "experiment": report.experiment,
        "grader": grader_digest(experiment.graders[report.grader]),
        "variant": report.baseline,
        "cases": _by_case(report, report.baseline),
    }


def _by_case(report: Report, variant: str) -> dict[str, dict[str, Any]]:
    cases: dict[str, dict[str, Any]] = {}
    for row in (row for row in report.rows if row["variant"] == variant):
        empty = {"grades": [], "costs": [], "runs": [], "failed": 0, "in_doubt": 0}
        kept = cases.setdefault(row["case"], empty)
        kept["grades"].append(row["grades"].get(report.grader))
        kept["costs"].append(row["cost_usd"])
        kept["runs"].append(row["run"])
        kept["failed"] += row["status"] != "succeeded"
        kept["in_doubt"] += row["in_doubt"]
    return cases


def check_saved(value: Any) -> dict[str, Any]:
    """Refuses a value that `saved` did not make."""
    if not isinstance(value, dict) or value.get("baseline") != 1:
        advice = "make one with `whorl experiment report FILE --save baseline.json`"
        raise UsageError("this is not a saved report", help=advice, code="W007")
    return value


def gate_of(report: Report, experiment: Experiment, variant: str, against: dict[str, Any]) -> Gate:
    """Compares a variant with a saved report, or with saved results of something else."""
    own, before = _by_case(report, variant), check_saved(against)["cases"]
    shared = [case for case in own if case in before]
    new = [case for case in shared if own[case]["failed"] > before[case]["failed"]]
    grades = {case: (_grade(own[case]), _grade(before[case])) for case in shared}
    pairs = {c: one - other for c, (one, other) in grades.items() if None not in (one, other)}  # type: ignore[operator]
    if not pairs:
        failed = sum(bool(kept["failed"]) for kept in own.values())
        reasons = ["no case has a grade in both, so nothing was compared"]
        words = f"{failed} of {len(own)} cases failed, and failures are left out"
        reasons += [words] if failed else []
        return Gate("fail", [*reasons, *([_new_failures(new)] if new else [])])
    # As in a report of these two. Only the level differs if that report has more variants.
    seed = difference_seed(experiment, variant, against.get("variant", report.baseline))
    differences, units = list(pairs.values()), units_of(experiment, pairs)
    difference = statistics.difference_estimate(differences, units, seed=seed)
    found = Gate("undecided", [], difference, cases=len(pairs), margin=margin_of(experiment))
    costs, earlier = ([_cost(of[case]) for case in pairs] for of in (own, before))
    is_priced = not any(map(math.isnan, (*costs, *earlier)))
    if any(earlier) and is_priced:
        seed, both = f"gate {experiment.name} {variant}", [(costs, earlier)]
        found.cost_ratio = statistics.ratio_estimates(both, units, seed=seed)[0]
    is_same = all(own[case]["runs"] == before[case].get("runs") for case in pairs)
    if is_same and all(own[case]["grades"] == before[case]["grades"] for case in pairs):
        found.verdict, found.reasons = "pass", ["nothing has changed: these are the same runs"]
        return found
    _decide(found, experiment.gate, differences, units, new)
    if is_same:
        found.reasons.append("these are the same runs, graded differently")
    if any(of[case].get("in_doubt") for case in pairs for of in (own, before)):
        found.reasons.append("costs contain the amounts that are reserved for calls in doubt")
    if not is_priced:
        found.reasons.append("costs are not compared: a model has no price")
        # A limit that cannot be checked counts as exceeded.
        if experiment.gate.get("cost") is not None and found.verdict == "pass":
            found.verdict = "undecided"
    return found


def _new_failures(new: list[str]) -> str:
    rest = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
    return f"failed, and did not fail before: {', '.join(new[:_NAMED])}{rest}"


def _grade(kept: dict[str, Any]) -> float | None:
    known = [grade for grade in kept["grades"] if grade is not None]
    return statistics.mean(known) if known else None


def _cost(kept: dict[str, Any]) -> float:
    """Returns the cost of a case, or NaN if one of its models has no price."""
    return math.nan if None in kept["costs"] else statistics.mean(kept["costs"])


def _decide(
    found: Gate,
    options: dict[str, Any],
    pairs: list[float],
    units: list[str] | None,
    new: list[str],
) -> None:
    margin, difference, ratio = found.margin, found.difference, found.cost_ratio
    assert difference is not None
    low, high = difference.low, difference.high
    if high is not None and high < 0 and difference.value < -margin:
        worse = f"the grade is worse by {-difference.value:.2f}"
        found.reasons.append(f"{worse}, the margin is {margin:g}")
    most = options.get("cost", math.inf)
    if ratio is not None and ratio.value > most and ratio.low is not None and ratio.low > 1:
        found.reasons.append(f"it costs {ratio.value:.2f} times as much, and the limit is {most:g}")
    if options.get("failures") == "none" and new:
        found.reasons.append(_new_failures(new))
    if found.reasons:
        found.verdict = "fail"
    elif low is not None and low > -margin:
        words = f"the grade is not worse by more than the margin, {margin:g}"
        found.verdict, found.reasons = "pass", [words]
    else:
        number, unit = (len(set(units)), "group") if units else (len(pairs), "case")
        few = f"{plural(number, unit)} {'is' if number == 1 else 'are'} too few to decide"
        would = would_decide(pairs, units, margin)
        found.reasons = [f"{few} with a margin of {margin:g}; {would}"]


def would_decide(pairs: list[float], units: list[str] | None, margin: float) -> str:
    """Says how many cases would decide, with differences like these, four times of five."""
    totals, sizes = statistics.gather(pairs, units)
    middle, count = statistics.mean(pairs), len(totals)
    apart = [total - size * middle for total, size in zip(totals, sizes, strict=True)]
    error = math.sqrt(math.fsum(each * each for each in apart) / max(1, count - 1))
    degrees, level = max(1, count - 1), 0.5 + statistics.LEVEL / 2
    wide = statistics.t_quantile(level, degrees) + statistics.t_quantile(statistics.POWER, degrees)
    least = max(statistics.UNITS_MIN, count + 1)
    many = max(least, math.ceil((wide * error / margin) ** 2)) if margin else least
    return f"about {many:,}{' groups' if units else ''} would be enough, if they differ like these"


def fallen(report: Report, variant: str, before: dict[str, Any], margin: float) -> dict[str, str]:
    """Returns the cases that fell: they newly fail, or lost more than the margin in grade."""
    own, words = _by_case(report, variant), {}
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
    """Raises UsageError if the baseline has another grader, or none of the cases."""
    own = grader_digest(experiment.graders[experiment.main_grader])
    if before.get("grader", own) != own:
        words = f"{against!r} was graded by another grader than {experiment.name!r} has"
        advice = "give both the same main `grade`, or save the earlier report again with this one"
        raise UsageError(words, help=advice, code="X113")
    if {case.id for case in experiment.cases} & set(before["cases"]):
        return
    words = f"no case of {experiment.name!r} is in {against!r}, so there is nothing to compare"
    advice = f"its cases: {', '.join(list(before['cases'])[:_NAMED])}"
    raise UsageError(words, help=advice, code="X114")
