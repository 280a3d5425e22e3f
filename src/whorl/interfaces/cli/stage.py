"""Driving a run from a command: the runtime, the one who looks on, signals, the final words."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.view.audience import (
    DialectEvents,
    Events,
    Lines,
    Silence,
    check_words,
)
from whorl.interfaces.cli.view.closing import final_lines, show_result
from whorl.interfaces.cli.view.plain import is_plain
from whorl.interfaces.progress import Progress
from whorl.interfaces.project import open_runtime
from whorl.interfaces.results import full_result
from whorl.interfaces.steering import fitting
from whorl.interfaces.wording import EXIT_CODES
from whorl.interpreter.events import Event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence

    from whorl.interfaces.cli.view.audience import Audience
    from whorl.interfaces.project import Project
    from whorl.ir import Workflow
    from whorl.providers.registry import Providers
    from whorl.runtimes.driver import Workers
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.sqlite import SqliteStore

T = TypeVar("T")

# Above this many entries the past is told by the loops alone, since reading all would take long.
PAST_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Show:
    """How a command shows what happens."""

    as_json: bool = False
    events: str | None = None
    verbose: bool = False

    def check(self, workflow: Workflow) -> None:
        """Refuses what cannot be shown of a workflow, before a run of it is made."""
        if self.as_json and self.events:
            raise UsageError("--json and --events exclude each other", help="leave one of them out")
        if self.events == "dialect":
            check_words(workflow)

    def audience(self) -> Audience:
        """Who looks on."""
        if self.as_json and not self.events:
            return Lines(verbose=True) if self.verbose else Silence()
        if self.events:
            return DialectEvents() if self.events == "dialect" else Events()
        is_able = os.environ.get("TERM", "dumb") != "dumb" and not is_plain(os.environ)
        if sys.stderr.isatty() and is_able and not self.verbose:
            from whorl.interfaces.cli.view.live import Live

            return Live()
        return Lines(verbose=self.verbose)


class Stage:
    """A runtime with an audience."""

    def __init__(
        self, runtime: LocalRuntime, providers: Providers, audience: Audience, show: Show
    ) -> None:
        self.runtime = runtime
        self.providers = providers
        self.audience = audience
        self.show = show
        self.was_stopped = False
        self._asking: asyncio.Task[bool] | None = None

    @property
    def store(self) -> SqliteStore:
        """The store of the runtime."""
        return self.runtime.store

    async def drive(self, run: RunId, requests: Sequence[Event] = ()) -> int:
        """Drives a run to its end, a pause or a question; shows it; gives the exit code."""
        self.audience.offer({"p": ("pause", lambda: self._pause(run))})
        self.audience.begin(past_of(self.store, run), self.runtime.plan(run).workflow)
        if self.show.events == "journal" and self.store.run(run).last_seq == 1:
            self.audience.entries(run, list(self.store.read(run)))
        try:
            with self._leaving_on_signals(), fitting():
                await self.runtime.drive(run, requests)
        finally:
            self.audience.end(self._status(run), self.store.run(run).mark)
        return self.finish(run)

    async def follow(self, run: RunId) -> int:
        """Shows a run that another process drives, until it ends."""
        after = self.store.run(run).last_seq
        watching = asyncio.create_task(self._watch(run, after))
        self.audience.offer({"q": ("leave it alone", lambda: _cancel(watching))})
        self.audience.begin(past_of(self.store, run), self.runtime.plan(run).workflow)
        has_left = False
        try:
            await watching
        except asyncio.CancelledError:
            has_left = True
        finally:
            self.audience.end(self._status(run), self.store.run(run).mark)
        if has_left:
            say(f"run {run} goes on without you; next: whorl watch {run}")
            return 0
        return self.finish(run)

    async def _watch(self, run: RunId, after: int) -> None:
        async for entry in self.runtime.follow(run, after):
            self.audience.entries(run, [entry])

    def _status(self, run: RunId) -> str:
        status = self.store.run(run).status
        return "interrupted" if self.was_stopped and status == "running" else status

    def _pause(self, run: RunId) -> None:
        event = Event("run.paused", "", time.time(), {"by": "person"})
        self._asking = asyncio.create_task(self.runtime.request(run, event))

    def finish(self, run: RunId) -> int:
        """Prints what the run came to; gives the exit code."""
        result = full_result(self.store, run)
        status = str(result["status"])
        if self.show.events:
            for said in final_lines(self.store, run, result):
                say(said)
        else:
            show_result(self.store, run, result, as_json=self.show.as_json)
        return EXIT_CODES.get(status, 1)

    @contextmanager
    def _leaving_on_signals(self) -> Iterator[None]:
        """The first signal leaves the run resumable; the second one kills."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)

        def leave(number: int, frame: object) -> None:
            for one in signals:
                signal.signal(one, die)
            self.was_stopped = True
            loop.call_soon_threadsafe(self.runtime.stop)

        def die(number: int, frame: object) -> None:
            self.audience.let_go()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        before = {one: signal.signal(one, leave) for one in signals}
        try:
            yield
        finally:
            for one, known in before.items():
                # Functions in threads may hold the process up after it was told to leave.
                signal.signal(one, signal.SIG_DFL if self.was_stopped else known)


@asynccontextmanager
async def on_stage(
    project: Project,
    show: Show,
    *,
    providers: Providers | None = None,
    workers: Workers | None = None,
) -> AsyncIterator[Stage]:
    """A stage on the project's store."""
    from whorl.providers.registry import Providers

    providers = providers or Providers(project.settings())
    audience = show.audience()
    async with open_runtime(project, providers, watcher=audience, workers=workers) as runtime:
        yield Stage(runtime, providers, audience, show)


def perform(work: Coroutine[object, object, T]) -> T:
    """Runs a command's coroutine; gives what it gives, mostly its exit code."""
    return asyncio.run(work)


def past_of(store: SqliteStore, run: RunId) -> Progress:
    """How far a run has come."""
    row = store.run(run)
    progress = Progress(run=run, workflow=row.name, budget_usd=row.budget_usd)
    if row.last_seq <= PAST_MAX:
        for entry in store.read(run):
            progress.take(entry.event)
        return progress
    for entry in store.read(run, limit=1):
        progress.take(entry.event)
    for loop in store.loops(run):
        if "[" in loop.address and loop.state != "running":
            continue
        for seq in (
            loop.started_seq,
            *[row.seq for row in store.newest_iterations(run, loop.address, 20)],
        ):
            for entry in store.read(run, after=seq - 1, limit=1):
                progress.take(entry.event)
        if loop.finished_seq is not None:
            for entry in store.read(run, after=loop.finished_seq - 1, limit=1):
                progress.take(entry.event)
    progress.calls, progress.tokens, progress.cost_usd = row.calls, row.tokens, row.cost_usd
    return progress


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def say(words: str) -> None:
    """Says something to the person, beside the output."""
    click.echo(words, err=True)
