"""Runs an experiment: starts, resumes and grades its trials, in parallel, within a budget.

The state of an experiment is in its runs. After a crash the same command continues it, and does not
pay again for calls that are already paid.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from whorl.errors import ProviderError, UsageError
from whorl.lazily import dataclass
from whorl.runtimes.start_options import Start
from whorl.services import steering
from whorl.services.files import forecasting, preflight
from whorl.services.files.preflight import find_loop, loops_of
from whorl.wings.experiments.results import iteration_names
from whorl.wings.experiments.trials import (
    BY_EXPERIMENT,
    ENDED,
    EXACT_USD,
    RESUMES_MAX,
    Collection,
    blocks_of,
    doubt_usd,
    generation_of,
    grading_workflow,
    is_outside_failure,
    is_short,
    labels_of,
    outcome_of,
    rows_of,
)
from whorl.wings.experiments.variants import prepare, with_loop
from whorl.wings.experiments.what_if.loop_facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.providers.task import Request
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving
    from whorl.wings.experiments.document import Experiment, Grader
    from whorl.wings.experiments.trials import Outcome, Trial
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
        if budget is not None:
            self.progress.budget_usd = budget
        # The dollars that are reserved, by trial.
        self._reserved: dict[str, float] = {}
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
            left_usd = self._left_usd
            if queue and len(running) < most and wanted_usd <= left_usd + EXACT_USD:
                trial = queue.popleft()
                # So much for a trial, or all that is left.
                self._reserved[trial.key] = min(needs.reserve_usd, left_usd)
                running.add(asyncio.create_task(self._conduct(trial)))
            elif running:
                await _one_ended(running)
            else:
                self.progress.is_paused = True
                self.progress.needs_usd = self.progress.spent_usd + needs.cost_usd
                return

    @property
    def _left_usd(self) -> float:
        """The dollars that are neither spent nor reserved."""
        most_usd, spent_usd = self.progress.budget_usd, self.progress.spent_usd
        if most_usd is None:
            return inf
        return max(0.0, most_usd - spent_usd - sum(self._reserved.values()))

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
            self._reserved.pop(trial.key, None)
        self._watch(self.progress)

    async def _bring_about(self, trial: Trial) -> None:
        """Starts or resumes a trial, until it has ended or has spent its limit."""
        key, bound = trial.key, self._bounds.trials[trial.variant]
        graded_usd = self._bounds.graded[trial.variant].cost_usd
        most_usd = self._reserved[key] - graded_usd
        outcome = outcome_of(self._store, trial, self.rows.get(key))
        if outcome.is_short:
            needs_usd = self._remaining.needs[key].cost_usd - graded_usd
            await self._allow(key, min(most_usd, needs_usd), trial)
        elif not outcome.is_done:
            limits = [] if trial.limit_usd is None else [trial.limit_usd]
            is_free = bound.is_limit and not bound.cost_usd
            if self.progress.budget_usd is not None and not is_free:
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
        start = Start(
            input=trial.inputs,
            limits={"cost_usd": min(limits)} if limits else {},
            pauses=pauses,
            key=trial.key,
            file=self.experiment.file,
            sources=one.sources,
            cold=True,
            explore=explore,
            labels=labels_of(self.experiment.name, trial),
        )
        await self._drive(one.workflow, start, trial)

    async def _grade(self, trial: Trial, grader: Grader, key: str, shown: dict[str, Any]) -> None:
        """Grades a result, within the rest of the reserve of its trial."""
        left_usd, row = self._reserved[trial.key], self.rows.get(key)
        if row is not None and is_short(self._store, row):
            needs = self._bounds.grading(self._store, grader.name, row)
            await self._allow(key, min(left_usd, needs.cost_usd), trial)
        elif row is None or not self._remaining.is_failed(row):
            limits: dict[str, Any] = {}
            if self.progress.budget_usd is not None:
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
        paid_usd = row.cost_usd - spent_usd
        self.progress.spent_usd += paid_usd
        # It may cost more than was reserved.
        left_usd = self._reserved.get(trial.key, 0.0) - paid_usd
        self._reserved[trial.key] = max(0.0, left_usd)
        self.progress.unpriced |= row.unpriced_calls > 0
        self._watch(self.progress)


async def _one_ended(running: set[asyncio.Task[None]]) -> None:
    """Waits until a running task has ended, and raises its exception."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    running -= done
    for task in done:
        task.result()


