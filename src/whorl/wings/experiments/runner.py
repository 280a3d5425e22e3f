"""Runs an experiment: starts, resumes and grades its trials, in parallel, within a budget.

The state of an experiment is in its runs. After a crash the same command continues it, and does not
pay again for calls that are already paid.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.runtimes.start_options import Start
from whorl.services import steering
from whorl.services.files import preflight
from whorl.services.files.preflight import loops_of
from whorl.wings.experiments.graders import Collection, grading_workflow
from whorl.wings.experiments.remaining import Bound, Bounds, Budget, Remaining
from whorl.wings.experiments.trials import (
    BY_EXPERIMENT,
    EXACT_USD,
    blocks_of,
    generation_of,
    is_short,
    labels_of,
    outcome_of,
    rows_of,
)
from whorl.wings.experiments.variants import asked_again, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.remaining import Forecast, Progress
    from whorl.wings.experiments.trials import Trial
    from whorl.wings.experiments.variants import Prepared


class ExperimentRunner:
    """Runs the trials and gradings of one experiment."""

    def __init__(
        self,
        project: Project,
        driving: Driving,
        providers: Any,
        experiment: Experiment,
        watch: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._driving, self._providers = driving, providers
        self._runtime, self._store = driving.runtime, driving.runtime.store
        self.experiment, self._watch = experiment, watch
        self.prepared: dict[str, Prepared] = prepare(project, experiment)
        workflows = [one.workflow for one in self.prepared.values()]
        loops = [loop for workflow in workflows for _, loop in loops_of(workflow)]
        self.remembers = any(loop.memory and loop.memory.across_runs for loop in loops)
        self._graders: dict[str, Workflow] = {
            name: grading_workflow(project, experiment, grader)
            for name, grader in experiment.graders.items()
            if not grader.is_free
        }
        for workflow in [*workflows, *self._graders.values()]:
            start, _ = preflight.permitted(workflow, providers, Start())
            if start.refused is not None:
                raise UsageError(str(start.refused["message"]), code=str(start.refused["code"]))
        self._bounds = Bounds(experiment, self.prepared, self._graders, providers)
        self.is_stopped = False
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # Runs that lack money, and cannot get more.
        self._refused: set[str] = set()

    def stop(self) -> None:
        """Starts no more trials. Running trials finish."""
        self.is_stopped = True

    @property
    def _is_ending(self) -> bool:
        return self.is_stopped or self._driving.is_closing

    def open(
        self, *, fresh: bool = False, budget: float | None = None, generation: int = 0
    ) -> Forecast:
        """Reads the runs that exist; returns the forecast of the rest."""
        experiment = self.experiment
        newest = generation_of(self._store, experiment.name)
        self.generation = generation or max(1, newest + fresh)
        blocks = blocks_of(experiment, self.prepared, self._providers.settings, self.generation)
        self.rows: dict[str, RunRow] = rows_of(self._store, experiment.name, self.generation)
        collection = Collection(self._store, experiment, self.rows, self.generation)
        self._remaining = Remaining(collection, self.prepared, self._bounds, self.rows, blocks)
        self.progress = self._remaining.progress
        self.progress.budget_usd = experiment.budget if budget is None else budget
        self._budget = Budget(self.progress.budget_usd, self.progress.spent_usd)
        return self._remaining.forecast()

    async def run(self) -> Progress:
        """Starts and resumes the missing runs; ends early if the budget does not allow more."""
        running: set[asyncio.Task[None]] = set()
        if self.progress.done:
            self._watch(self.progress)
        try:
            await self._conduct_all(running)
            self._watch(self.progress)
            return self.progress
        except asyncio.CancelledError:
            # Running trials stay as they are, and continue with the next command.
            self.stop()
            self._runtime.stop()
            raise
        finally:
            while running:
                await _one_ended(running)

    async def _conduct_all(self, running: set[asyncio.Task[None]]) -> None:
        """Starts the trials in order, as many at once as allowed, while the budget lasts."""
        queue, most = self._remaining.queue, self.experiment.at_once
        while (queue or running) and not self._is_ending:
            needs = self._remaining.needs[queue[0].key] if queue else Bound()
            # A trial that runs alone may begin with less reserve for a long answer.
            wanted_usd = needs.reserve_usd if running else needs.cost_usd
            if queue and len(running) < most and self._budget.fits(wanted_usd):
                trial = queue.popleft()
                self._budget.reserve(trial.key, needs.reserve_usd)
                running.add(asyncio.create_task(self._conduct(trial)))
            elif running:
                await _one_ended(running)
            else:
                self.progress.is_paused = True
                self.progress.needs_usd = self.progress.spent_usd + needs.cost_usd
                return

    async def _conduct(self, trial: Trial) -> None:
        """Runs a trial and its gradings, within the dollars that are reserved for them."""
        remaining = self._remaining
        try:
            await self._bring_about(trial)
            is_open = remaining.look(trial)
            for grader, key, shown in remaining.missing.get(trial.key, ()):
                async with self._locks[key]:
                    # Equal results of a case share it.
                    if not (self._is_ending or remaining.is_graded(key)):
                        await self._grade(trial, grader, key, shown)
            if trial.key in remaining.missing:
                is_open = remaining.settle(trial)
                remaining.count(trial)
            if is_open and remaining.lacks_money(trial) and trial.key not in self._refused:
                remaining.queue.appendleft(trial)
        finally:
            self._budget.reserved.pop(trial.key, None)
        self._watch(self.progress)

    async def _bring_about(self, trial: Trial) -> None:
        """Starts or resumes a trial, until it has ended or has spent its limit."""
        key, bound = trial.key, self._bounds.trials[trial.variant]
        graded_usd = self._bounds.graded[trial.variant].cost_usd
        most_usd = self._budget.reserved[key] - graded_usd
        outcome = outcome_of(self._store, trial, self.rows.get(key))
        if outcome.is_short:
            needs_usd = self._remaining.needs[key].cost_usd - graded_usd
            await self._allow(key, min(most_usd, needs_usd), trial)
        elif not outcome.is_done:
            limits = [] if trial.limit_usd is None else [trial.limit_usd]
            is_free = bound.is_limit and not bound.cost_usd
            if self._budget.most_usd is not None and not is_free:
                limits.append(max(0.0, most_usd))
            await self._start(trial, limits)
        # A run that a provider failed is resumed, three times at most.
        while (row := self.rows[key]).status == "failed":
            if not self._remaining.is_tried_again(outcome_of(self._store, trial, row)):
                return
            self._remaining.tries[key] += 1
            await self._ask(key, steering.resumed, trial)

    async def _start(self, trial: Trial, limits: list[float]) -> None:
        """Starts or resumes the run of a trial, within the smallest of these limits."""
        one, explore = self.prepared[trial.variant], self.experiment.explore
        own_usd = one.workflow.limits.cost_usd
        # A loop that ends at its workflow's own limit has a result. Any other limit pauses the run.
        pauses = bool(limits) and (own_usd is None or min(limits) < own_usd)
        again = asked_again(one.workflow, explore if pauses else ())
        start = Start(
            input=trial.inputs,
            limits={"cost_usd": min(limits)} if limits else {},
            pauses=pauses,
            key=trial.key,
            file=self.experiment.file,
            sources=one.sources,
            cold=True,
            explore=explore,
            again=again if explore else None,
            labels=labels_of(self.experiment.name, trial),
        )
        await self._drive(one.workflow, start, trial)

    async def _grade(self, trial: Trial, grader: Grader, key: str, shown: dict[str, Any]) -> None:
        """Grades a result, within the rest of the reserve of its trial."""
        left_usd, row = self._budget.reserved[trial.key], self.rows.get(key)
        if row is not None and is_short(self._store, row):
            needs = self._bounds.grading(self._store, grader.name, row)
            await self._allow(key, min(left_usd, needs.cost_usd), trial)
        elif row is None or not self._remaining.is_failed(row):
            limits: dict[str, Any] = {}
            if self._budget.most_usd is not None:
                limits = {"cost_usd": left_usd}
            file, labels = self.experiment.file, labels_of(self.experiment.name)
            start = Start(input=shown, limits=limits, key=key, file=file, labels=labels)
            await self._drive(self._graders[grader.name], start, trial)
        # A run that a provider failed is resumed, three times at most.
        while self._remaining.is_failed(self.rows[key]) and not self._is_ending:
            self._remaining.tries[key] += 1
            await self._ask(key, steering.resumed, trial)

    async def _drive(self, workflow: Workflow, start: Start, trial: Trial) -> None:
        """Starts a run, or resumes the run of that key, and waits until no process drives it."""
        run, is_new = await self._runtime.start(workflow, start)
        spent_usd = 0.0 if is_new else self._store.run(run).cost_usd
        if is_new:
            self._driving.drive(run)
        else:
            # If a run was created just before a crash, its missing driver shows a moment later.
            await self._driving.settled(run)
            if self._store.run(run).status == "interrupted":
                await self._driving.take_up(run)
        await self._settle(start.key, run, spent_usd, trial)

    async def _allow(self, key: str, left_usd: float, trial: Trial) -> None:
        """Gives a run that lacks money so many dollars, and resumes it."""
        row = self.rows[key]
        more_usd = left_usd - ((row.budget_usd or 0.0) - row.cost_usd)
        if more_usd <= EXACT_USD or self._is_ending:
            self._refused.add(trial.key)
            return
        body: dict[str, Any] = {"cost_usd": more_usd, "by": BY_EXPERIMENT}
        await self._ask(key, partial(steering.asked, "run.resumed", body), trial)

    async def _ask(self, key: str, make: Callable[[], Event], trial: Trial) -> None:
        """Sends a request to a run, and waits until no process drives it."""
        row = self.rows[key]
        await self._driving.ask(row.id, make)
        await self._settle(key, row.id, row.cost_usd, trial)

    async def _settle(self, key: str, run: RunId, spent_usd: float, trial: Trial) -> None:
        """Waits until no process drives a run, and books its cost on the reserve of its trial."""
        self.rows[key] = row = await self._driving.settled(run)
        self._budget.spend(trial.key, row.cost_usd - spent_usd)
        self.progress.spent_usd = self._budget.spent_usd
        self._watch(self.progress)


async def _one_ended(running: set[asyncio.Task[None]]) -> None:
    """Waits until a running task has ended, and raises its exception."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    running -= done
    for task in done:
        task.result()
