"""The interface of a runtime, which starts, drives, steers, follows and forks runs.

A watcher is notified of new entries.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Protocol

from whorl.errors import UsageError, safe
from whorl.lazily import dataclass
from whorl.plugins import needed
from whorl.runtimes.sqlite.listing import MOCKED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from whorl.errors import StoreError
    from whorl.interpreter.events import Event
    from whorl.interpreter.plan import Plan
    from whorl.interpreter.requests import Refused
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.settings import Settings, TemporalSettings
    from whorl.runtimes.journal.forking import Fork
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.journal.keys import Registry
    from whorl.runtimes.sqlite import MemoryRow, SqliteStore
    from whorl.runtimes.start_options import Start


class Watcher(Protocol):
    """Receives the news of runs."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Receives entries that are durable."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """Receives text that a task has streamed."""
        return

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Learns that the store cannot be written; the run waits until it can."""
        return


class Runtime(Protocol):
    """Runs and changes runs; `store` is for reading only.

    `origin` is who starts runs (see `NewRun`), `url` the address of this runtime's server.
    """

    store: SqliteStore
    origin: str
    url: str

    @property
    def check(self) -> Callable[[Sequence[Event]], None]:
        """Called with the requests before a run is driven.

        Raises UsageError if this process may not drive the run.
        """

    async def start(self, workflow: Workflow, start: Start) -> tuple[RunId, bool]:
        """Stores a new run; returns False if a run with this key exists."""

    async def drive(
        self, run: RunId, requests: Sequence[Event] = (), *, at_least: float = 0.0
    ) -> str:
        """Delivers these requests and drives the run until it ends or waits; returns its status.

        The run's time is at least `at_least`, even if the clock is behind.
        """

    async def request(self, run: RunId, event: Event) -> bool:
        """Delivers a request to a driven run; returns False if no process drives it.

        Raises UsageError if the run refuses the request in its present state.
        """

    async def fork(self, source: RunId, fork: Fork) -> tuple[RunId, bool]:
        """Makes a run that redoes an iteration of another run; False if its key exists."""

    def follow(self, run: RunId, after: int = 0) -> AsyncIterator[Entry]:
        """Yields the entries of a run, also of other processes, until no process drives it."""

    def plan(self, run: RunId) -> Plan:
        """The plan of the workflow that a run pins."""

    def is_asleep(self, run: RunId) -> bool:
        """Returns whether a run of this process waits so long that it is not in memory."""

    def drain(self, *, by_person: bool = False) -> int:
        """Starts no new calls, and leaves each run when its calls have ended.

        Returns the number of open calls. If a person has stopped the runs, no server resumes them.
        """

    def stop(self) -> None:
        """Leaves all runs at once."""


def raise_objection(refusal: Refused | None) -> None:
    """Raises the refusal of a request, if there is one."""
    if refusal is not None:
        raise UsageError(str(refusal), facts=refusal.facts)


def check_unmocked(store: SqliteStore, run: RunId, *, by_mocks: bool = False) -> None:
    """Refuses to mix mocked and real answers when a run is resumed."""
    row = store.run(run)
    name = row.labels.get(MOCKED)
    if name and not by_mocks:
        test = shlex.quote(f"--mocks={name.partition(': ')[2]}")
        advice = f"run it again: `whorl run {safe(os.path.relpath(row.file))} {safe(test)}`"
        words = f"run {run} has mocked answers, so it cannot continue with real ones"
        raise UsageError(words, help=advice, code="W905")
    if by_mocks and not name:
        words = f"run {run} has real answers, so it cannot continue with mocks"
        raise UsageError(words, help=f"`whorl resume {run}` continues it", code="W905")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A runtime on many machines; a local store mirrors its runs.

    `open` receives the providers, the store and the arguments of `open_runtime`. `refresh` updates
    a mirror, `lag` says how many runs it lacks and since when.
    """

    open: Callable[..., AbstractAsyncContextManager[Runtime]]
    refresh: Callable[[Settings, Path, Registry], None]
    lag: Callable[[Settings, Path, Registry], tuple[int, float]]
    findings: Callable[[TemporalSettings], Coroutine[None, None, list[tuple[str, bool, str]]]]
    memory: Callable[[TemporalSettings], list[tuple[MemoryRow, list[Json]]]]
    forget: Callable[[TemporalSettings, str], int]


def cluster() -> Cluster:
    """Returns the cluster runtime; raises UsageError if it is not installed."""
    found: Cluster = needed("cluster")
    return found