# The remaining work of an experiment, by its runs, and its highest cost.


@dataclass(frozen=True, slots=True)
class Bound:
    """The most calls and dollars of a run; None: the number of calls has no limit.

    Models without a price cost nothing here. `is_limit`: the run cannot cost more. Else it is an
    estimate, since texts may be longer. `longest_usd` is then the cost of the longest answer, or
    infinite if no price is known.
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
        """The dollars that it may spend, if so much is left when it begins."""
        return self.cost_usd + self.longest_usd

    def of(self, row: RunRow | None, *, is_short: bool = False, most_usd: float = inf) -> Bound:
        """Returns the bound that is left for a run, which may have begun.

        That is the rest of the run's own limit, if it has one. If the run lacks money, it gets as
        much again as it had, within the limits of its files.
        """
        if row is None:
            return self
        if row.budget_usd is None:
            return replace(self, cost_usd=max(0.0, self.cost_usd - row.cost_usd))
        left_usd = max(0.0, row.budget_usd - row.cost_usd)
        if is_short:
            more_usd = max(row.budget_usd, self.cost_usd)
            if self.longest_usd < inf:
                more_usd = max(more_usd, self.reserve_usd)
            left_usd = min(left_usd + more_usd, most_usd)
        return replace(self, cost_usd=left_usd, longest_usd=0.0)


class Bounds:
    """The bounds of each trial of a variant, and of each grading."""

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
        # A model without a known price is not in any bound.
        workflows = [*explored.values(), *graders.values()]
        found = (forecasting.unpriced_models(workflow, providers) for workflow in workflows)
        self.unpriced = sorted({model for models in found for model in models})

    def trial(self, store: SqliteStore, outcome: Outcome, row: RunRow | None) -> Bound:
        """Returns the bound of the rest of a trial, with all its gradings."""
        trial, most_usd = outcome.trial, inf
        if row is not None and trial.limit_usd is not None:
            most_usd = trial.limit_usd + doubt_usd(store, row) - row.cost_usd
        own = self.trials[trial.variant].of(row, is_short=outcome.is_short, most_usd=most_usd)
        return own + self.graded[trial.variant]

    def grading(self, store: SqliteStore, grader: str, row: RunRow | None) -> Bound:
        lacks_money = row is not None and is_short(store, row)
        return self.gradings[grader].of(row, is_short=lacks_money)


def _explored(experiment: Experiment, one: Prepared) -> Workflow:
    """Returns the workflow of a variant with the highest explored iteration limits of its loops."""
    workflow = one.workflow
    for name, most in experiment.explore.items():
        loop = find_loop(workflow, name)
        if isinstance(loop.limits.iterations, int) and most > loop.limits.iterations:
            longer = replace(loop, limits=replace(loop.limits, iterations=most))
            workflow = with_loop(workflow, loop, longer)
    return workflow


def _results(experiment: Experiment, workflow: Workflow) -> int:
    """Returns how many results of a trial are graded at most: its own, and iterations."""
    explore = experiment.explore
    if not explore or experiment.grade_iterations == "returned":
        return 1
    limits = [find_loop(workflow, name).limits.iterations for name in explore]
    # A computed limit counts as the number of explored iterations.
    most = sum(
        limit if isinstance(limit, int) else explored
        for limit, explored in zip(limits, explore.values(), strict=True)
    )
    # The iteration that the only loop returns is one of them.
    return most if len(list(loops_of(workflow))) == 1 else 1 + most


def bound_of(workflow: Workflow, providers: Any, budget: float | None = None) -> Bound:
    """Returns the bound of a run of a workflow with such a budget."""
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
    """Yields the cost of the longest answer for each call without a fixed length."""
    for request in asked:
        with suppress(ProviderError, UsageError):
            cap = providers.kind(request.kind).estimate(request).cap
            if cap is not None:
                yield cap.most * (cap.usd_per_token or 0.0)


class Remaining:
    """Reads the runs of one generation of an experiment, and counts those that end.

    `queue` has the incomplete trials, those that have begun first. For each of them, `missing` has
    its gradings (grader, key and input), and `needs` has the bound of its rest.
    """

    def __init__(
        self,
        collection: Collection,
        prepared: Mapping[str, Prepared],
        bounds: Bounds,
        rows: Mapping[str, RunRow],
        blocks: list[list[Trial]],
    ) -> None:
        """`rows` are the runs by key; the runner of the experiment adds to them."""
        self._collection, self._store = collection, collection.store
        self._experiment, self._prepared = collection.experiment, prepared
        self._bounds, self._rows = bounds, rows
        self._open_trials = {block[0].case.id: len(block) for block in blocks}
        self._counted: set[str] = set()
        # How often runs that a provider failed were resumed.
        self.tries: Counter[str] = Counter()
        self.progress = Progress.of(self._experiment, prepared, rows.values())
        self.missing: dict[str, list[tuple[Grader, str, dict[str, Any]]]] = {}
        self.needs: dict[str, Bound] = {}
        # Trials of equal variants share one run.
        self._alike: dict[str, list[Trial]] = {}
        for trial in (trial for block in blocks for trial in block):
            self._alike.setdefault(trial.key, []).append(trial)
        trials = [alike[0] for alike in self._alike.values() if self.look(alike[0])]
        self.queue = deque(sorted(trials, key=lambda trial: trial.key not in rows))
        self.progress.before = self.progress.done

    def forecast(self) -> Forecast:
        runs = [trial.key for trial in self.queue if trial.key not in self.missing]
        # Equal results of a case share a grading.
        gradings = {key: grader for each in self.missing.values() for grader, key, _ in each}
        left = [self.needs[key] for key in runs]
        left += [self._grading(grader, key) for key, grader in gradings.items()]
        whole, unpriced = sum(left, Bound()), tuple(self._bounds.unpriced)
        return Forecast(len(runs), len(gradings), whole, unpriced)

    def look(self, trial: Trial) -> bool:
        """Returns whether a trial is incomplete; counts it if it is complete."""
        row = self._rows.get(trial.key)
        outcome = outcome_of(self._store, trial, row)
        if not outcome.is_done or self.is_tried_again(outcome):
            self.needs[trial.key] = self._bounds.trial(self._store, outcome, row)
            return True
        self.missing[trial.key] = list(self._wanted(outcome))
        return self.settle(trial)

    def settle(self, trial: Trial) -> bool:
        """Returns whether an ended trial still lacks gradings, after some of them have ended."""
        wanted = self.missing.pop(trial.key)
        if missing := [one for one in wanted if not self.is_graded(one[1])]:
            self.missing[trial.key] = missing
            needs = (self._grading(grader, key) for grader, key, _ in missing)
            self.needs[trial.key] = sum(needs, Bound())
            return True
        self.count(trial)
        self._open_trials[trial.case.id] -= len(self._alike[trial.key])
        if not self._open_trials[trial.case.id]:
            self.progress.whole += 1
        return False

    def _grading(self, grader: Grader, key: str) -> Bound:
        return self._bounds.grading(self._store, grader.name, self._rows.get(key))

    def lacks_money(self, trial: Trial) -> bool:
        """Returns whether a trial or one of its gradings ended for lack of money it may have."""
        row = self._rows[trial.key]
        if trial.key not in self.missing:
            return outcome_of(self._store, trial, row).is_short
        rows = [self._rows[key] for _, key, _ in self.missing[trial.key] if key in self._rows]
        return any(is_short(self._store, row) for row in rows)

    def is_tried_again(self, outcome: Outcome) -> bool:
        """Returns whether a provider failed a trial that this command may resume."""
        return outcome.is_outside and self.tries[outcome.trial.key] < RESUMES_MAX

    def _wanted(self, outcome: Outcome) -> Iterator[tuple[Grader, str, dict[str, Any]]]:
        """Yields all gradings of a trial that need a run: grader, key and input."""
        wanted: dict[str, tuple[Grader, str, dict[str, Any]]] = {}
        if self._bounds.gradings and outcome.status == "succeeded":
            for names in self._subjects(outcome):
                wanted |= {one[1]: one for one in self._collection.wanted(names)}
        return iter(wanted.values())

    def _subjects(self, outcome: Outcome) -> Iterator[dict[str, Any]]:
        """Yields the results of a trial to grade: its own, and all iterations if it explores."""
        yield self._collection.names(outcome)
        loops = self._experiment.explore
        if not loops or self._experiment.grade_iterations == "returned":
            return
        workflow = self._prepared[outcome.trial.variant].workflow
        for name in loops:
            loop = find_loop(workflow, name)
            assert outcome.run is not None
            found = facts_of(self._store, outcome.run, {}, loop=name, keep_results=True)
            for facts in found[:1]:
                each = iteration_names(self._collection, workflow, loop, outcome, facts)
                yield from (names for number, names in each if number != outcome.returned)

    def is_graded(self, key: str) -> bool:
        """Returns whether a grading has ended, or waits for a person, and counts it if so."""
        row = self._rows.get(key)
        if row is None or row.status not in (*ENDED, "waiting"):
            return False
        if row.status == "failed" and (is_short(self._store, row) or self.is_failed(row)):
            return False
        if key not in self._counted:
            self._counted.add(key)
            self.progress.graded += row.status == "succeeded"
            self.progress.people += row.status == "waiting"
        return True

    def is_failed(self, row: RunRow) -> bool:
        """Returns whether a provider failed a grading that this command may resume."""
        return self.tries[row.key] < RESUMES_MAX and is_outside_failure(self._store, row)

    def count(self, trial: Trial) -> None:
        """Counts an ended trial, and the equal trials of other variants."""
        if trial.key in self._counted:
            return
        self._counted.add(trial.key)
        for each in self._alike[trial.key]:
            self.progress.done += 1
            self.progress.variants[each.variant] += 1


# The progress and the remaining cost of an experiment: both are shown while it runs.


@dataclass(slots=True)
class Progress:
    """The progress of an experiment, in all and by variant."""

    trials: int
    done: int = 0
    variants: dict[str, int] = field(default_factory=dict)
    spent_usd: float = 0.0
    # Calls without a known price were made.
    unpriced: bool = False
    budget_usd: float | None = None
    graded: int = 0
    people: int = 0
    # Cases whose trials have all ended and been graded.
    whole: int = 0
    # The trials that had ended before this command.
    before: int = 0
    is_paused: bool = False
    # The budget that is needed for the next trial or grading, which did not fit.
    needs_usd: float = 0.0

    @classmethod
    def of(
        cls, experiment: Experiment, variants: Iterable[str], rows: Iterable[RunRow]
    ) -> Progress:
        """Returns the progress before any trial is counted: the cost of these runs."""
        made = cls(experiment.trials, variants=dict.fromkeys(variants, 0))
        made.budget_usd = experiment.budget
        made.spent_usd = sum(row.cost_usd for row in rows)
        made.unpriced = any(row.unpriced_calls for row in rows)
        return made

    @property
    def expected_usd(self) -> float | None:
        """The expected cost of all trials at the rate so far; None before the first whole case."""
        is_open = self.whole and self.done < self.trials
        return self.spent_usd / self.done * self.trials if is_open else None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The remaining work of an experiment, shown before it starts.

    `left` trials are run, `gradings` grade existing results. `most` is the bound of all of them,
    without `unpriced` models.
    """

    left: int
    gradings: int
    most: Bound
    unpriced: tuple[str, ...] = ()
