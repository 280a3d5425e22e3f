"""Conducting an experiment: starts, resumes and grades its trials, in parallel, within a budget.

All that is known of it stands in the runs: after a crash the same command goes on where it was, and
what was paid for is not paid for again.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.runtimes.starting import Start
from whorl.services import steering
from whorl.services.experiments.grading import Collection, grading_workflow
from whorl.services.experiments.running.bounds import Bounds
from whorl.services.experiments.running.remaining import Remaining
from whorl.services.experiments.trials import (
    blocks_of,
    generation_of,
    key_prefix,
    labels_of,
    lacks_money,
    outcome_of,
    rows_of,
)
from whorl.services.experiments.variants import loops_of, prepare
from whorl.services.files import preflight

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.services.driving import Driving
    from whorl.services.experiments.document import Experiment, Grader
    from whorl.services.experiments.running.progress import Forecast, Progress
    from whorl.services.experiments.trials import Trial
    from whorl.services.experiments.variants import Prepared
    from whorl.services.project import Project

_NOTHING = 1e-9
# By so much, and then by twice as much each time, budgets are raised where nothing limits them.
_LEAST_USD = 0.01


class Conductor:
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
        self._reserved = 0.0
        self.is_stopped = False
        self._gradings: dict[str, asyncio.Task[None]] = {}

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
        self._ungraded: list[Trial] = []
        return remaining.forecast()

    async def run(self) -> Progress:
        """Starts and resumes what is missing; ends early where the budget does not allow more."""
        running: set[asyncio.Task[None]] = set()
        waiting = [t for block in self.blocks for t in block if t.key in self._remaining.work]
        if self.progress.done:
            self._watch(self.progress)
        try:
            for trial in waiting:
                bound_usd = self._remaining.work[trial.key].bound.cost_usd
                while len(running) >= self.experiment.at_once:
                    running = await self._wait(running)
                while running and not self._fits(bound_usd):
                    running = await self._wait(running)
                if self.is_ending:
                    return self.progress
                if not self._fits(bound_usd):
                    self._pause(bound_usd)
                    break
                self._reserved += bound_usd
                running.add(asyncio.create_task(self._conduct(trial, bound_usd)))
            while running:
                running = await self._wait(running)
            await self._grade_paused()
            return self.progress
        except asyncio.CancelledError:
            # What is under way stays where it is, and goes on when it is asked for again.
            self.stop()
            self._runtime.stop()
            raise
        finally:
            while running:
                running = await self._wait(running)

    def _pause(self, bound_usd: float) -> None:
        """Nothing more is begun: this much would have to be left."""
        self.progress.is_paused = True
        needs_usd = self.progress.spent_usd + bound_usd
        self.progress.needs_usd = max(self.progress.needs_usd, needs_usd)

    async def _wait(self, running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        done, left = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return left

    def _fits(self, bound_usd: float) -> bool:
        left = self._left_usd
        return left is None or not bound_usd or bound_usd <= left + _NOTHING

    @property
    def _left_usd(self) -> float | None:
        """What is neither spent nor reserved; None: there is no budget."""
        budget = self.progress.budget_usd
        return None if budget is None else budget - self.progress.spent_usd - self._reserved

    async def _conduct(self, trial: Trial, reserved: float) -> None:
        """Brings a trial and its gradings about; what was reserved for them is given back."""
        self._step(trial, 1)
        try:
            await self._bring_about(trial)
            missing = self._remaining.missing(trial)
            for at, (grader, key, shown) in enumerate(missing):
                each = (self._bounds.gradings[one.name].cost_usd for one, _, _ in missing[at:])
                still = min(reserved, sum(each))
                self._reserved, reserved = self._reserved - reserved + still, still
                if self.is_ending:
                    break
                if key not in self._gradings:
                    self._gradings[key] = asyncio.create_task(self._graded(grader, key, shown))
                await self._gradings[key]
                self._remaining.charge(trial, key)
        finally:
            self._reserved -= reserved
            self._step(trial, -1)
        if self.rows[trial.key].status != "interrupted":
            self._remaining.count(trial)
            if any(not self._remaining.is_graded(key) for _, key, _ in missing):
                self._ungraded.append(trial)
            else:
                self._remaining.complete(trial)
            self._watch(self.progress)

    def _step(self, trial: Trial, step: int) -> None:
        self.progress.running += step
        under_way = self.progress.under_way
        under_way[trial.variant] = under_way.get(trial.variant, 0) + step

    async def _bring_about(self, trial: Trial) -> None:
        """Starts a trial, or goes on with it, until it has ended."""
        before = self.rows.get(trial.key)
        if before is not None and self._remaining.is_raised(trial):
            most = self._remaining.budget_usd(trial.variant)
            await self._allow(trial.key, None if most is None else most - before.cost_usd)
            before = self.rows[trial.key]
        if before is not None and outcome_of(self._store, trial, before).is_done:
            await self._resume_outside(trial)
            return
        one, limit = self.prepared[trial.variant], self.experiment.trial_budget
        start = Start(
            input=trial.inputs,
            limits={} if limit is None else {"cost_usd": limit},
            key=trial.key,
            file=self.experiment.file,
            sources=one.sources,
            cold=True,
            explore=self.experiment.explore,
            labels=labels_of(self.experiment.name, trial),
        )
        await self._drive(one.workflow, start)
        await self._resume_outside(trial)

    async def _drive(self, workflow: Workflow, start: Start) -> None:
        run, is_new = await self._runtime.start(workflow, start)
        spent = 0.0 if is_new else self._store.run(run).cost_usd
        if is_new:
            self._driving.drive(run)
        else:
            # Of one that was made just before a crash, it shows a moment later that nobody has it.
            await self._driving.settled(run)
            if self._store.run(run).status == "interrupted":
                await self._driving.take_up(run)
        await self._settle(start.key, run, spent)

    async def _settle(self, key: str, run: RunId, spent: float) -> None:
        await self._driving.settled(run)
        row = self._store.run(run)
        self.rows[key] = row
        self.progress.spent_usd += row.cost_usd - spent
        self._watch(self.progress)

    async def _resume_outside(self, trial: Trial) -> None:
        """Tries again what failed because of the outside, three times at most."""
        while (row := self.rows[trial.key]).status == "failed":
            if not self._remaining.is_tried_again(outcome_of(self._store, trial, row)):
                return
            await self._driving.ask(row.id, steering.resumed)
            await self._settle(trial.key, row.id, row.cost_usd)

    async def _graded(self, grader: Grader, key: str, shown: dict[str, Any]) -> None:
        """Grades within what was reserved for it."""
        bound_usd, left_usd = self._bounds.gradings[grader.name].cost_usd, self._left_usd
        row = self.rows.get(key)
        if row is not None and row.status == "paused":
            await self._allow(key, bound_usd)
            return
        limits = {} if left_usd is None else {"cost_usd": bound_usd or max(0.0, left_usd)}
        file, labels = self.experiment.file, labels_of(self.experiment.name)
        start = Start(input=shown, limits={**limits}, key=key, file=file, labels=labels)
        await self._drive(self._graders[grader.name], start)

    async def _grade_paused(self) -> None:
        """Gradings that cost more than was reckoned go on, one by one, with all that is left."""
        for trial in self._ungraded:
            for grader, key, _ in self._remaining.missing(trial):
                row = self.rows.get(key)
                if row is None or self.is_ending or not lacks_money(self._store, row):
                    continue
                await self._allow(key, self._left_usd)
                self._remaining.charge(trial, key)
                if not self._remaining.is_graded(key):
                    self._pause(self._bounds.gradings[grader.name].cost_usd)
                    return
            if not self._remaining.missing(trial):
                self._remaining.complete(trial)
        self._watch(self.progress)

    async def _allow(self, key: str, left_usd: float | None) -> None:
        """Lets a run that lacks money go on with so much; None: with as much as it takes."""
        while lacks_money(self._store, row := self.rows[key]):
            budget_usd = row.budget_usd or 0.0
            more = max(budget_usd, _LEAST_USD)
            if left_usd is not None:
                more = left_usd - (budget_usd - row.cost_usd)
            if more <= _NOTHING or self.is_ending:
                return
            await self._driving.ask(row.id, partial(steering.resumed, steering.More(more)))
            await self._settle(key, row.id, row.cost_usd)
            if left_usd is not None:
                return

    @property
    def prefix(self) -> str:
        return key_prefix(self.experiment.name, self.generation)
