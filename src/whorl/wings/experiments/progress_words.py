"""How far an experiment is, and what it may cost, as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import plural, safe
from whorl.interfaces.formatting import dollars, dollars_at_most, line, seconds

if TYPE_CHECKING:
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.running.progress import Forecast, Progress

# How wide the bar of a variant is.
_BAR = 20


def forecast_line(experiment: Experiment, forecast: Forecast, progress: Progress) -> str:
    parts = [
        f"{experiment.name}: {plural(len(experiment.cases), 'case')} x "
        f"{plural(len(experiment.variants), 'variant')}: {plural(forecast.trials, 'trial')}"
    ]
    explored = ", ".join(f"{name} up to {most}" for name, most in experiment.explore.items())
    parts += [f"explore {explored}"] if explored else []
    parts += [f"{forecast.left} to run"] if forecast.left != forecast.trials else []
    parts += [f"{plural(forecast.gradings, 'result')} to grade"] if forecast.gradings else []
    parts += [f"at most {plural(forecast.calls, 'call')}"] if forecast.calls is not None else []
    most = "at most" if forecast.is_limit else "at most about"
    parts += [f"{most} {dollars_at_most(forecast.cost_usd)}"] if forecast.cost_usd else []
    if (budget := progress.budget_usd) is not None:
        left = dollars(max(0.0, budget - progress.spent_usd))
        parts.append(f"budget {dollars(budget)}")
        parts += [f"of which {left} is left"] if progress.spent_usd else []
    return ", ".join(parts)


def unpriced_lines(forecast: Forecast) -> list[str]:
    """Whose costs are in no number, before anything is paid for."""
    if not forecast.unpriced or not (forecast.left or forecast.gradings):
        return []
    models = ", ".join(map(safe, forecast.unpriced))
    words = f"no price is known for {models}, so their cost is not counted, and no budget limits it"
    return [f"  {words}: set [prices.MODEL] in whorl.toml"]


def progress_line(progress: Progress) -> str:
    spent = dollars(progress.spent_usd)
    budget = f" of {dollars(progress.budget_usd)}" if progress.budget_usd is not None else ""
    graded = f", {progress.graded} graded" if progress.graded else ""
    people = f", {progress.people} wait for a person" if progress.people else ""
    trials = f"{progress.done} of {plural(progress.trials, 'trial')}"
    return f"  {trials}{graded}{people}, {spent}{budget}"


def progress_lines(progress: Progress, width: int, elapsed_s: float) -> list[str]:
    """A bar for each variant, and how far all of it is; each fits into the width."""
    each = progress.trials // max(1, len(progress.variants))
    name_width = min(24, max(map(len, progress.variants), default=0))
    rows = []
    for name, done in progress.variants.items():
        full = _BAR * done // max(1, each)
        bar = "█" * full + "░" * (_BAR - full)
        running = progress.under_way.get(name, 0)
        cells = [f"{line(name, name_width):{name_width}}", f"{bar} {done}/{each}"]
        cells += [dollars(progress.costs.get(name, 0.0))]
        rows.append("   ".join([*cells, f"{running} running"] if running else cells))
    last = progress_line(progress).strip()
    if progress.done < progress.trials:
        if progress.expected_usd:
            last += f", about {dollars(progress.expected_usd)} in all"
        if (made := progress.done - progress.before) > 0:
            left = elapsed_s / made * (progress.trials - progress.done)
            last += f", ~{seconds(left)} left"
    return [f"  {row}"[: width - 1] for row in (*rows, last)]


def expected_line(progress: Progress) -> str:
    """What all of it will cost, once a whole case is done."""
    case = plural(progress.whole, "case")
    return f"  after {case}: about {dollars(progress.expected_usd or 0.0)} in all"
