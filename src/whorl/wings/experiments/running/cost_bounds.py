"""What trials and their gradings may do and cost at most: budgets reserve that much for them."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError, UsageError
from whorl.lazily import dataclass
from whorl.providers.registry import Providers
from whorl.services.files import forecasting
from whorl.services.files.preflight import find_loop, loops_of
from whorl.wings.experiments.graders import grading_workflow
from whorl.wings.experiments.results import Study
from whorl.wings.experiments.running.budget import NOTHING, CostHistory
from whorl.wings.experiments.running.trial_runs import to_ask_again
from whorl.wings.experiments.trials import is_grading, is_short
from whorl.wings.experiments.variants import with_loop

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whorl.ir import Workflow
    from whorl.providers.settings import Settings
    from whorl.providers.task import Estimate
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.graders import Graded
    from whorl.wings.experiments.reporting.notes import Commands
    from whorl.wings.experiments.trials import Outcome
    from whorl.wings.experiments.variants import Prepared


@dataclass(frozen=True, slots=True)
class Bound:
    """The most calls and dollars; None: nothing bounds the calls.

    What has no price costs nothing here. `is_limit`: it cannot cost more; else it is an estimate,
    since prompts or answers may be longer. `call_usd` is reserved for the dearest of the calls.
    """

    calls: int | None = 0
    cost_usd: float = 0.0
    is_limit: bool = True
    call_usd: float = 0.0

    def __add__(self, other: Bound) -> Bound:
        calls = None if self.calls is None or other.calls is None else self.calls + other.calls
        is_limit = self.is_limit and other.is_limit
        call_usd = max(self.call_usd, other.call_usd)
        return Bound(calls, self.cost_usd + other.cost_usd, is_limit, call_usd)

    def times(self, count: int) -> Bound:
        if not count:
            return Bound()
        calls = None if self.calls is None else self.calls * count
        return replace(self, calls=calls, cost_usd=self.cost_usd * count)

    def needed_usd(self, seen_usd: float = 0.0) -> float:
        """What has to be left for it to begin, where others of it have cost so much on average.

        That can be far less than the most that it may cost. 0: none has ended.
        """
        if not seen_usd:
            return self.cost_usd
        return min(max(self.cost_usd, seen_usd), 2 * seen_usd + self.call_usd)

    def about_usd(
        self, seen_usd: float, spent_usd: float = 0.0, *, is_short: bool = False
    ) -> float:
        """What is still to come, where others have cost so much on average, and this so much.

        Where it is no limit, it may be too low: one that has spent more, or `is_short` of money,
        takes as much again.
        """
        if self.is_limit:
            return max(0.0, self.cost_usd - spent_usd)
        whole_usd = max(self.cost_usd, seen_usd)
        if is_short or spent_usd >= whole_usd:
            return max(whole_usd, spent_usd)
        return whole_usd - spent_usd

    def without(self, spent_usd: float) -> Bound:
        """What is left of it for something that was begun."""
        return replace(self, cost_usd=max(0.0, self.cost_usd - spent_usd))


class Bounds:
    """What each trial of a variant, and each grading, may come to."""

    def __init__(
        self,
        experiment: Experiment,
        prepared: Mapping[str, Prepared],
        graders: Mapping[str, Workflow],
        providers: Any,
    ) -> None:
        self._experiment = experiment
        budget = experiment.trial_budget
        self.trials = {
            n: bound_of(self._explored(p), providers, budget) for n, p in prepared.items()
        }
        self.gradings = {name: bound_of(workflow, providers) for name, workflow in graders.items()}
        # What nobody knows the price of is in no bound.
        workflows = [*(one.workflow for one in prepared.values()), *graders.values()]
        found = (forecasting.unpriced_models(workflow, providers) for workflow in workflows)
        self.unpriced = sorted({model for models in found for model in models})
        self._longest = {n: longest_usd(p.workflow, providers) for n, p in prepared.items()}
        self._longest_grading = {n: longest_usd(flow, providers) for n, flow in graders.items()}
        self.seen_trials = {name: CostHistory() for name in prepared}
        self.seen_gradings = {name: CostHistory() for name in graders}
        each = sum(self.gradings.values(), Bound())
        self._counts = {name: self._results(one) for name, one in prepared.items()}
        self._graded = {name: each.times(count) for name, count in self._counts.items()}

    def whole(self, variant: str) -> Bound:
        """A trial with all its gradings."""
        return self.trials[variant] + self._graded[variant]

    def graded(self, variant: str) -> Bound:
        """All gradings of a trial that has not ended yet."""
        return self._graded[variant]

    def see_grading(self, row: RunRow) -> None:
        """Counts what a grading has cost; another name of a grader does not make it another one."""
        if seen := self.seen_gradings.get(row.name.removeprefix("grade-")):
            seen.add(row.cost_usd)

    def graded_usd(self, variant: str) -> float:
        """What has to be left for the gradings of a trial."""
        seen = {name: each.mean_usd() for name, each in self.seen_gradings.items()}
        each_usd = (bound.needed_usd(seen[name]) for name, bound in self.gradings.items())
        return sum(each_usd) * self._counts[variant]

    def about_usd(self, variant: str, spent_usd: float = 0.0, *, is_short: bool = False) -> float:
        """What is still to come of a trial and its gradings, by what others have cost."""
        seen_usd = self.seen_trials[variant].mean_usd()
        own_usd = self.trials[variant].about_usd(seen_usd, spent_usd, is_short=is_short)
        graded = (self.grading_usd(name) for name in self.gradings)
        return own_usd + sum(graded) * self._counts[variant]

    def grading_usd(self, name: str) -> float:
        """What a grading comes to, by what others have cost."""
        return self.gradings[name].about_usd(self.seen_gradings[name].mean_usd())

    def least_usd(self, variant: str) -> float:
        """What has to be left for a trial to begin; a budget of its own is reserved as it is."""
        is_own = self._experiment.trial_budget is not None
        seen_usd = 0.0 if is_own else self.seen_trials[variant].mean_usd()
        return self.trials[variant].needed_usd(seen_usd) + self.graded_usd(variant)

    def wanted_usd(self, variant: str) -> float:
        """What a trial and its gradings should be able to spend, so that none of them is cut.

        That is twice what others have cost; before there are any, one answer may be as long as
        answers get.
        """
        bound_usd = self.trials[variant].cost_usd + self._longest[variant]
        own_usd = 2 * self.seen_trials[variant].mean_usd(bound_usd / 2)
        count = self._counts[variant]
        for name, bound in self.gradings.items():
            usual_usd = bound.cost_usd * count + self._longest_grading[name]
            own_usd += 2 * self.seen_gradings[name].mean_usd(usual_usd / count / 2) * count
        return max(self.least_usd(variant), own_usd)

    def _explored(self, one: Prepared) -> Workflow:
        """The workflow of a variant with the most iterations that its loops may have."""
        workflow = one.workflow
        for name, most in self._experiment.explore.items():
            loop = find_loop(workflow, name)
            if isinstance(loop.limits.iterations, int) and most > loop.limits.iterations:
                longer = replace(loop, limits=replace(loop.limits, iterations=most))
                workflow = with_loop(workflow, loop, longer)
        return workflow

    def _results(self, one: Prepared) -> int:
        """How many results of a trial are graded at most: what it returns, and iterations."""
        explore = self._experiment.explore
        if not explore or self._experiment.grade_iterations == "returned":
            return 1
        workflow = self._explored(one)
        limits = [find_loop(workflow, name).limits.iterations for name in explore]
        # Whose limit a value decides has at least as many as are explored.
        most = sum(
            limit if isinstance(limit, int) else explored
            for limit, explored in zip(limits, explore.values(), strict=True)
        )
        # The iteration that the only loop returns is one of them.
        return most if len(list(loops_of(workflow))) == 1 else 1 + most


def bound_of(workflow: Workflow, providers: Any, budget: float | None = None) -> Bound:
    """What a run of a workflow may come to, with such a budget."""
    found = forecasting.forecast(workflow, providers)
    if budget is not None:
        return Bound(found.calls, budget)
    asked = _estimates(workflow, providers)
    call_usd = max((one.cost_usd or 0.0 for one in asked), default=0.0)
    if found.bound_usd is not None:
        return Bound(found.calls, found.bound_usd, call_usd=call_usd)
    is_free = not any(True for _ in forecasting.asked_in(workflow))
    return Bound(found.calls, found.cost_usd or 0.0, is_limit=is_free, call_usd=call_usd)


def longest_usd(workflow: Workflow, providers: Any) -> float:
    """What the longest answer costs that a model may give in a run of a workflow."""
    caps = [one.cap for one in _estimates(workflow, providers) if one.cap is not None]
    return max((cap.most * (cap.usd_per_token or 0.0) for cap in caps), default=0.0)


def _estimates(workflow: Workflow, providers: Any) -> Iterator[Estimate]:
    """What each call of a run is expected to use, as far as that is known."""
    for request, _ in forecasting.asked_in(workflow):
        with suppress(ProviderError, UsageError):
            yield providers.kind(request.kind).estimate(request)


# Which budget lets an experiment go on, by its runs: what is advised wherever one has stopped it.
#
# It is at least what the next run of the experiment asks for before it begins anything.

_STOPPED = ("paused", "failed")
_GRADED = ("succeeded", "waiting")


@dataclass(frozen=True, slots=True)
class Needed:
    """What an experiment has spent, and what has to be left so that any part of it can begin.

    `is_limited`: its runs had shares of a budget.
    """

    spent_usd: float
    least_usd: float
    is_limited: bool

    def more(self, budget_usd: float | None, needs_usd: float = 0.0) -> float | None:
        """So many dollars more than the file gives are enough; None: what it gives is enough.

        It is twice what the next part takes, or as much again as is spent. A run that was paused
        says what that one `needs_usd`, in all.
        """
        needs_usd = max(needs_usd, self.spent_usd + self.least_usd)
        if budget_usd is not None and needs_usd <= budget_usd + NOTHING:
            return None
        if budget_usd is None and not self.is_limited:
            return None
        wanted_usd = needs_usd + max(self.spent_usd, needs_usd - self.spent_usd)
        return math.ceil(100 * (wanted_usd - (budget_usd or 0.0))) / 100


class AdvisedStudy(Study):
    """An experiment whose commands have a larger budget where the one that it has is too small."""

    @property
    def commands(self) -> Commands:
        budget_usd = self.experiment.budget
        return self._commands.with_budget(self.needed().more(budget_usd), budget_usd)

    def needed(self) -> Needed:
        """Which budget lets it go on."""
        bounds = bounds_of(self.project, self.experiment, self.prepared, self._settings)
        return needed(bounds, self._flat(), self.rows, self.store)


def bounds_of(
    project: Project,
    experiment: Experiment,
    prepared: Mapping[str, Prepared],
    settings: Settings,
) -> Bounds:
    """What trials and gradings may come to; functions that grade cost nothing."""
    graders = {
        name: grading_workflow(project, experiment, grader)
        for name, grader in experiment.graders.items()
        if not grader.is_free and grader.function is None
    }
    return Bounds(experiment, prepared, graders, Providers(settings))


def needed(
    bounds: Bounds, flat: Sequence[Graded], rows: Mapping[str, RunRow], store: SqliteStore
) -> Needed:
    """What trials and gradings that are missing take at least."""
    outcomes = [one.outcome for one in flat]
    for outcome in outcomes:
        if outcome.is_done:
            bounds.seen_trials[outcome.trial.variant].add(rows[outcome.trial.key].cost_usd)
    for key, row in rows.items():
        if is_grading(key) and row.status in _GRADED:
            bounds.see_grading(row)
    open_trials = [outcome for outcome in outcomes if not outcome.is_done]
    least_usd = [_trial_usd(bounds, one, rows.get(one.trial.key)) for one in open_trials]
    # Of an iteration that nobody has graded yet, it is not looked up which one that is.
    seen = bounds.seen_gradings
    least_usd += [b.needed_usd(seen[name].mean_usd()) for name, b in bounds.gradings.items()]
    gradings = [row for key, row in rows.items() if is_grading(key) and row.status in _STOPPED]
    gradings = [row for row in gradings if is_short(store, row)]
    least_usd += [to_ask_again(row) for row in gradings]
    limited = (outcome for outcome in outcomes if _is_limited(outcome, rows))
    return Needed(
        spent_usd=sum(row.cost_usd for row in rows.values()),
        least_usd=max(least_usd, default=0.0),
        is_limited=bool(gradings) or any(True for _ in limited),
    )


def _trial_usd(bounds: Bounds, outcome: Outcome, row: RunRow | None) -> float:
    """What has to be left for a trial to begin, or to go on."""
    least_usd = bounds.least_usd(outcome.trial.variant)
    if row is None or not outcome.is_short:
        return least_usd
    if row.status != "failed":
        return max(row.cost_usd, least_usd)
    return max(to_ask_again(row) + bounds.graded_usd(outcome.trial.variant), least_usd)


def _is_limited(outcome: Outcome, rows: Mapping[str, RunRow]) -> bool:
    """Whether a run may spend less than the files let it: it has a share of a budget."""
    row = rows.get(outcome.trial.key)
    return row is not None and outcome.trial.may_have_more(row)
