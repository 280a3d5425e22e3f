"""The gate: whether a variant is worse than what was saved before, for CI."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.services.experiments.reporting import figures

if TYPE_CHECKING:
    from whorl.services.experiments.document import Experiment
    from whorl.services.experiments.reporting.figures import Estimate
    from whorl.services.experiments.reporting.report import Report

# The format of saved reports.
FORMAT = 1
MARGIN = 0.05
_NAMED = 5


@dataclass(slots=True)
class Gate:
    """Whether a change may go in: `pass`, `fail` or `undecided`, with the reasons."""

    verdict: str
    reasons: list[str]
    difference: Estimate | None = None
    cost_ratio: Estimate | None = None
    cases: int = 0


def saved(report: Report) -> dict[str, Any]:
    """What a later gate compares with: grades and costs by case, no texts."""
    rows = [row for row in report.rows if row["variant"] == report.baseline]
    cases: dict[str, dict[str, Any]] = {}
    for row in rows:
        kept = cases.setdefault(row["case"], {"grades": [], "costs": [], "runs": [], "failed": 0})
        kept["grades"].append(row["grades"].get(report.grader))
        kept["costs"].append(row["cost_usd"])
        kept["runs"].append(row["run"])
        kept["failed"] += row["status"] != "succeeded"
    return {"baseline": FORMAT, "experiment": report.experiment, "cases": cases}


def check_saved(value: Any) -> dict[str, Any]:
    """Refuses what `saved` has not made."""
    if not isinstance(value, dict) or value.get("baseline") != FORMAT:
        advice = "make one with `whorl experiment report FILE --save baseline.json`"
        raise UsageError("this is not a saved report", help=advice, code="X100")
    return value


def gate_of(report: Report, experiment: Experiment, variant: str, against: dict[str, Any]) -> Gate:
    """Compares a variant with a saved report, or with what was saved so of something else."""
    check_saved(against)
    own = saved(_only(report, variant))["cases"]
    before = against["cases"]
    both = [case for case in own if case in before and _grade(own[case]) is not None]
    both = [case for case in both if _grade(before[case]) is not None]
    options = {"margin": MARGIN} | experiment.gate
    pairs = [_grade(own[case]) - _grade(before[case]) for case in both]  # type: ignore[operator]
    shared = [case for case in own if case in before]
    new = [case for case in shared if own[case]["failed"] > before[case]["failed"]]
    if not pairs:
        return _ungraded(options, own, new)
    seed = f"gate {experiment.name} {variant}"
    found = Gate("undecided", [], figures.difference_estimate(pairs, seed=seed), cases=len(pairs))
    costs = [figures.mean(own[case]["costs"]) for case in both]
    earlier = [figures.mean(before[case]["costs"]) for case in both]
    if any(earlier):
        found.cost_ratio = figures.ratio_estimate(costs, earlier, seed=seed)
    if all(own[case]["runs"] == before[case].get("runs") for case in both):
        found.verdict, found.reasons = "pass", ["nothing has changed: these are the same runs"]
        return found
    _decide(found, options, pairs, new)
    return found


def _ungraded(options: dict[str, Any], own: dict[str, dict[str, Any]], new: list[str]) -> Gate:
    """No case has a grade in both, so that nothing can be compared."""
    reasons = ["no case has a grade in both"]
    if failed := sum(bool(kept["failed"]) for kept in own.values()):
        reasons.append(f"{failed} of {len(own)} cases failed, and failures are left out")
    if options.get("failures") == "none" and new:
        return Gate("fail", [*reasons, _new_failures(new)])
    return Gate("undecided", reasons)


def _new_failures(new: list[str]) -> str:
    rest = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
    return f"failed, and did not fail before: {', '.join(new[:_NAMED])}{rest}"


def _only(report: Report, variant: str) -> Report:
    return replace(report, baseline=variant)


def _grade(kept: dict[str, Any]) -> float | None:
    known = [grade for grade in kept["grades"] if grade is not None]
    return figures.mean(known) if known else None


def _decide(found: Gate, options: dict[str, Any], pairs: list[float], new: list[str]) -> None:
    margin, difference, ratio = options["margin"], found.difference, found.cost_ratio
    assert difference is not None
    if difference.high is not None and difference.high < 0 and difference.value < -margin:
        found.reasons.append(f"the grade is worse by {-difference.value:.2f}")
    most = options.get("cost")
    is_dearer = ratio is not None and most is not None and ratio.value > most
    if is_dearer and ratio is not None and ratio.low is not None and ratio.low > 1:
        found.reasons.append(f"it costs {ratio.value:.2f} times as much, at most {most:g} may be")
    if options.get("failures") == "none" and new:
        found.reasons.append(_new_failures(new))
    if found.reasons:
        found.verdict = "fail"
    elif difference.low is not None and difference.low > -margin:
        found.verdict, found.reasons = "pass", ["the grade is not worse by the margin"]
    else:
        found.reasons = [f"{len(pairs)} cases do not decide; {_would_decide(pairs, margin)}"]


def _would_decide(pairs: list[float], margin: float) -> str:
    """How many cases would; where that many are there, the difference lies close to a limit."""
    mean = figures.mean(pairs)
    to_limit = margin + mean if mean > -margin else -mean
    for distance in (margin, to_limit):
        wanted = figures.needed(pairs, distance)
        if wanted > len(pairs):
            return f"about {wanted:,} would"
    return "the difference is close to a limit, and only more cases can tell"
