"""Sessions: runs of this program on one store, started, watched and steered from Python.

`run`, `run_sync` and `resume` are a whole run in one call, in a session of its own.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, cast

from whorl.errors import UsageError
from whorl.interfaces.python import values
from whorl.interfaces.python.values import Event, Workflow, count, dollars, plain_table, text
from whorl.interfaces.wording import advice, with_help
from whorl.providers.registry import Providers
from whorl.providers.task import Tasks
from whorl.runtimes.folding import Fork
from whorl.runtimes.local import Start
from whorl.runtimes.sealing import shown
from whorl.services import preflight, steering
from whorl.services.results import result_of
from whorl.services.runs import Driving, open_runtime

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
    from typing import Self

    from whorl.interfaces.python.values import Config, FilePath, JsonLike, Mark, Result, Status
    from whorl.interpreter.events import Event as JournalEvent
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


P = ParamSpec("P")

log = logging.getLogger("whorl")

_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Opened:
    """What an open session has; `stack` closes it."""

    stack: AsyncExitStack
    providers: Providers
    runtime: LocalRuntime
    driving: Driving
    store: SqliteStore


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
                yield Event(entry.seq, event.kind, event.address, event.at, shown(event))
            if not is_driven:
                return
            await asyncio.sleep(_POLL_S)

    async def result(self) -> Result:
        """Waits until the run has ended, waits for a person, or is paused."""
        await self._opened().driving.settled(self._run)
        return values.result_from(with_help(result_of(self._store, self._run)))

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
        more = _more(budget, tokens, calls)
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
        await self._ask(lambda: steering.chosen(self._store, self._run, loop, number))

    async def decide(self, approved: bool, *, feedback: str = "", at: str | None = None) -> None:
        """Answers what the run waits for."""
        if not isinstance(approved, bool):
            raise UsageError(f"approved is {approved!r:.80}, which is neither True nor False")
        words, place = text(feedback, "feedback"), text(at, "at")
        await self._ask(
            lambda: steering.decided(
                self._store, self._run, place, approved=approved, feedback=words, by="python"
            )
        )

    async def fork(self, at: str, values: Mapping[str, JsonLike] | None = None) -> Run:
        """A new run that keeps the iterations before `at` (such as `polish[3]`) and redoes it."""
        opened = self._opened()
        origin = opened.runtime.origin
        fork = Fork(text(at, "at"), plain_table(values, "values"), origin=origin)
        with _in_python(self._run):
            run, _ = await steering.new_fork(opened.store, opened.providers, self._run, fork)
        opened.driving.drive(run)
        return Run(self._opened, run)

    @property
    def _store(self) -> SqliteStore:
        return self._opened().store

    async def _ask(self, make: Callable[[], JournalEvent]) -> None:
        with _in_python(self._run):
            await self._opened().driving.ask(self._run, make)


def _more(budget: float | None, tokens: int | None, calls: int | None) -> steering.More:
    return steering.More(dollars(budget), count(tokens, "tokens"), count(calls, "calls"))


@contextmanager
def _in_python(run: str) -> Iterator[None]:
    """Says what to do about a refusal; an option of the command line is a parameter here."""
    try:
        yield
    except UsageError as fault:
        words = fault.help or advice("W905", fault.facts, run)
        words = words.replace("--at ", "at=").replace("--at", "`at`")
        raise UsageError(str(fault), help=words, code=fault.code) from fault


class Session:
    """Opens the store and the providers; use it as `async with Session() as session`.

    `config` is a whorl.toml, or a table of what would stand in one, `store` a folder or a file;
    without them those of the project that the working folder lies in are used, as on the command
    line. A whorl.toml that is found there needs `trust=True`, unless `whorl trust` knows it: until
    then no run is driven.
    """

    _origin = "python"

    def __init__(
        self,
        *,
        config: Config | None = None,
        store: FilePath | None = None,
        tasks: Tasks | None = None,
        trust: bool = False,
    ) -> None:
        if not isinstance(tasks, Tasks | None):
            raise UsageError(f"tasks is {tasks!r:.80}, which is no whorl.Tasks()")
        self._set_up(values.project_of(config, store, trust=trust), tasks)

    def _set_up(self, project: Project, tasks: Tasks | None) -> None:
        self._project = project
        self._settings = project.settings()
        self._tasks = tasks
        self._open: Opened | None = None

    # For parts of Whorl, and not for programs.
    @classmethod
    def of_project(cls, project: Project) -> Self:
        session = cls.__new__(cls)
        session._set_up(project, None)
        return session

    async def __aenter__(self) -> Self:
        if self._open is not None:
            raise UsageError("the session is open already; a second one may share its store")
        stack = AsyncExitStack()
        providers = Providers(self._settings, self._tasks)
        runtime = await stack.enter_async_context(
            open_runtime(self._project, providers, origin=self._origin)
        )
        self._open = Opened(stack, providers, runtime, Driving(runtime), runtime.store)
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Leaves runs that are under way resumable."""
        if self._open is None:
            return
        try:
            await self._open.driving.close()
        finally:
            left, self._open = self._open, None
            await left.stack.aclose()

    def _opened(self) -> Opened:
        if self._open is None:
            advice = "write `async with whorl.Session() as session:`"
            raise UsageError(f"the session is not open; {advice}")
        return self._open

    # For parts of Whorl and its tests, and not for programs.
    opened = property(_opened)

    async def start(
        self,
        workflow: Workflow | FilePath,
        inputs: Mapping[str, JsonLike] | None = None,
        *,
        budget: float | None = None,
        max_iterations: int | None = None,
        key: str = "",
    ) -> Run:
        """Starts a run. Raises UsageError, and makes no run, where it is given what does not fit.

        With a `key`, at most one run is ever started for it: one that exists already is given, and
        goes on if it was interrupted.
        """
        opened = self._opened()
        if not isinstance(workflow, Workflow):
            workflow = values.workflow_from(self._project, workflow)
        cost = dollars(budget)
        start = Start(
            input=plain_table(inputs, "inputs"),
            limits={} if cost is None else {"cost_usd": cost},
            iterations=count(max_iterations, "max_iterations"),
            key=text(key, "key"),
            file=str(Path(workflow.file).resolve()) if workflow.file else "",
            sources=dict(workflow.sources),
        )
        preflight.check_given(workflow.ir, start.input, advice="see `inputs` of the workflow")
        start, note = preflight.permitted(workflow.ir, opened.providers, start)
        if note == preflight.TOY:
            log.warning(note)
        run, is_new = await opened.runtime.start(workflow.ir, start)
        row = opened.store.run(run)
        if is_new:
            opened.driving.drive(run)
        elif row.name != workflow.ir.name:
            raise UsageError(
                f"the key {start.key!r} belongs to run {run} of workflow {row.name!r}, so that it "
                f"starts none of {workflow.ir.name!r}"
            )
        elif row.status == "interrupted":
            await opened.driving.take_up(run)
        return Run(self._opened, run)

    async def resume(self, run: str = "last", *, budget: float | None = None) -> Run:
        """Takes up a run by its id, the beginning of it, or `last`; `budget` is added to it."""
        resumed = self.run(run)
        await resumed.resume(budget=budget)
        return resumed

    def run(self, run: str = "last") -> Run:
        """A run of the store, without touching it."""
        return Run(self._opened, self._opened().store.resolve(run))


