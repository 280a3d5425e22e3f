"""The experiments of a project: which there are, how far each is, and those conducted here.

Whoever asks for one leaves a row in the store; a server, or a process in the background, takes it
and conducts it. Where that process ends, the next one goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import InvalidWorkflow, UsageError, WhorlError, did_you_mean, safe
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.listing import RunFilter
from whorl.services.discovery import candidates
from whorl.services.inspecting.results import open_gates
from whorl.wings.experiments.document import read_experiment
from whorl.wings.experiments.reporting import notes
from whorl.wings.experiments.results import Study
from whorl.wings.experiments.runner import ExperimentRunner
from whorl.wings.experiments.running.cost_bounds import AdvisedStudy
from whorl.wings.experiments.running.remaining_work import Progress
from whorl.wings.experiments.table import AskedExperiment, ExperimentTable
from whorl.wings.experiments.trials import (
    ENDED,
    PREFIX,
    digest,
    doubt_usd,
    generation_of,
    is_grading,
    is_short,
    key_prefix,
)

if TYPE_CHECKING:
    from whorl.interfaces.http.state import ServerState
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunRow
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving
    from whorl.wings.experiments.document import Experiment
    from whorl.wings.experiments.table import State
    from whorl.wings.experiments.trials import Trial

LOOK_S: Final = 2.0
_SUFFIXES: Final = (".experiment.yaml", ".experiment.yml", ".experiment.json")

log = logging.getLogger("whorl")


@dataclass(slots=True)
class ExperimentStatus:
    """How far an experiment is: `new`, `running`, `paused`, `stopped`, `failed`, `open`, `done`.

    `open`: trials are missing, and nobody conducts it. `trouble` says why its file cannot be read.
    """

    name: str
    file: str
    state: str = "new"
    reason: str = ""
    trouble: str = ""
    experiment: Experiment | None = None
    progress: Progress | None = None
    runs: int = 0
    spent_usd: float = 0.0
    updated_at: float | None = None
    best: dict[str, Any] | None = None


class Experiments:
    """Looks after the experiments of a project."""

    def __init__(self, project: Project, providers: Providers, driving: Driving) -> None:
        self.project, self.providers, self.driving = project, providers, driving
        self._store, self._root = driving.runtime.store, str(project.root)
        self.table = ExperimentTable(self._store)
        self.awake = asyncio.Event()
        self._owner = secrets.token_hex(8)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._has_claimed = False
        self._conductors: dict[str, ExperimentRunner] = {}
        self._bests: dict[str, tuple[str, dict[str, Any] | None]] = {}

    def files(self) -> dict[str, str]:
        """The experiment files of the project, by the name that each has or would have."""
        found: dict[str, str] = {}
        for path, _ in sorted(candidates(self._root)):
            if path.endswith(_SUFFIXES):
                name = os.path.basename(path).partition(".")[0]
                with suppress(WhorlError):
                    name = read_experiment(self.project, path).name
                found.setdefault(name, path)
        return found

    def read(self, name: str) -> Experiment:
        """The experiment of that name; raises UsageError W902 where no file has it.

        One that is conducted here is told of as it was read for that, whatever its files say now.
        """
        if (conductor := self._conductors.get(name)) is not None:
            return conductor.experiment
        files = self.files()
        if name not in files:
            advice = did_you_mean(name, files) or f"write {name}.experiment.yaml"
            words = f"there is no experiment {name!r} in the project"
            raise UsageError(words, help=advice, code="W902")
        return read_experiment(self.project, files[name])

    def study(self, name: str) -> Study:
        return AdvisedStudy(self.project, self._store, self.read(name), self.providers.settings)

    def listed(self) -> list[ExperimentStatus]:
        """All experiments that have a file, or runs, the newest first."""
        runs: dict[str, list[RunRow]] = {}
        for row in self._store.list_runs(RunFilter(key=PREFIX), 2**31):
            runs.setdefault(row.key.removeprefix(PREFIX).partition(":")[0], []).append(row)
        files, asked = self.files(), self.table.all()
        known = {key_prefix(n).removeprefix(PREFIX).rstrip(":"): n for n in files}
        found = [self._listed(name, file, asked.get(name)) for name, file in files.items()]
        for plain, rows in runs.items():
            if plain not in known:
                found.append(
                    ExperimentStatus(plain, "", "open", runs=len(rows), spent_usd=_cost(rows))
                )
                found[-1].updated_at = max(row.updated_at for row in rows)
        for each in found:
            own = runs.get(key_prefix(each.name).removeprefix(PREFIX).rstrip(":"), [])
            each.runs = len(own)
        return sorted(found, key=lambda each: -(each.updated_at or 0.0))

    def _listed(self, name: str, file: str, asked: AskedExperiment | None) -> ExperimentStatus:
        conductor = self._conductors.get(name)
        try:
            read = conductor.experiment if conductor else read_experiment(self.project, file)
            study = Study(self.project, self._store, read, self.providers.settings)
        except (InvalidWorkflow, UsageError) as fault:
            return ExperimentStatus(name, file, "failed", trouble=_words(fault))
        standing = standing_of(study, asked)
        if standing.state == "done":
            standing.best = self._best(study)
        return standing

    def _best(self, study: Study) -> dict[str, Any] | None:
        """The best variant of one that is done, which is computed once."""
        name, keys = study.experiment.name, [trial.key for block in study.blocks for trial in block]
        stamp = digest(keys, [row.updated_at for row in study.rows.values()])
        if self._bests.get(name, ("", None))[0] != stamp:
            self._bests[name] = stamp, study.report().best()
        return self._bests[name][1]

    async def ask(self, file: str, *, budget: float | None = None, fresh: bool = False) -> str:
        """Has an experiment conducted, by whoever sees it first; gives its name."""

        def check() -> AskedExperiment:
            experiment = read_experiment(self.project, file)
            ExperimentRunner(self.project, self.driving, self.providers, experiment)
            newest = generation_of(self._store, experiment.name)
            generation = max(1, newest + fresh)
            return AskedExperiment(experiment.name, self._root, file, budget, generation)

        asked = await asyncio.to_thread(check)
        await self.table.ask(asked)
        self.awake.set()
        return asked.name

    async def stop(self, name: str) -> None:
        """Begins no more trials; those under way go on to their end."""
        if not await self.table.stop(name):
            raise UsageError(f"experiment {name!r} is not running", code="W905")
        self.awake.set()

    async def work(self) -> None:
        """Goes on until it is cancelled."""
        while not self._store.is_mirror:
            try:
                await self.look()
            except WhorlError as fault:
                log.warning("experiments wait: %s", safe(str(fault)))
            self.awake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self.awake.wait()

    async def look(self) -> None:
        """Takes what is asked for, keeps what is conducted here, and leaves what is stopped."""
        if self.driving.is_closing:
            return
        for name, asked in (await asyncio.to_thread(self.table.all)).items():
            if asked.root != self._root:
                continue
            if name in self._tasks:
                is_kept = asked.state == "asked" and await self.table.claim(name, self._owner)
                if not is_kept and name in self._conductors:
                    self._conductors[name].stop()
            elif asked.state == "asked" and await self.table.claim(name, self._owner):
                self._has_claimed = True
                self._tasks[name] = asyncio.create_task(self._conduct(asked))

    async def settled(self, name: str) -> AskedExperiment:
        """Conducts until nobody wants this one conducted any more; gives what came of it."""
        while True:
            await self.look()
            asked = self.table.all()[name]
            if name in self._tasks:
                await asyncio.wait({self._tasks[name]}, timeout=LOOK_S)
            elif asked.state != "asked":
                return asked
            else:
                await asyncio.sleep(LOOK_S)

    async def _conduct(self, asked: AskedExperiment) -> None:
        name = asked.name
        state: State = "failed"
        reason, conductor = "", None
        try:
            conductor = await asyncio.to_thread(self._opened, asked)
            self._conductors[name] = conductor
            progress = await conductor.run()
            state = "paused" if progress.is_paused else "done"
        except WhorlError as fault:
            reason = _words(fault)
            log.warning("experiment %s has failed: %s", safe(name), safe(reason))
        finally:
            self._tasks.pop(name, None)
            self._conductors.pop(name, None)
        # One that was stopped, or whose process ends, is as it was asked for.
        if not self.driving.is_closing and (conductor is None or not conductor.is_stopped):
            await self.table.settle(name, self._owner, state, reason)
        self.awake.set()

    def _opened(self, asked: AskedExperiment) -> ExperimentRunner:
        experiment = read_experiment(self.project, asked.file)
        conductor = ExperimentRunner(self.project, self.driving, self.providers, experiment)
        conductor.open(budget=asked.budget_usd, generation=asked.generation)
        return conductor

    def run_left(self) -> None:
        """Each experiment sees that by itself."""

    def health(self) -> dict[str, float]:
        return {}

    async def close(self) -> None:
        """Leaves what is conducted here to others; called once no run is driven any more."""
        for conductor in self._conductors.values():
            conductor.stop()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._has_claimed:
            with suppress(WhorlError):
                await self.table.release(self._owner)


def standing_of(study: Study, asked: AskedExperiment | None) -> ExperimentStatus:
    """How far an experiment is, by its runs and by who was asked for it."""
    experiment = study.experiment
    progress = progress_of(study)
    if asked is not None and asked.budget_usd is not None:
        progress.budget_usd = asked.budget_usd
    state = "new" if not study.rows else "open"
    if progress.done == progress.trials and not _lacks_grades(study):
        state = "done"
    if progress.running:
        state = "running"
    reason = ""
    if asked is not None and asked.state != "done" and (state != "done" or asked.state == "asked"):
        state = "running" if asked.state == "asked" else asked.state
        reason = asked.reason
    rows = study.rows.values()
    return ExperimentStatus(
        experiment.name,
        experiment.file,
        state,
        reason,
        experiment=experiment,
        progress=progress,
        runs=len(study.rows),
        spent_usd=_cost(rows),
        updated_at=max((row.updated_at for row in rows), default=None),
    )


def _lacks_grades(study: Study) -> bool:
    """Whether a grading has stopped before its end, and its result has no grade."""
    gradings = (row for key, row in study.rows.items() if is_grading(key))
    if all(row.status in (*ENDED, "waiting") for row in gradings):
        return False
    return bool(notes.ungraded(study.experiment, [one for block in study.graded for one in block]))


def progress_of(study: Study) -> Progress:
    """What the runs of an experiment tell of how far it is, whoever conducts it."""
    experiment, rows = study.experiment, study.rows
    variants = dict.fromkeys(study.prepared, 0)
    made = Progress(experiment.trials, len(experiment.cases), variants=variants)
    made.budget_usd, made.spent_usd = experiment.budget, _cost(rows.values())
    trials_usd = 0.0
    for block in study.blocks:
        own = {trial.key: row for trial in block if (row := rows.get(trial.key)) is not None}
        done = [trial for trial in block if _is_done(study, trial)]
        for trial in done:
            made.variants[trial.variant] += 1
        made.done += len(done)
        made.running += sum(row.status == "running" for row in own.values())
        trials_usd += _cost(own.values())
        if len(done) == len(block):
            made.whole += 1
            made.whole_usd += _cost(own.values())
    gradings = [row for key, row in rows.items() if is_grading(key)]
    made.graded = sum(row.status == "succeeded" for row in gradings)
    made.people = sum(row.status == "waiting" for row in gradings)
    made.running += sum(row.status == "running" for row in gradings)
    made.others_usd = made.spent_usd - trials_usd - _cost(gradings)
    if made.done:
        # Which case a grading is of is not looked up: each trial has the same share of them.
        of_whole = made.whole * made.trials / made.cases
        made.whole_usd += _cost(gradings) * of_whole / made.done
    return made


def _is_done(study: Study, trial: Trial) -> bool:
    """Whether a trial has ended, and not for want of money that it may have now."""
    row = study.rows.get(trial.key)
    if row is None or row.status not in (*ENDED, "paused"):
        return False
    may_have_more = trial.may_have_more(row, doubt_usd(study.store, row))
    return not (may_have_more and is_short(study.store, row))


def queue_of(study: Study) -> list[dict[str, Any]]:
    """What waits for a person's grade, in a drawn order, without a word of its variant."""
    waiting = [r for key, r in study.rows.items() if is_grading(key) and r.status == "waiting"]
    seed = study.experiment.order_seed
    return [
        {
            "run": row.id,
            "grader": row.name.removeprefix("grade-"),
            "address": gate.address,
            "message": gate.message,
            "show": gate.show,
        }
        for row in sorted(waiting, key=lambda row: digest(seed, row.key))
        for gate in open_gates(study.store, row.id)
    ]


def _cost(rows: Any) -> float:
    return float(sum(row.cost_usd for row in rows))


def _words(fault: WhorlError) -> str:
    if isinstance(fault, InvalidWorkflow) and fault.diagnostics:
        return fault.diagnostics[0].message
    return str(fault)


def experiments_of(state: ServerState) -> Experiments:
    return Experiments(state.project, state.providers, state.driving)
