"""Conducting an experiment: starts, resumes and grades its trials, in parallel, within a budget.

All that is known of it stands in the runs: after a crash the same command goes on where it was, and
what was paid for is not paid for again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.runtimes.start_options import Start
from whorl.services.files import preflight
from whorl.services.files.preflight import loops_of
from whorl.wings.experiments.graders import Collection, grading_workflow
from whorl.wings.experiments.running.budget import NOTHING, Budget, Reserved
from whorl.wings.experiments.running.cost_bounds import Bounds
from whorl.wings.experiments.running.remaining_work import Remaining
from whorl.wings.experiments.running.trial_runs import Runs, all_ended, one_ended, to_ask_again
from whorl.wings.experiments.trials import (
    blocks_of,
    doubt_usd,
    generation_of,
    is_short,
    key_prefix,
    labels_of,
    outcome_of,
    rows_of,
)
from whorl.wings.experiments.variants import asked_again, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunRow
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.running.remaining_work import Forecast, Progress, Work
    from whorl.wings.experiments.trials import Trial
    from whorl.wings.experiments.variants import Prepared


class ExperimentRunner:
    """Brings the runs of one experiment about."""

    def __init__(
        self,
        project: Project,
        driving: Driving,
        providers: Any,
        experiment: Experiment,
        watch: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._project, self._driving, self._providers = project, driving, providers
        self._runtime, self._store = driving.runtime, driving.runtime.store
        self.experiment, self._watch = experiment, watch
        self.prepared: dict[str, Prepared] = prepare(project, experiment)
        loops = [loop for one in self.prepared.values() for _, loop in loops_of(one.workflow)]
        self.remembers = any(loop.memory and loop.memory.across_runs for loop in loops)
        self._graders: dict[str, Workflow] = {
            name: grading_workflow(project, experiment, grader)
            for name, grader in experiment.graders.items()
            if not grader.is_free
        }
        self._check_permitted()
        self._bounds = Bounds(experiment, self.prepared, self._graders, providers)
        self.is_stopped = False
        self._gradings: dict[str, asyncio.Task[None]] = {}
        # Trials that their limits have stopped, though the files let them spend more.
        self._short: list[Trial] = []

    def _check_permitted(self) -> None:
        workflows = [one.workflow for one in self.prepared.values()] + [*self._graders.values()]
        for workflow in workflows:
            start, _ = preflight.permitted(workflow, self._providers, Start())
            if start.refused is not None:
                raise UsageError(str(start.refused["message"]), code=str(start.refused["code"]))

    def stop(self) -> None:
        """Begins nothing more; what is under way goes on to its end."""
        self.is_stopped = True

    @property
    def is_ending(self) -> bool:
        return self.is_stopped or self._driving.is_closing

    def open(
        self, *, fresh: bool = False, budget: float | None = None, generation: int = 0
    ) -> Forecast:
        """Looks at what is there already; gives what may come."""
        experiment = self.experiment
        newest = generation_of(self._store, experiment.name)
        self.generation = generation or max(1, newest + fresh)
        settings = self._providers.settings
        self.blocks = blocks_of(experiment, self.prepared, settings, self.generation)
        self.rows: dict[str, RunRow] = rows_of(self._store, experiment.name, self.generation)
        collection = Collection(self._store, experiment, self.rows, self.generation)
        remaining = Remaining(collection, self.prepared, self._bounds, self.rows, self.blocks)
        self._remaining, self.progress = remaining, remaining.progress
        self.progress.budget_usd = experiment.budget if budget is None else budget
        self._budget = Budget(self.progress.budget_usd, self.progress.spent_usd)
        self._runs = Runs(self._driving, self.rows, self._budget, self)
        self._ungraded: list[Trial] = []
        return remaining.forecast()

    async def run(self) -> Progress:
        """Starts and resumes what is missing; ends early where the budget does not allow more."""
        running: set[asyncio.Task[None]] = set()
        if self.progress.done:
            self._watch(self.progress)
        try:
            await self._begin(self._waiting(), running)
            await all_ended(running)
            await self._go_on_with_short()
            await self._grade_paused()
            return self.progress
        except asyncio.CancelledError:
            # What is under way stays where it is, and goes on when it is asked for again.
            self.stop()
            self._runtime.stop()
            raise
        finally:
            await all_ended(running)

    def _waiting(self) -> list[Trial]:
        """The trials that something is missing of: those first that were begun."""
        missing = [trial for trial in self._remaining.trials if trial.key in self._remaining.work]
        return sorted(missing, key=lambda trial: trial.key not in self.rows)

    async def _begin(self, waiting: list[Trial], running: set[asyncio.Task[None]]) -> None:
        """Begins one after the other, as many at once as may be, while the budget allows it."""
        for at, trial in enumerate(waiting):
            work = self._remaining.work[trial.key]
            while len(running) >= self.experiment.at_once:
                await one_ended(running)
            while running and (self._short or not self._allows(trial, work)):
                await one_ended(running)
            await self._go_on_with_short()
            if not (self.is_ending or self.progress.is_paused or self._allows(trial, work)):
                self._pause(self._least_usd(trial, work))
            if self.is_ending or self.progress.is_paused:
                return
            places = min(self.experiment.at_once - len(running), len(waiting) - at)
            reserved = Reserved(self._budget)
            reserved.keep(self._share_usd(trial, work, places))
            running.add(asyncio.create_task(self._conduct(trial, reserved)))

    def _allows(self, trial: Trial, work: Work) -> bool:
        """Whether the budget allows a trial, beside what is reserved for those under way."""
        is_open = not work.bound.is_limit
        return self._budget.allows(self._least_usd(trial, work), is_open=is_open)

    def _least_usd(self, trial: Trial, work: Work) -> float:
        """What has to be left for a trial to begin, or to go on."""
        row, graded_usd = self.rows.get(trial.key), self._bounds.graded_usd(trial.variant)
        least_usd = self._bounds.least_usd(trial.variant)
        if work.own_usd is not None:
            return work.own_usd + graded_usd
        if row is None:
            return least_usd
        is_cut = work.is_run and row.status == "failed"
        again_usd = to_ask_again(row) + graded_usd if is_cut else 0.0
        return max(min(work.bound.cost_usd, least_usd), again_usd)

    def _share_usd(self, trial: Trial, work: Work, places: int) -> float:
        """What is reserved for a trial: its share of what is left, or the most that it can cost."""
        least_usd, row = self._least_usd(trial, work), self.rows.get(trial.key)
        if work.own_usd is not None or self._budget.most_usd is None:
            return least_usd
        # One that its share has cut needs more than others.
        before_usd = 0.0 if row is None else 2 * row.cost_usd
        wanted_usd = max(self._bounds.wanted_usd(trial.variant), before_usd)
        share_usd = self._budget.share(least_usd, wanted_usd, places)
        bound_usd = work.bound.cost_usd if work.bound.is_limit else share_usd
        return max(least_usd, min(share_usd, bound_usd))

    def _pause(self, bound_usd: float) -> None:
        """Nothing more is begun: this much would have to be left."""
        self.progress.is_paused = True
        self.progress.needs_usd = max(self.progress.needs_usd, self.progress.spent_usd + bound_usd)

    async def _conduct(self, trial: Trial, reserved: Reserved) -> None:
        """Brings a trial and its gradings about, within what is reserved for them."""
        self._step(trial, 1)
        before_usd = self._remaining.cost(trial.key)
        try:
            await self._bring_about(trial, self._limit_usd(trial, reserved.amount_usd))
            missing = self._remaining.missing(trial)
            spent_usd = self._remaining.cost(trial.key) - before_usd
            reserved.keep(max(0.0, reserved.amount_usd - spent_usd) if missing else 0.0)
            for at, (grader, key, shown) in enumerate(missing):
                if self.is_ending:
                    break
                before_usd = self._remaining.cost(key)
                if key not in self._gradings:
                    part_usd = reserved.amount_usd / (len(missing) - at)
                    graded = self._graded(grader, key, shown, part_usd)
                    self._gradings[key] = asyncio.create_task(graded)
                await self._gradings[key]
                self._remaining.charge(trial, key)
                reserved.use(self._remaining.cost(key) - before_usd)
        finally:
            reserved.keep(0.0)
            self._step(trial, -1)
        self._count(trial, missing)

    def _count(self, trial: Trial, missing: list[tuple[Grader, str, dict[str, Any]]]) -> None:
        """A trial is not under way any more; these of its gradings were missing."""
        row = self.rows[trial.key]
        if row.status == "interrupted":
            return
        if row.budget_usd is not None and outcome_of(self._store, trial, row).is_short:
            self._short.append(trial)
            return
        self._remaining.count(trial)
        if any(not self._remaining.is_graded(key) for _, key, _ in missing):
            self._ungraded.append(trial)
        else:
            self._remaining.complete(trial)
        self._watch(self.progress)

    def _limit_usd(self, trial: Trial, reserved_usd: float) -> float | None:
        """What the run of a trial may spend of what is reserved; None: as much as its files say."""
        bound = self._bounds.trials[trial.variant]
        if self._budget.most_usd is None or (bound.is_limit and not bound.cost_usd):
            return None
        return max(0.0, reserved_usd - self._bounds.graded_usd(trial.variant))

    async def _go_on_with_short(self) -> None:
        """Trials that their share has stopped go on one by one, with all that is left."""
        short, self._short = self._short, []
        for trial in short:
            left_usd, row = self._budget.left_usd, self.rows[trial.key]
            if left_usd is None or self.is_ending:
                continue
            least_usd = to_ask_again(row) if row.status == "failed" else NOTHING
            if (self._limit_usd(trial, left_usd) or 0.0) > least_usd:
                reserved = Reserved(self._budget)
                reserved.keep(left_usd)
                await self._conduct(trial, reserved)
            else:
                self._short.append(trial)
        for trial in self._short:
            row, graded_usd = self.rows[trial.key], self._bounds.graded_usd(trial.variant)
            least_usd = to_ask_again(row) + graded_usd if row.status == "failed" else row.cost_usd
            self._pause(max(least_usd, self._bounds.least_usd(trial.variant)))
        self._short = []

    def _step(self, trial: Trial, step: int) -> None:
        self.progress.running += step
        under_way = self.progress.under_way
        under_way[trial.variant] = under_way.get(trial.variant, 0) + step

    async def _bring_about(self, trial: Trial, most_usd: float | None) -> None:
        """Starts a trial, or goes on with it, until it has ended or has spent so much more."""
        before = self.rows.get(trial.key)
        if before is not None:
            outcome = outcome_of(self._store, trial, before)
            if outcome.is_short:
                await self._allow(trial, most_usd)
            if outcome.is_short or outcome.is_done:
                await self._resume_outside(trial)
                return
        one, own_usd = self.prepared[trial.variant], trial.limit_usd
        limits = [limit for limit in (own_usd, most_usd) if limit is not None]
        explore = self.experiment.explore
        again = asked_again(one.workflow, explore if own_usd is None else ())
        start = Start(
            input=trial.inputs,
            limits={"cost_usd": min(limits)} if limits else {},
            pauses=own_usd is None,
            key=trial.key,
            file=self.experiment.file,
            sources=one.sources,
            cold=True,
            explore=explore,
            again=again if explore else None,
            labels=labels_of(self.experiment.name, trial),
        )
        await self._runs.start(one.workflow, start)
        if most_usd is None and outcome_of(self._store, trial, self.rows[trial.key]).is_short:
            # What it lacks was charged for calls that a crash has left in doubt.
            await self._allow(trial, None)
        await self._resume_outside(trial)

    async def _allow(self, trial: Trial, most_usd: float | None) -> None:
        """Lets a trial that lacks money have what its files still let it spend, or so much."""
        row, more_usd = self.rows[trial.key], [] if most_usd is None else [most_usd]
        if trial.limit_usd is not None:
            more_usd.append(trial.limit_usd + doubt_usd(self._store, row) - row.cost_usd)
        await self._runs.allow(trial.key, min(more_usd, default=None))

    async def _resume_outside(self, trial: Trial) -> None:
        """Tries again what failed because of the outside, three times at most."""
        while (row := self.rows[trial.key]).status == "failed":
            if not self._remaining.is_tried_again(outcome_of(self._store, trial, row)):
                return
            await self._runs.try_again(trial.key)

    async def _graded(
        self, grader: Grader, key: str, shown: dict[str, Any], most_usd: float
    ) -> None:
        """Grades within what is reserved for it."""
        limit_usd = None if self._budget.most_usd is None else most_usd
        row = self.rows.get(key)
        if row is not None and row.status == "failed" and self._remaining.is_failed(row):
            await self._grade_again(key)
            return
        if row is not None and is_short(self._store, row):
            # An answer that was cut is asked for again when all that is left is known.
            if row.status == "paused" or limit_usd is None:
                await self._runs.allow(key, limit_usd)
            return
        limits: dict[str, Any] = {} if limit_usd is None else {"cost_usd": limit_usd}
        file, labels = self.experiment.file, labels_of(self.experiment.name)
        start = Start(input=shown, limits=limits, key=key, file=file, labels=labels)
        await self._runs.start(self._graders[grader.name], start)
        await self._grade_again(key)

    async def _grade_again(self, key: str) -> None:
        """Tries a grading again that the outside has failed, three times at most."""
        while self._remaining.is_failed(self.rows[key]) and not self.is_ending:
            tries = self._remaining.tries
            tries[key] = tries.get(key, 0) + 1
            await self._runs.try_again(key)

    async def _grade_paused(self) -> None:
        """Gradings that cost more than was reckoned go on, one by one, with all that is left."""
        for trial in self._ungraded:
            for grader, key, _ in self._remaining.missing(trial):
                row = self.rows.get(key)
                if row is None or self.is_ending or not is_short(self._store, row):
                    continue
                left_usd = self._budget.left_usd
                again_usd = to_ask_again(row) if row.status == "failed" else 0.0
                if left_usd is None or left_usd >= again_usd:
                    await self._runs.allow(key, left_usd)
                self._remaining.charge(trial, key)
                if not self._remaining.is_graded(key):
                    again_usd = to_ask_again(self.rows[key])
                    self._pause(max(again_usd, self._bounds.gradings[grader.name].cost_usd))
                    return
            if not self._remaining.missing(trial):
                self._remaining.complete(trial)
        self._watch(self.progress)

    def changed(self) -> None:
        """A run has settled."""
        self.progress.spent_usd = self._budget.spent_usd
        self._watch(self.progress)

    @property
    def prefix(self) -> str:
        return key_prefix(self.experiment.name, self.generation)
