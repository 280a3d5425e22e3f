"""A run of a session: watched, steered and looked back at from Python, wherever it was started."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import AsyncExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from whorl.errors import UsageError
from whorl.interfaces.advice import advice, with_help
from whorl.interfaces.formatting import changes
from whorl.interfaces.python import values
from whorl.interfaces.python.events import Listeners, stream
from whorl.interfaces.python.values import (
    Event,
    Iteration,
    count,
    dollars,
    plain_table,
    text,
    usage_from,
)
from whorl.interfaces.status_words import why_document
from whorl.lazily import dataclass
from whorl.runtimes.journal.forking import Fork
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services import steering
from whorl.services.inspecting.places import (
    WAYS,
    Costs,
    costs_of,
    loop_named,
    results_of,
    side,
    unknown_place,
)
from whorl.services.inspecting.results import result_of, traceback_of
from whorl.services.records import LIMIT, RunRecords, document
from whorl.services.steering import check_functions, new_fork, program_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from types import EllipsisType

    from whorl.interfaces.python.events import E, StreamEvent
    from whorl.interfaces.python.values import JsonLike, Mark, Record, Result, Status
    from whorl.interpreter.events import Event as JournalEvent
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import IterationRow, RunId
    from whorl.runtimes.runtime import Runtime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.inspecting.places import By
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving


R = TypeVar("R")
_POLL_S = 0.02
ITERATIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Opened:
    """The parts of an open session; `stack` closes them."""

    stack: AsyncExitStack
    providers: Providers
    runtime: Runtime
    driving: Driving
    store: SqliteStore
    project: Project
    listeners: Listeners


class RunHistory:
    """What can be asked of a run at any time, also long after it has ended."""

    def __init__(self, project: Project, run: RunId) -> None:
        self._project, self._run = project, run

    def _reading(self) -> AbstractContextManager[SqliteStore]:
        return closing(self._project.open_store())

    def iterations(self, at: str = "") -> tuple[Iteration, ...]:
        """The finished iterations of a loop, with the outputs of their steps and their verdicts.

        `at` says which loop, if there are several; of very many iterations, the newest are given.
        """
        with self._reading() as store:
            loop = loop_named(store, self._run, text(at, "at"))
            rows = store.newest_iterations(self._run, loop, ITERATIONS_MAX)
            rows = [row for row in rows if row.status != "not_begun"]
            values = results_of(store, self._run, loop, [row.number for row in rows])
        return tuple(_iteration(row, values.get(row.number, {})) for row in rows)

    def why(self) -> dict[str, Any]:
        """Why the loops ended, as `whorl why --json` says it: each iteration with its verdicts."""
        with self._reading() as store:
            return with_help(why_document(store, self._run, store.loops(self._run)))

    def diff(self, first: int, second: int, *, at: str = "") -> dict[str, str]:
        """How the results of two iterations of a loop differ, by step."""
        numbers = (count(first, "first") or 1, count(second, "second") or 1)
        with self._reading() as store:
            loop = loop_named(store, self._run, text(at, "at"))
            before, after = (side(store, self._run, loop, n).results for n in numbers)
        return {
            name: "\n".join(map("".join, changes(before.get(name), after.get(name))))
            for name in dict.fromkeys([*before, *after])
        }

    def cost(self, by: By = "step", *, at: str = "") -> Costs:
        """What it used, by step, loop, iteration or model."""
        with self._reading() as store:
            return cost_of(store, self._run, by, at)


def cost_of(store: SqliteStore, run: RunId | None, by: By, at: str = "") -> Costs:
    """What a run used, or all runs of the store, under headings."""
    if by not in WAYS:
        raise UsageError(f"by is {by!r}", help=f"ways: {', '.join(WAYS)}")
    return costs_of(store, by, run=run, at=text(at, "at"))


def _iteration(row: IterationRow, values: dict[str, Any]) -> Iteration:
    note: dict[str, Any] = row.note
    return Iteration(
        row.loop,
        row.number,
        row.status,
        values,
        row.score,
        bool(note.get("met")),
        note.get("by"),
        tuple(note.get("facts") or ()),
        usage_from(note.get("usage")),
        float(note.get("seconds") or 0.0),
    )


class Run(RunHistory, Generic[R]):
    """A run of a session. It is driven in the background while the session is open.

    When a call returns, its request is in the journal; a request that does not fit the current
    state of the run raises UsageError, and changes nothing.
    """

    def __init__(self, opened: Callable[[], Opened], run: RunId, returns: Any = None) -> None:
        self._run = run
        self._opened = opened
        self._returns = returns

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
        """`limit` or `budget` if it succeeded with a loop that ended at one, or `warning`."""
        return cast("Mark | None", self._store.run(self._run).mark or None)

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """The entries of the journal as they become durable, until the run ends or waits."""
        opened = self._opened()
        while True:
            is_driven = opened.driving.is_driven(self._run)
            async for entry in opened.runtime.follow(self._run, after):
                after, event = entry.seq, entry.event
                yield Event(entry.seq, event.kind, event.address, event.at, shown(event))
            if not is_driven:
                return
            await asyncio.sleep(_POLL_S)

    @overload
    def stream(self, *, at: str = "", after: int = 0) -> AsyncIterator[StreamEvent]: ...

    @overload
    def stream(self, *kinds: type[E], at: str = "", after: int = 0) -> AsyncIterator[E]: ...

    async def stream(self, *kinds: Any, at: str = "", after: int = 0) -> AsyncIterator[Any]:
        """Yields what happens, as it happens, typed: tokens, steps, iterations, approvals, the end.

        Only of these `kinds`, if any are given; only `at` a place such as `polish` or `polish[2]`,
        and inside of it. It ends when `result()` would return: the run has ended, waits for a
        person, or is paused. A slow reader does not slow down the run.
        """
        opened, place = self._opened(), text(at, "at")
        driven = partial(opened.driving.is_driven, self._run)
        events = stream(opened.store, self._run, opened.listeners, is_driven=driven, after=after)
        inside = re.compile(rf"{re.escape(place)}($|[\[/#])")
        async for event in events:
            if (not kinds or isinstance(event, kinds)) and (not at or inside.match(event.address)):
                yield event

    async def result(self) -> Result[R]:
        """Waits until the run has ended, waits for a person, or is paused."""
        await self._opened().driving.settled(self._run)
        document: dict[str, Any] = with_help(result_of(self._store, self._run))
        error = document["error"]
        if error and (lines := traceback_of(self._store, self._run, str(error.get("path") or ""))):
            error["traceback"] = lines
        result = values.result_from(document)
        kind = self._returns
        if kind is None:
            kind = getattr(definition_of(self._store, self._run), "returns", Any)
        past = RunHistory(self._opened().project, self._run)
        return replace(result, _past=past, _returns=kind)

    def records(
        self, at: str = "", *, depth: int | None = 0, after: int = 0, limit: int = LIMIT
    ) -> tuple[Record, ...]:
        """The records of the steps of the run, or of a place of it such as `polish[3]`.

        `depth` says how many levels of iterations and items inside it count; None: all. The
        first `after` records are left out.
        """
        place, levels = text(at, "at"), count(depth, "depth", least=0)
        first, most = count(after, "after", least=0) or 0, count(limit, "limit") or LIMIT
        found = self._records.of(place, depth=levels, after=first, limit=most).records
        if place and not found and not first:
            raise unknown_place(self._store, self._run, place)
        return tuple(values.record_from(document(record)) for record in found)

    async def pause(self) -> None:
        """Lets running calls finish, and starts no new ones."""
        await self._ask(lambda: steering.paused(self._store, self._run), goes_on=False)

    async def resume(
        self,
        *,
        budget: float | None = None,
        tokens: int | None = None,
        calls: int | None = None,
        new_code: bool = False,
    ) -> None:
        """Resumes a run after a pause or a crash; of a failed run, retries what failed.

        `budget` (dollars), `tokens` and `calls` are added to what the run may spend. A run that is
        running, or waits for a person, is not changed. With `new_code`, it keeps the answers that
        it has, also where its code now requests them with other words.
        """
        more = _more(budget, tokens, calls)
        if (
            not more.amounts()
            and not new_code
            and self.status in ("running", "waiting", "interrupted")
        ):
            self._find_functions()
            await self._opened().driving.take_up(self._run)
            return
        await self._ask(lambda: steering.resumed(more, new_code=new_code))

    async def cancel(self) -> None:
        """Ends the run and cancels its running calls."""
        await self._ask(steering.cancelled, goes_on=False)

    async def continue_(
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
        budget continues.
        """
        number, loop = count(iterations, "iterations"), text(at, "at")
        more = _more(budget, tokens, calls)
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
        await self._ask(lambda: steering.accepted(self._store, self._run, loop, number))

    async def stop(self, *, at: str | None = None) -> None:
        """Ends a loop after the running iteration, with what it returns then."""
        loop = text(at, "at")
        await self._ask(lambda: steering.stopped(self._store, self._run, loop), goes_on=False)

    async def approve(
        self, *, feedback: str = "", at: str | None = None, value: JsonLike | EllipsisType = ...
    ) -> None:
        """Answers yes to what the run waits for.

        `value` replaces what is shown; for a loop, results by their names.
        """
        edits = None if value is ... else steering.Edits(values.plain_value(value, "value"))
        await self._answer(feedback, at, approved=True, edits=edits)

    async def reject(self, *, feedback: str = "", at: str | None = None) -> None:
        """Answers no to what the run waits for; `feedback` is what a loop takes into account."""
        await self._answer(feedback, at, approved=False)

    async def _answer(self, feedback: str, at: str | None, **answer: Any) -> None:
        words, place = text(feedback, "feedback"), text(at, "at")
        answer |= {"feedback": words, "by": "python"}
        await self._ask(lambda: steering.decided(self._store, self._run, place, **answer))

    async def fork(self, at: str, values: Mapping[str, JsonLike] | None = None) -> Run[R]:
        """A new run that keeps the iterations before `at` (such as `polish[3]`) and redoes it."""
        opened = self._opened()
        origin = opened.runtime.origin
        fork = Fork(text(at, "at"), plain_table(values, "values"), origin=origin)
        self._find_functions()
        with _in_python(self._run):
            run, _ = await new_fork(opened.runtime, opened.providers, self._run, fork)
        opened.driving.drive(run)
        return Run(self._opened, run, self._returns)

    def _reading(self) -> AbstractContextManager[SqliteStore]:
        return nullcontext(self._store)

    @property
    def _records(self) -> RunRecords:
        return RunRecords(self._store, self._run, self._opened().providers.secrets)

    @property
    def _store(self) -> SqliteStore:
        return self._opened().store

    def _find_functions(self, *, is_needed: bool = True) -> None:
        """Finds the functions that the run calls, for a run that was started anywhere."""
        find_functions(self._store, self._opened().providers, self._run, is_needed=is_needed)

    async def _ask(self, make: Callable[[], JournalEvent], *, goes_on: bool = True) -> None:
        self._find_functions(is_needed=goes_on)
        with _in_python(self._run):
            await self._opened().driving.ask(self._run, make)