async def run(
    workflow: Workflow | FilePath,
    inputs: Mapping[str, JsonLike] | None = None,
    *,
    config: Config | None = None,
    store: FilePath | None = None,
    tasks: Tasks | None = None,
    trust: bool = False,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result:
    """Runs a workflow to its end (or until it waits for a person) and gives the result.

    `budget` is the most that it may spend, in dollars. With a `key`, at most one run is ever
    started for it: the one that exists goes on if it was interrupted. `trust`: the whorl.toml that
    is found counts.
    """
    async with Session(config=config, store=store, tasks=tasks, trust=trust) as session:
        started = await session.start(
            workflow, inputs, budget=budget, max_iterations=max_iterations, key=key
        )
        return await started.result()


async def resume(
    run: str = "last",
    *,
    config: Config | None = None,
    store: FilePath | None = None,
    tasks: Tasks | None = None,
    trust: bool = False,
    budget: float | None = None,
) -> Result:
    """Takes up a run that was interrupted, paused or has failed, and gives its result.

    `budget` is added to what the run may spend, in dollars.
    """
    async with Session(config=config, store=store, tasks=tasks, trust=trust) as session:
        resumed = await session.resume(run, budget=budget)
        return await resumed.result()


def _without_loop(function: Callable[P, Coroutine[object, object, Result]]) -> Callable[P, Result]:
    @wraps(function)
    def run_sync(*args: P.args, **options: P.kwargs) -> Result:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*args, **options))
        raise UsageError("an event loop is running already; write `await whorl.run(...)`")

    run_sync.__name__ = run_sync.__qualname__ = "run_sync"
    run_sync.__doc__ = "The same as `run`, for programs without an event loop."
    return run_sync


run_sync = _without_loop(run)
