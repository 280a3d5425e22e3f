"""A run in the hands of a Python program: watched, waited for and steered."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from whorl.errors import UsageError
from whorl.interfaces.python.values import (
    Event,
    Result,
    count,
    dollars,
    plain_table,
    result_from,
    text,
)
from whorl.interfaces.wording import advice, with_help
from whorl.runtimes.folding import Fork
from whorl.services import steering
from whorl.services.results import result_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from whorl.interfaces.python.values import JsonLike, Mark, Status
    from whorl.interpreter.events import Event as JournalEvent
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.driving import Driving


_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Opened:
    """What an open session has; `stack` closes it."""

    stack: AsyncExitStack
    providers: Providers
    runtime: LocalRuntime
    driving: Driving

    @property
    def store(self) -> SqliteStore:
        """Where the runs are kept."""
        return self.runtime.store


class Run:
    """A run of a session. It is driven in the background while the session is open.

    Whatever is asked of it stands in its journal when the call returns; what does not fit the run
    as it is raises UsageError, and changes nothing.
    """

    def __init__(self, opened: Callable[[], Opened], run: RunId) -> None:
        self._run = run
        self._opened = opened

    def __repr__(self) -> str:
        return f"<whorl.Run {self.id}>"

    @property
    def id(self) -> str:
        """The id, which finds the run again: `session.run(id)`."""
        return str(self._run)

    @property
    def status(self) -> Status:
        """running, waiting, paused, interrupted, or how it ended."""
        return cast("Status", self._store.run(self._run).status)

    @property
    def mark(self) -> Mark | None:
        """`limit` or `budget` where the run succeeded with a loop that ended at one."""
        return cast("Mark | None", self._store.run(self._run).mark or None)

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """The entries of the journal as they become durable, until the run ends or waits."""
        opened = self._opened()
        while True:
            is_driven = opened.driving.is_driven(self._run)
            async for entry in opened.runtime.follow(self._run, after):
                after, event = entry.seq, entry.event
                yield Event(entry.seq, event.kind, event.address, event.at, event.body)
            if not is_driven:
                return
            await asyncio.sleep(_POLL_S)

    async def result(self) -> Result:
        """Waits until the run has ended, waits for a person, or is paused."""
        await self._opened().driving.settled(self._run)
        return result_from(with_help(result_of(self._store, self._run)))

    async def pause(self) -> None:
        """Lets calls that are under way finish, and starts no new ones."""
        await self._ask(lambda: steering.paused(self._store, self._run))

    async def resume(
        self, *, budget: float | None = None, tokens: int | None = None, calls: int | None = None
    ) -> None:
        """Goes on after a pause or a crash; of a failed run, tries again what failed.

        `budget` (dollars), `tokens` and `calls` are added to what the run may spend. A run that is
        under way, or waits for a person, is left as it is.
        """
        more = steering.More(dollars(budget), count(tokens, "tokens"), count(calls, "calls"))
        if not more.amounts() and self.status in ("running", "waiting", "interrupted"):
            await self._opened().driving.take_up(self._run)
            return
        await self._ask(lambda: steering.resumed(more))

    async def cancel(self) -> None:
        """Ends the run; what is under way is cancelled."""
        await self._ask(steering.cancelled)

    async def go_on(
        self,
        iterations: int | None = None,
        *,
        at: str | None = None,
        budget: float | None = None,
        tokens: int | None = None,
        calls: int | None = None,
    ) -> None:
        """Reopens a loop for more iterations; what follows it runs again.

        `budget` (dollars), `tokens` and `calls` are added to what stopped it: the loop's own
        budget, or that of the run. Without iterations and a place, every loop that stopped for its
        budget goes on.
        """
        number, loop = count(iterations, "iterations"), text(at, "at")
        more = steering.More(dollars(budget), count(tokens, "tokens"), count(calls, "calls"))
        if number is None and not more.amounts():
            raise UsageError("say how much more: iterations, budget, tokens or calls")
        await self._ask(
            lambda: steering.continued(self._store, self._run, loop, iterations=number, more=more)
        )

    async def accept(self, iteration: int, *, at: str | None = None) -> None:
        """Makes an earlier iteration the loop's result; what follows it runs again."""
        number, loop = count(iteration, "iteration"), text(at, "at")
        if number is None:
            raise UsageError("say which iteration to accept")
        await self._ask(lambda: steering.chosen(self._store, self._run, loop, number))

    async def decide(self, approved: bool, *, feedback: str = "", at: str | None = None) -> None:
        """Answers what the run waits for."""
        if not isinstance(approved, bool):
            raise UsageError(f"approved is {approved!r:.80}, which is neither True nor False")
        words, place = text(feedback, "feedback"), text(at, "at")

        def make() -> JournalEvent:
            return steering.decided(
                self._store, self._run, place, approved=approved, feedback=words, by="python"
            )

        await self._ask(make)

    async def fork(self, at: str, values: Mapping[str, JsonLike] | None = None) -> Run:
        """A new run that keeps the iterations before `at` (such as `polish[3]`) and redoes it."""
        fork = Fork(text(at, "at"), plain_table(values, "values"))
        opened = self._opened()
        with _in_python(self._run):
            run = await steering.new_fork(opened.store, opened.providers, self._run, fork)
        opened.driving.drive(run)
        return Run(self._opened, run)

    @property
    def _store(self) -> SqliteStore:
        return self._opened().store

    async def _ask(self, make: Callable[[], JournalEvent]) -> None:
        with _in_python(self._run):
            await self._opened().driving.ask(self._run, make)


@contextmanager
def _in_python(run: str) -> Iterator[None]:
    """Says what to do about a refusal; an option of the command line is a parameter here."""
    try:
        yield
    except UsageError as fault:
        words = fault.help or advice("W905", fault.facts, run)
        words = words.replace("--at ", "at=").replace("--at", "`at`")
        raise UsageError(str(fault), help=words, code=fault.code) from fault
