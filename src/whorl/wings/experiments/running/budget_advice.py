"""Which budget lets an experiment go on, by its runs: what is advised wherever one has stopped it.

It is at least what the next run of the experiment asks for before it begins anything.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.lazily import dataclass
from whorl.providers.registry import Providers
from whorl.wings.experiments.graders import grading_workflow
from whorl.wings.experiments.results import Study
from whorl.wings.experiments.running.budget import NOTHING
from whorl.wings.experiments.running.cost_bounds import Bounds
from whorl.wings.experiments.running.trial_runs import to_ask_again
from whorl.wings.experiments.trials import is_grading, is_short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.providers.settings import Settings
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.graders import Graded
    from whorl.wings.experiments.reporting.notes import Commands
    from whorl.wings.experiments.trials import Outcome
    from whorl.wings.experiments.variants import Prepared

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
