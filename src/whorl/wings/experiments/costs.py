"""What trials and their gradings may cost: the bound of each, and what is left of a budget.

What is under way has a limit of its own, and that much is reserved for it: so the sum of what is
spent and reserved never exceeds the budget, whatever the calls turn out to cost.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError, UsageError
from whorl.lazily import dataclass
from whorl.services.files import forecasting
from whorl.services.files.preflight import find_loop, loops_of
from whorl.wings.experiments.trials import doubt_usd, is_short
from whorl.wings.experiments.variants import with_loop

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whorl.ir import Workflow
    from whorl.providers.task import Request
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.trials import Outcome
    from whorl.wings.experiments.variants import Prepared

# Sums of dollars are exact to this.
NOTHING = 1e-9
# What lacks money gets so much more at least.
_LEAST_USD = 0.01


@dataclass(frozen=True, slots=True)
class Bound:
    """The most calls and dollars of a run; None: nothing bounds the calls.

    What has no price costs nothing here. `is_limit`: it cannot cost more. Else it is an estimate,
    since prompts or answers may be longer: `longest_usd` is what the longest answer costs, and is
    infinite where no price is known at all.
    """

    calls: int | None = 0
    cost_usd: float = 0.0
    is_limit: bool = True
    longest_usd: float = 0.0

    def __add__(self, other: Bound) -> Bound:
        calls = None if self.calls is None or other.calls is None else self.calls + other.calls
        is_limit = self.is_limit and other.is_limit
        longest_usd = max(self.longest_usd, other.longest_usd)
        return Bound(calls, self.cost_usd + other.cost_usd, is_limit, longest_usd)

    def times(self, count: int) -> Bound:
        calls = None if self.calls is None else self.calls * count
        return replace(self, calls=calls, cost_usd=self.cost_usd * count)

    @property
    def reserve_usd(self) -> float:
        """What it may spend, if so much is left when it begins."""
        return self.cost_usd + self.longest_usd

    def of(self, row: RunRow | None, *, is_short: bool = False, most_usd: float = inf) -> Bound:
        """What is left of it for a run, which may have begun.

        That is what the limit of the run leaves, where it has one; if it lacks money, it gets as
        much again as it has had, within what its files let it spend.
        """
        if row is None:
            return self
        if row.budget_usd is None:
            return replace(self, cost_usd=max(0.0, self.cost_usd - row.cost_usd))
        left_usd = max(0.0, row.budget_usd - row.cost_usd)
        if is_short:
            more_usd = max(row.budget_usd, self.cost_usd, _LEAST_USD)
            if self.longest_usd < inf:
                more_usd = max(more_usd, self.reserve_usd)
            left_usd = min(left_usd + more_usd, most_usd)
        return replace(self, cost_usd=left_usd, longest_usd=0.0)


class Bounds:
    """What each trial of a variant, and each grading, may come to."""

    def __init__(
        self,
        experiment: Experiment,
        prepared: Mapping[str, Prepared],
        graders: Mapping[str, Workflow],
        providers: Any,
    ) -> None:
        own_usd = experiment.trial_budget
        explored = {name: _explored(experiment, one) for name, one in prepared.items()}
        self.trials = {n: bound_of(flow, providers, own_usd) for n, flow in explored.items()}
        self.gradings = {name: bound_of(flow, providers) for name, flow in graders.items()}
        each = sum(self.gradings.values(), Bound())
        # All gradings of a trial that has not ended yet.
        self.graded = {n: each.times(_results(experiment, flow)) for n, flow in explored.items()}
        # What nobody knows the price of is in no bound.
        workflows = [*explored.values(), *graders.values()]
        found = (forecasting.unpriced_models(workflow, providers) for workflow in workflows)
        self.unpriced = sorted({model for models in found for model in models})

    def trial(self, store: SqliteStore, outcome: Outcome, row: RunRow | None) -> Bound:
        """What a trial may still come to, with all its gradings."""
        trial, most_usd = outcome.trial, inf
        if row is not None and trial.limit_usd is not None:
            most_usd = trial.limit_usd + doubt_usd(store, row) - row.cost_usd
        own = self.trials[trial.variant].of(row, is_short=outcome.is_short, most_usd=most_usd)
        return own + self.graded[trial.variant]

    def grading(self, store: SqliteStore, grader: str, row: RunRow | None) -> Bound:
        lacks_money = row is not None and is_short(store, row)
        return self.gradings[grader].of(row, is_short=lacks_money)


def _explored(experiment: Experiment, one: Prepared) -> Workflow:
    """The workflow of a variant with the most iterations that its loops may have."""
    workflow = one.workflow
    for name, most in experiment.explore.items():
        loop = find_loop(workflow, name)
        if isinstance(loop.limits.iterations, int) and most > loop.limits.iterations:
            longer = replace(loop, limits=replace(loop.limits, iterations=most))
            workflow = with_loop(workflow, loop, longer)
    return workflow


def _results(experiment: Experiment, workflow: Workflow) -> int:
    """How many results of a trial are graded at most: what it returns, and iterations."""
    explore = experiment.explore
    if not explore or experiment.grade_iterations == "returned":
        return 1
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
    if found.bound_usd is not None:
        return Bound(found.calls, found.bound_usd)
    asked = [request for request, _ in forecasting.asked_in(workflow)]
    cost_usd, longest_usd = found.cost_usd or 0.0, max(_longest(asked, providers), default=0.0)
    if asked and not cost_usd and not longest_usd:
        longest_usd = inf
    return Bound(found.calls, cost_usd, is_limit=not asked, longest_usd=longest_usd)


def _longest(asked: Sequence[Request], providers: Any) -> Iterator[float]:
    """What the longest answer to each call costs whose length is open."""
    for request in asked:
        with suppress(ProviderError, UsageError):
            cap = providers.kind(request.kind).estimate(request).cap
            if cap is not None:
                yield cap.most * (cap.usd_per_token or 0.0)


@dataclass(slots=True)
class Budget:
    """What may be spent in all (None: nothing limits it), is spent, and is reserved by trial."""

    most_usd: float | None = None
    spent_usd: float = 0.0
    reserved: dict[str, float] = field(default_factory=dict)

    @property
    def left_usd(self) -> float:
        """What is neither spent nor reserved."""
        if self.most_usd is None:
            return inf
        return max(0.0, self.most_usd - self.spent_usd - sum(self.reserved.values()))

    def fits(self, amount_usd: float) -> bool:
        return amount_usd <= self.left_usd + NOTHING

    def reserve(self, trial: str, amount_usd: float) -> None:
        """From now on this trial takes so much, or all that is left."""
        self.reserved[trial] = min(amount_usd, self.left_usd)

    def spend(self, trial: str, amount_usd: float) -> None:
        """So much of what is reserved for a trial is spent; it may be more than was reserved."""
        self.spent_usd += amount_usd
        self.reserved[trial] = max(0.0, self.reserved.get(trial, 0.0) - amount_usd)
