"""Driving a run from a command: the runtime, the one who looks on, signals, the final words."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whorl.errors import UsageError, safe
from whorl.interfaces.cli.asking import Asker, Gone
from whorl.interfaces.cli.options import print_json
from whorl.interfaces.cli.view.audience import (
    DialectEvents,
    Events,
    Lines,
    Silence,
    check_words,
)
from whorl.interfaces.cli.view.closing import final_lines, print_outputs
from whorl.interfaces.cli.view.plain import is_plain
from whorl.interfaces.cli.view.prompt import is_attended
from whorl.interfaces.progress import Progress
from whorl.interfaces.wording import EXIT_CODES
from whorl.interpreter.events import Event
from whorl.services.results import full_result
from whorl.services.runs import open_runtime
from whorl.services.steering import objections

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence, Set

    from whorl.interfaces.cli.view.audience import Audience
    from whorl.ir import Workflow
    from whorl.providers.registry import Providers
    from whorl.runtimes.driver import Workers
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

T = TypeVar("T")

# Above this many entries the past is told by the loops alone, since reading all would take long.
PAST_MAX = 20_000
# How long a command waits until another process has taken its request.
PATIENCE_S = 5.0
POLL_S = 0.05


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
        await self._drive(run, requests)
        return await self.settle(run)

    async def follow(self, run: RunId) -> int:
        """Shows a run that another process drives, until it ends."""
        return await self.settle(run) if await self._follow(run) else 0

    async def settle(self, run: RunId) -> int:
        """Asks the person at the terminal what the run waits for; shows what it came to."""
        asker = None if self.show.as_json or self.show.events or not is_attended() else Asker()
        while asker is not None and not self.was_stopped:
            result: dict[str, Any] = full_result(self.store, run)
            if result["status"] == "running":
                if not await self._follow(run):
                    return 0
                continue
            if result["status"] != "waiting":
                break
            try:
                event = await asker.answer(self.store, run, result["waiting_for"])
                if event is None:
                    break
                if not await self.carry_out(run, event):
                    return 0
            except Gone:
                say("it was answered elsewhere")
            except UsageError as fault:
                say(f"error[{fault.code}]: {safe(str(fault))}")
        return self.finish(run, asker.shown if asker else frozenset())

    async def carry_out(self, run: RunId, event: Event) -> bool:
        """Brings a request to a run, and shows the run as it goes on; false: the person left it."""
        before = self.store.run(run).last_seq
        with objections(run):
            is_driven = await self.runtime.request(run, event)
        if not is_driven:
            await self._drive(run, [event])
            return True
        if not await self._taken(run, before):
            # Its owner gave it up before the request came: whoever drives it next takes it.
            await self._drive(run, ())
            return True
        say(f"run {run} is driven by another process, which goes on with it")
        return await self._follow(run)

    async def _taken(self, run: RunId, before: int) -> bool:
        """Waits until the owner has journaled something; false: it has given the run up."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            row = self.store.run(run)
            if row.last_seq > before:
                return True
            if row.status != "running" and not self.store.is_owned(run):
                return False
            await asyncio.sleep(POLL_S)
        return True

    async def _drive(self, run: RunId, requests: Sequence[Event]) -> None:
        self.audience.offer({"p": ("pause", lambda: self._pause(run))})
        self.audience.begin(past_of(self.store, run), self.runtime.plan(run).workflow)
        if self.show.events == "journal" and self.store.run(run).last_seq == 1:
            self.audience.entries(run, list(self.store.read(run)))
        try:
            with self._leaving_on_signals(), objections(run):
                await self.runtime.drive(run, requests)
        finally:
            self.audience.end(self._status(run), self.store.run(run).mark)

    async def _follow(self, run: RunId) -> bool:
        """Shows a run until nobody drives it; false: the person has left it before."""
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
        return not has_left

    async def _watch(self, run: RunId, after: int) -> None:
        async for entry in self.runtime.follow(run, after):
            self.audience.entries(run, [entry])

    def _status(self, run: RunId) -> str:
        status = self.store.run(run).status
        return "interrupted" if self.was_stopped and status == "running" else status

    def _pause(self, run: RunId) -> None:
        event = Event("run.paused", "", time.time(), {"by": "person"})
        self._asking = asyncio.create_task(self.runtime.request(run, event))

    def finish(self, run: RunId, known: Set[str] = frozenset()) -> int:
        """Prints what the run came to, without questions that are known; gives the exit code."""
        result = full_result(self.store, run)
        status = str(result["status"])
        if self.show.as_json:
            print_json(result)
        else:
            if status == "succeeded" and not self.show.events:
                print_outputs(result["outputs"])  # type: ignore[arg-type]
            for said in final_lines(self.store, run, result, known=known):
                say(said)
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