def _more(budget: float | None, tokens: int | None, calls: int | None) -> steering.More:
    return steering.More(dollars(budget), count(tokens, "tokens"), count(calls, "calls"))


@contextmanager
def _in_python(run: str) -> Iterator[None]:
    """Says what to do about a refusal, with parameters instead of options of the command line."""
    try:
        yield
    except UsageError as fault:
        words = fault.help or advice("W905", fault.facts, run)
        words = words.replace("--at ", "at=").replace("--at", "`at`")
        raise UsageError(str(fault), help=words, code=fault.code) from fault


def definition_of(store: SqliteStore, run: RunId) -> Any:
    """Returns the program of a run, if this process has imported it, or None."""
    module, _, name = program_of(store, run).partition(":")
    return getattr(sys.modules.get(module), name, None) if name else None


def find_functions(
    store: SqliteStore, providers: Providers, run: RunId, *, is_needed: bool
) -> None:
    """Uses the functions of a run's workflow, from a module that this program already imported.

    It imports nothing for a run, since the program may not want the modules that its store names.
    Raises UsageError if they are missing and this program is to drive the run.
    """
    definition = definition_of(store, run)
    if workflow := getattr(definition, "workflow", None):
        providers.context.functions.include(workflow.tasks)
        return
    if is_needed and store.run(run).status != "running":
        check_functions(store, providers, run)
