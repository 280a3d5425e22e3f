"""The experiments of a project: their files, their requests, and those that this process runs.

A request leaves a row in the store. A server or a background process claims the row and runs the
experiment. If that process ends, the next one continues.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from whorl.errors import InvalidWorkflow, UsageError, WhorlError, did_you_mean, plural, safe
from whorl.lazily import dataclass
from whorl.runtimes.service.tables import change, changed, rows
from whorl.runtimes.sqlite.listing import RunFilter
from whorl.services.project import candidates
from whorl.wings.experiments.document import ENDINGS, read_experiment
from whorl.wings.experiments.results import Study
from whorl.wings.experiments.runner import ExperimentRunner
from whorl.wings.experiments.trials import generation_of, key_prefix

if TYPE_CHECKING:
    import apsw

    from whorl.interfaces.http.state import ServerState
    from whorl.providers.registry import Providers
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving

# `asked`: it should run; `paused`: its budget did not allow more; `stopped`: by a person.
State = Literal["asked", "paused", "stopped", "failed", "done"]
LEASE_S: Final = 30.0
_REASON_MAX: Final = 500
_COLUMNS: Final = "name, root, file, budget_usd, generation, state, reason"
_DEFINITIONS: Final = """
CREATE TABLE IF NOT EXISTS experiments(
    name TEXT PRIMARY KEY, root TEXT NOT NULL, file TEXT NOT NULL, budget_usd REAL,
    generation INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, asked_at REAL NOT NULL,
    owner TEXT NOT NULL, beat_at REAL NOT NULL
) WITHOUT ROWID;
"""
_ALL: Final = f"SELECT {_COLUMNS} FROM experiments ORDER BY name"
_PUT: Final = f"""INSERT INTO experiments({_COLUMNS}, asked_at, owner, beat_at)
    VALUES(?, ?, ?, ?, ?, 'asked', '', ?, '', 0)
    ON CONFLICT(name) DO UPDATE SET root = excluded.root, file = excluded.file,
    budget_usd = excluded.budget_usd, generation = excluded.generation, state = 'asked',
    reason = '', asked_at = excluded.asked_at, owner = '', beat_at = 0"""
_IS_CONDUCTED: Final = """SELECT 1 FROM experiments
    WHERE name = ? AND state = 'asked' AND owner <> '' AND beat_at > ?"""
_CLAIM: Final = """UPDATE experiments SET owner = ?2, beat_at = ?3
    WHERE name = ?1 AND state = 'asked' AND (owner IN ('', ?2) OR beat_at <= ?4)"""
_SETTLE: Final = """UPDATE experiments SET state = ?3, reason = ?4, owner = ''
    WHERE name = ?1 AND owner = ?2 AND state = 'asked'"""
_STOP: Final = "UPDATE experiments SET state = 'stopped' WHERE name = ? AND state = 'asked'"
LOOK_S: Final = 2.0

log = logging.getLogger("whorl")


@dataclass(frozen=True, slots=True)
class AskedExperiment:
    """A request to run an experiment; `root` is the folder of its project."""

    name: str
    root: str
    file: str
    budget_usd: float | None
    generation: int
    state: State = "asked"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ExperimentTable:
    """The requests in a store to run experiments."""

    store: SqliteStore

    def all(self) -> dict[str, AskedExperiment]:
        found = (AskedExperiment(*row) for row in rows(self.store, "experiments", _ALL))
        return {asked.name: asked for asked in found}

    async def ask(self, asked: AskedExperiment) -> None:
        """Requests an experiment; raises UsageError R902 if a process runs it already."""
        now = self.store.clock()

        def apply(connection: apsw.Connection) -> None:
            if connection.execute(_IS_CONDUCTED, (asked.name, now - LEASE_S)).fetchall():
                words = f"experiment {asked.name!r} is running already"
                raise UsageError(words, help="stop it first, or wait until it is done", code="R902")
            values = (asked.name, asked.root, asked.file, asked.budget_usd, asked.generation, now)
            connection.execute(_PUT, values)

        await change(self.store, apply, _DEFINITIONS)

    async def claim(self, name: str, owner: str) -> bool:
        """Claims or keeps an experiment; returns False if another process has it or it ended."""
        now = self.store.clock()
        return await self._changed(_CLAIM, (name, owner, now, now - LEASE_S))

    async def settle(self, name: str, owner: str, state: State, reason: str = "") -> None:
        await self._changed(_SETTLE, (name, owner, state, reason[:_REASON_MAX]))

    async def release(self, owner: str) -> None:
        """Releases all experiments of a process, so that others can claim them."""
        await self._changed("UPDATE experiments SET owner = '' WHERE owner = ?", (owner,))

    async def stop(self, name: str) -> bool:
        """Stops an experiment; returns False if it is not requested."""
        return await self._changed(_STOP, (name,))

    async def remove(self, name: str) -> None:
        await self._changed("DELETE FROM experiments WHERE name = ?", (name,))

    async def _changed(self, statement: str, values: tuple[str | float, ...]) -> bool:
        return await changed(self.store, statement, values, _DEFINITIONS) > 0


async def remove(project: Project, name: str, again: str) -> int:
    """Deletes all runs of an experiment, or none if a process drives one of them.

    Returns their number; `again` is the command to repeat once no process drives them.
    """
    async with project.open_store() as store:
        found = store.list_runs(RunFilter(key=key_prefix(name)), 2**31)
        if driven := sum(store.is_owned(row.id) for row in found):
            words = f"experiment {name!r} has {plural(driven, 'running run')}"
            raise UsageError(words, help=f"once that has ended: {again}", code="R902")
        await ExperimentTable(store).remove(name)
        return len((await store.remove(key_prefix(name))).runs)


class Experiments:
    """Manages the experiments of a project."""

    def __init__(self, project: Project, providers: Providers, driving: Driving) -> None:
        self.project, self.providers, self.driving = project, providers, driving
        self._store, self._root = driving.runtime.store, str(project.root)
        self.table = ExperimentTable(self._store)
        self.awake = asyncio.Event()
        self._owner = secrets.token_hex(8)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._has_claimed = False
        self._conductors: dict[str, ExperimentRunner] = {}

    def files(self) -> dict[str, str]:
        """Returns the experiment files of the project, by their names."""
        found: dict[str, str] = {}
        for path, _ in sorted(candidates(self._root)):
            if path.endswith(ENDINGS):
                name = os.path.basename(path).partition(".")[0]
                with suppress(WhorlError):
                    name = read_experiment(self.project, path).name
                found.setdefault(name, path)
        return found

    def study(self, name: str, file: str = "") -> Study:
        """Returns the experiment of that name; raises UsageError W902 if no file has it.

        If this process runs it, the result is as it was read then, even if its files changed.
        """
        read = self._conductors[name].experiment if name in self._conductors else None
        if read is None and not file:
            files = self.files()
            if name not in files:
                advice = did_you_mean(name, files) or f"write {name}.experiment.yaml"
                words = f"there is no experiment {name!r} in the project"
                raise UsageError(words, help=advice, code="W902")
            file = files[name]
        read = read or read_experiment(self.project, file)
        return Study(self.project, self._store, read, self.providers.settings)

    async def ask(self, file: str, *, budget: float | None = None, fresh: bool = False) -> str:
        """Requests an experiment, which the first process to see it runs; returns its name."""

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
        """Starts no more trials. Running trials finish."""
        if not await self.table.stop(name):
            raise UsageError(f"experiment {name!r} is not running", code="W905")
        self.awake.set()

    async def work(self) -> None:
        """Claims and runs experiments until it is cancelled."""
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
        """Claims requested experiments, renews its claims, and stops those that users stopped."""
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
        """Runs an experiment until it is no longer requested; returns its last state."""
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
            reason = fault_words(fault)
            log.warning("experiment %s has failed: %s", safe(name), safe(reason))
        finally:
            self._tasks.pop(name, None)
            self._conductors.pop(name, None)
        # If it was stopped, or its process ends, the request stays as it is.
        if not self.driving.is_closing and (conductor is None or not conductor.is_stopped):
            await self.table.settle(name, self._owner, state, reason)
        self.awake.set()

    def _opened(self, asked: AskedExperiment) -> ExperimentRunner:
        experiment = read_experiment(self.project, asked.file)
        conductor = ExperimentRunner(self.project, self.driving, self.providers, experiment)
        conductor.open(budget=asked.budget_usd, generation=asked.generation)
        return conductor

    def run_left(self) -> None:
        """Does nothing, since each experiment notices that itself."""

    def health(self) -> dict[str, float]:
        return {}

    async def close(self) -> None:
        """Releases the experiments of this process; called once no run is driven any more."""
        for conductor in self._conductors.values():
            conductor.stop()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._has_claimed:
            with suppress(WhorlError):
                await self.table.release(self._owner)


def fault_words(fault: WhorlError) -> str:
    if isinstance(fault, InvalidWorkflow) and fault.diagnostics:
        return fault.diagnostics[0].message
    return str(fault)


def experiments_of(state: ServerState) -> Experiments:
    return Experiments(state.project, state.providers, state.driving)
