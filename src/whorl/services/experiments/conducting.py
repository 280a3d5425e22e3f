"""Conducting an experiment: starts, resumes and grades its trials, in parallel, within a budget.

All that is known of it stands in the runs: after a crash the same command goes on where it was, and
what was paid for is not paid for again.
"""

from __future__ import annotations

import asyncio
from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.runtimes.starting import Start
from whorl.services import steering
from whorl.services.experiments.grading import Collection, grading_workflow
from whorl.services.experiments.study import iteration_names
from whorl.services.experiments.trials import (
    blocks_of,
    generation_of,
    key_prefix,
    labels_of,
    outcome_of,
    rows_of,
)
from whorl.services.experiments.variants import find_loop, loops_of, prepare
from whorl.services.experiments.what_if.folding import facts_of
from whorl.services.files import forecasting, preflight

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.services.driving import Driving
    from whorl.services.experiments.document import Experiment, Grader
    from whorl.services.experiments.trials import Outcome, Trial
    from whorl.services.experiments.variants import Prepared
    from whorl.services.project import Project

RESUMES_MAX = 3
_NOTHING = 1e-9


@dataclass(slots=True)
class Progress:
    """How far an experiment is; what ended trials of a variant cost, and how many are running."""

    trials: int
    done: int = 0
    variants: dict[str, int] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    under_way: dict[str, int] = field(default_factory=dict)
    running: int = 0
    spent_usd: float = 0.0
    budget_usd: float | None = None
    graded: int = 0
    people: int = 0
    whole: int = 0
    # So many trials were there before it was asked for.
    before: int = 0
    is_paused: bool = False
    # The budget that the trial needs which did not fit.
    needs_usd: float = 0.0

    @property
    def expected_usd(self) -> float | None:
        """What all of it will cost at this rate; None until a whole case is done."""
        return self.spent_usd / self.done * self.trials if self.whole and self.done else None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What an experiment may do and cost, told before it starts; None: nothing bounds it."""

    trials: int
    left: int
    calls: int | None
    cost_usd: float | None


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
        self._open_trials = {block[0].case.id: len(block) for block in self.blocks}
        self.rows: dict[str, RunRow] = rows_of(self._store, experiment.name, self.generation)
        self.progress = Progress(experiment.trials, variants=dict.fromkeys(self.prepared, 0))
        self.progress.budget_usd = experiment.budget if budget is None else budget
        self.progress.spent_usd = sum(row.cost_usd for row in self.rows.values())
        each = {name: self._forecast(one.workflow) for name, one in self.prepared.items()}
        self._bounds = {
            name: experiment.trial_budget or (one.bound_usd or one.cost_usd or 0.0)
            for name, one in each.items()
        }
        waiting = [trial for block in self.blocks for trial in block if trial.key not in self.rows]
        self.progress.before = experiment.trials - len(waiting)
        calls = [each[trial.variant].calls for trial in waiting]
        costs = [self._bounds[trial.variant] for trial in waiting]
        total = None if None in calls else sum(call or 0 for call in calls)
        return Forecast(experiment.trials, len(waiting), total, sum(costs) if any(costs) else None)

    def _forecast(self, workflow: Workflow) -> forecasting.Forecast:
        most = max(self.experiment.explore.values(), default=None)
        return forecasting.forecast(workflow, self._providers, iterations=most)

    async def run(self) -> Progress:
        """Starts and resumes what is missing; ends early where the budget does not allow more."""
        running: set[asyncio.Task[None]] = set()
        try:
            for block in self.blocks:
                for trial in block:
                    while len(running) >= self.experiment.at_once:
                        running = await self._wait(running)
                    while running and not self._fits(trial):
                        running = await self._wait(running)
                    if self.is_ending:
                        return self.progress
                    if not self._fits(trial):
                        self.progress.is_paused = True
                        self.progress.needs_usd = self.progress.spent_usd + self._bound(trial)
                        return self.progress
                    self._reserved += self._bound(trial)
                    running.add(asyncio.create_task(self._conduct(trial)))
            return self.progress
        except asyncio.CancelledError:
            # What is under way stays where it is, and goes on when it is asked for again.
            self.stop()
            self._runtime.stop()
            raise
        finally:
            while running:
                running = await self._wait(running)

    async def _wait(self, running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        done, left = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return left

    def _bound(self, trial: Trial) -> float:
        row = self.rows.get(trial.key)
        is_over = row is not None and row.status in ("succeeded", "failed", "cancelled", "paused")
        return 0.0 if is_over else self._bounds[trial.variant]

    def _fits(self, trial: Trial) -> bool:
        budget = self.progress.budget_usd
        bound = self._bound(trial)
        if budget is None or not bound:
            return True
        return self.progress.spent_usd + self._reserved + bound <= budget + _NOTHING

    async def _conduct(self, trial: Trial) -> None:
        bound = self._bound(trial)
        self._step(trial, 1)
        try:
            await self._bring_about(trial)
            self._reserved, bound = self._reserved - bound, 0.0
            await self._grade(trial)
        finally:
            self._reserved -= bound
            self._step(trial, -1)
        if self.rows[trial.key].status != "interrupted":
            self._count(trial)

    def _step(self, trial: Trial, step: int) -> None:
        self.progress.running += step
        under_way = self.progress.under_way
        under_way[trial.variant] = under_way.get(trial.variant, 0) + step

    async def _bring_about(self, trial: Trial) -> None:
        """Starts a trial, or goes on with it, until it has ended."""
        before = self.rows.get(trial.key)
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
            if not outcome_of(self._store, trial, row).is_outside:
                return
            tried = sum(1 for _ in self._store.read(row.id, kinds=frozenset({"run.resumed"})))
            if tried >= RESUMES_MAX:
                return
            await self._driving.ask(row.id, steering.resumed)
            await self._settle(trial.key, row.id, row.cost_usd)

    async def _grade(self, trial: Trial) -> None:
        """Has what a trial gave graded by those who are paid for it, and by people."""
        row = self.rows[trial.key]
        if row.status != "succeeded" or not self._graders or self.is_ending:
            return
        outcome = outcome_of(self._store, trial, row)
        collection = Collection(self._store, self.experiment, self.rows, self.generation)
        for names in self._subjects(collection, outcome):
            for grader, key, shown in collection.wanted(names):
                if key not in self._gradings:
                    work = self._graded(grader, key, shown)
                    self._gradings[key] = asyncio.create_task(work)
                await self._gradings[key]

    def _subjects(self, collection: Collection, outcome: Outcome) -> list[dict[str, Any]]:
        """What is graded of a trial: what it returned, and of an exploring one every iteration."""
        subjects = [collection.names(outcome)]
        loops = self.experiment.explore
        if not loops or self.experiment.grade_iterations == "returned":
            return subjects
        workflow = self.prepared[outcome.trial.variant].workflow
        for name in loops:
            loop = find_loop(workflow, name)
            assert outcome.run is not None
            found = facts_of(self._store, outcome.run, {}, loop=name, keep_results=True)
            for facts in found[:1]:
                each = iteration_names(collection, workflow, loop, outcome, facts)
                subjects += [names for number, names in each if number != outcome.returned]
        return subjects

    async def _graded(self, grader: Grader, key: str, shown: dict[str, Any]) -> None:
        row = self.rows.get(key)
        if row is not None and row.status in ("succeeded", "failed", "cancelled", "waiting"):
            self._count_grading(row)
            return
        budget = self.progress.budget_usd
        if budget is not None and self.progress.spent_usd >= budget:
            self.progress.is_paused = True
            return
        left = {} if budget is None else {"cost_usd": budget - self.progress.spent_usd}
        workflow = self._graders[grader.name]
        file, labels = self.experiment.file, labels_of(self.experiment.name)
        start = Start(input=shown, limits={**left}, key=key, file=file, labels=labels)
        await self._drive(workflow, start)
        self._count_grading(self.rows[key])

    def _count_grading(self, row: RunRow) -> None:
        self.progress.graded += row.status == "succeeded"
        self.progress.people += row.status == "waiting"

    def _count(self, trial: Trial) -> None:
        self.progress.done += 1
        self.progress.variants[trial.variant] += 1
        costs, cost_usd = self.progress.costs, self.rows[trial.key].cost_usd
        costs[trial.variant] = costs.get(trial.variant, 0.0) + cost_usd
        self._open_trials[trial.case.id] -= 1
        self.progress.whole += not self._open_trials[trial.case.id]
        self._watch(self.progress)

    @property
    def prefix(self) -> str:
        return key_prefix(self.experiment.name, self.generation)
