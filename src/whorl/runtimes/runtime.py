"""What a runtime is to those who use one: it starts, drives, steers, follows and forks runs.

A watcher is one who looks on.
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
    """Somebody who looks on."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """These entries are durable."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """A task has streamed some text."""
        return

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """The store cannot be written; the run waits until it can."""
        return


class Runtime(Protocol):
    """Where runs are. `store` is there to be read: all that is done to runs goes through here.

    `origin` is who starts runs (see `NewRun`), `url` where a server of this runtime is called.
    """

    store: SqliteStore
    origin: str
    url: str

    @property
    def check(self) -> Callable[[Sequence[Event]], None]:
        """Is asked before a run is driven, with the requests that it is driven for.

        Raises UsageError where this process may not.
        """

    async def start(self, workflow: Workflow, start: Start) -> tuple[RunId, bool]:
        """Makes a run, durably; False: a run with this key exists already."""

    async def drive(
        self, run: RunId, requests: Sequence[Event] = (), *, at_least: float = 0.0
    ) -> str:
        """Has a run driven, after these requests, until it ends or waits; gives its status.

        For the run it is `at_least` that late.
        """

    async def request(self, run: RunId, event: Event) -> bool:
        """Brings a request to a run that is being driven; False: nobody drives it.

        Raises UsageError where the run as it is has something against it.
        """

    async def fork(self, source: RunId, fork: Fork) -> tuple[RunId, bool]:
        """Makes a run that redoes an iteration of another one; False: one with its key exists."""

    def follow(self, run: RunId, after: int = 0) -> AsyncIterator[Entry]:
        """The entries of a run as they come, until nobody drives it."""

    def plan(self, run: RunId) -> Plan:
        """The plan of the workflow that a run pins."""

    def is_asleep(self, run: RunId) -> bool:
        """Whether a run that is driven here waits for so long that it takes no room."""

    def drain(self, *, by_person: bool = False) -> int:
        """Begins nothing new here, and leaves runs once their calls have ended.

        Gives how many calls are waited for. Runs that a person has stopped are left to people.
        """

    def stop(self) -> None:
        """Leaves all runs at once."""


def raise_objection(refusal: Refused | None) -> None:
    """Raises what a run has against a request."""
    if refusal is not None:
        raise UsageError(str(refusal), facts=refusal.facts)


def check_unmocked(store: SqliteStore, run: RunId, *, by_mocks: bool = False) -> None:
    """Refuses to go on with a run whose answers are mocks, unless mocks answer: and then others."""
    row = store.run(run)
    name = row.labels.get(MOCKED)
    if name and not by_mocks:
        test = shlex.quote(f"--mocks={name.partition(': ')[2]}")
        advice = f"run it again: `whorl run {safe(os.path.relpath(row.file))} {safe(test)}`"
        words = f"run {run} has mocked answers, so it cannot go on with real ones"
        raise UsageError(words, help=advice, code="W905")
    if by_mocks and not name:
        words = f"run {run} has real answers, so it cannot go on with mocks"
        raise UsageError(words, help=f"`whorl resume {run}` goes on with it", code="W905")


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a runtime on many machines does beside its runs, of which a store here is a mirror.

    `open` is given the providers, the store and what `open_runtime` knows; `refresh` brings what is
    new into a mirror, `lag` says how many runs it lacks and since when.
    """

    open: Callable[..., AbstractAsyncContextManager[Runtime]]
    refresh: Callable[[Settings, Path, Registry], None]
    lag: Callable[[Settings, Path, Registry], tuple[int, float]]
    findings: Callable[[TemporalSettings], Coroutine[None, None, list[tuple[str, bool, str]]]]
    memory: Callable[[TemporalSettings], list[tuple[MemoryRow, list[Json]]]]
    forget: Callable[[TemporalSettings, str], int]


def cluster() -> Cluster:
    """Raises UsageError where this installation has none."""
    found: Cluster = needed("cluster")
    return found
