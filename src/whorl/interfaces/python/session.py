"""Sessions: runs of this program on one store, started, watched and steered from Python."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from whorl.errors import UsageError
from whorl.interfaces.python import values
from whorl.interfaces.python.looking import Past, cost_of
from whorl.interfaces.python.resuming import find_functions
from whorl.interfaces.python.streaming import Listeners, stream
from whorl.interfaces.python.values import Event, Workflow, count, dollars, plain_table, text
from whorl.interfaces.wording import advice, with_help
from whorl.lazily import dataclass
from whorl.providers.functions import ProgramTasks, Tasks
from whorl.providers.registry import Providers
from whorl.runtimes.journal.forking import Fork
from whorl.runtimes.journal.sealing import shown
from whorl.runtimes.local import Start
from whorl.runtimes.sqlite.listing import Which
from whorl.services import steering
from whorl.services.files import preflight
from whorl.services.inspecting.live_text import folder_of
from whorl.services.inspecting.results import result_of, traceback_of, unknown_place
from whorl.services.records import LIMIT, RunRecords, document
from whorl.services.runs import Driving, open_runtime
from whorl.services.serving.triggers import only_start, starts_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from types import EllipsisType
    from typing import Self

    from whorl.interfaces.python.schedules import SessionSchedules
    from whorl.interfaces.python.streaming import E, StreamEvent
    from whorl.interfaces.python.values import (
        Config,
        FilePath,
        JsonLike,
        Mark,
        Record,
        Result,
        Runnable,
        Status,
    )
    from whorl.interpreter.events import Event as JournalEvent
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.runtime import Runtime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.inspecting.costs import By, Costs
    from whorl.services.project import Project


log = logging.getLogger("whorl")

_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Opened:
    """What an open session has; `stack` closes it."""

    stack: AsyncExitStack
    providers: Providers
    runtime: Runtime
    driving: Driving
    store: SqliteStore
    project: Project
    listeners: Listeners


class Run(Past):
    """A run of a session. It is driven in the background while the session is open.

    When a call returns, its request is in the journal; a request that does not fit the current
    state of the run raises UsageError, and changes nothing.
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

    @overload
    def stream(self, *, at: str = "", after: int = 0) -> AsyncIterator[StreamEvent]: ...

    @overload
    def stream(self, *kinds: type[E], at: str = "", after: int = 0) -> AsyncIterator[E]: ...

    async def stream(self, *kinds: Any, at: str = "", after: int = 0) -> AsyncIterator[Any]:
        """What happens, as it happens, typed: tokens, steps, iterations, gates, the end.

        Only of these `kinds`, if any are given; only `at` a place such as `polish` or `polish[2]`,
        and inside of it. It ends where `result()` has something to give: when the run has ended,
        waits for a person, or is paused. A slow reader does not slow down the run.
        """
        opened, place = self._opened(), text(at, "at")
        driven = partial(opened.driving.is_driven, self._run)
        folder = folder_of(opened.project.store)
        events = stream(
            opened.store, self._run, opened.listeners, folder=folder, is_driven=driven, after=after
        )
        inside = re.compile(rf"{re.escape(place)}($|[\[/#])")
        async for event in events:
            if (not kinds or isinstance(event, kinds)) and (not at or inside.match(event.address)):
                yield event

    async def view(self) -> Result:
        """Shows the run in the cell of a notebook while it goes on, and gives its result."""
        from whorl.interfaces.python.notebook import show

        await show(self.id, self.stream())
        return await self.result()

    async def result(self) -> Result:
        """Waits until the run has ended, waits for a person, or is paused."""
        await self._opened().driving.settled(self._run)
        document: dict[str, Any] = with_help(result_of(self._store, self._run))
        error = document["error"]
        if error and (lines := traceback_of(self._store, self._run, str(error.get("path") or ""))):
            error["traceback"] = lines
        result = values.result_from(document)
        return replace(result, _past=Past(self._opened().project, self._run))

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

    def history(self, system: str, at: str = "") -> Json:
        """All records of the run, or of a place of it, in the shape of a system: `azure`."""
        return self._records.history(text(system, "system"), text(at, "at"))

    async def pause(self) -> None:
        """Lets calls that are under way finish, and starts no new ones."""
        await self._ask(lambda: steering.paused(self._store, self._run), goes_on=False)

    async def resume(
        self, *, budget: float | None = None, tokens: int | None = None, calls: int | None = None
    ) -> None:
        """Goes on after a pause or a crash; of a failed run, tries again what failed.

        `budget` (dollars), `tokens` and `calls` are added to what the run may spend. A run that is
        under way, or waits for a person, is left as it is.
        """
        more = _more(budget, tokens, calls)
        if not more.amounts() and self.status in ("running", "waiting", "interrupted"):
            self._find_functions()
            await self._opened().driving.take_up(self._run)
            return
        await self._ask(lambda: steering.resumed(more))

    async def cancel(self) -> None:
        """Ends the run; what is under way is cancelled."""
        await self._ask(steering.cancelled, goes_on=False)

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

    async def stop(self, *, at: str | None = None) -> None:
        """Ends a loop after the iteration that is under way, with what it returns then."""
        loop = text(at, "at")
        await self._ask(lambda: steering.stopped(self._store, self._run, loop), goes_on=False)

    async def decide(
        self,
        approved: bool,
        *,
        feedback: str = "",
        at: str | None = None,
        value: JsonLike | EllipsisType = ...,
    ) -> None:
        """Answers what the run waits for.

        `value` replaces what is shown; for a loop, results by their names.
        """
        if not isinstance(approved, bool):
            raise UsageError(f"approved is {approved!r:.80}, which is neither True nor False")
        if value is not ... and not approved:
            raise UsageError("a rejection cannot edit: give the text as feedback")
        words, place = text(feedback, "feedback"), text(at, "at")
        edits = None if value is ... else steering.Edits(values.plain_value(value, "value"))
        answer = partial(steering.decided, approved=approved, feedback=words, by="python")
        await self._ask(lambda: answer(self._store, self._run, place, edits=edits))

    async def fork(self, at: str, values: Mapping[str, JsonLike] | None = None) -> Run:
        """A new run that keeps the iterations before `at` (such as `polish[3]`) and redoes it."""
        opened = self._opened()
        origin = opened.runtime.origin
        fork = Fork(text(at, "at"), plain_table(values, "values"), origin=origin)
        self._find_functions()
        with _in_python(self._run):
            run, _ = await steering.new_fork(opened.runtime, opened.providers, self._run, fork)
        opened.driving.drive(run)
        return Run(self._opened, run)

    def _reading(self) -> AbstractContextManager[SqliteStore]:
        return nullcontext(self._store)

    @property
    def _records(self) -> RunRecords:
        return RunRecords(self._store, self._run, self._opened().providers.secrets)

    @property
    def _store(self) -> SqliteStore:
        return self._opened().store

    def _find_functions(self, *, is_needed: bool = True) -> None:
        """Has the functions ready that it calls, wherever it was started."""
        find_functions(self._store, self._opened().providers, self._run, is_needed=is_needed)

    async def _ask(self, make: Callable[[], JournalEvent], *, goes_on: bool = True) -> None:
        self._find_functions(is_needed=goes_on)
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
            raise UsageError(f"tasks is {tasks!r:.80}, which is not a whorl.Tasks()")
        self._set_up(values.project_of(config, store, trust=trust), tasks)

    def _set_up(self, project: Project, tasks: Tasks | None) -> None:
        self._project = project
        self._settings = project.settings()
        # Those of the workflows that are started come to it.
        programs = self._settings.programs
        self._tasks = ProgramTasks(programs, self._settings) if tasks is None else tasks
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
        listeners = Listeners()
        runtime = await stack.enter_async_context(
            open_runtime(self._project, providers, origin=self._origin, watcher=listeners)
        )
        parts = (runtime, Driving(runtime), runtime.store, self._project, listeners)
        self._open = Opened(stack, providers, *parts)
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Leaves runs that are under way resumable, once their calls have ended (`[run] drain`)."""
        if self._open is None:
            return
        try:
            await self._open.driving.drain(self._settings.drain_s)
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
        workflow: Runnable,
        inputs: Mapping[str, JsonLike] | None = None,
        *,
        budget: float | None = None,
        max_iterations: int | None = None,
        key: str = "",
    ) -> Run:
        """Starts a run. Raises UsageError, and makes no run, if an argument does not fit.

        With a `key`, at most one run is ever started for it: one that exists already is given, and
        goes on if it was interrupted.
        """
        loaded, start = self._prepared(workflow, inputs, budget, max_iterations, key)
        return await self._start(loaded, only_start(loaded.ir, start, time.time()))

    async def start_each(
        self,
        workflow: Runnable,
        inputs: Mapping[str, JsonLike] | None = None,
        *,
        budget: float | None = None,
        max_iterations: int | None = None,
        key: str = "",
    ) -> tuple[Run, ...]:
        """Starts the runs that the workflow's trigger makes of the inputs: none, one or several."""
        loaded, start = self._prepared(workflow, inputs, budget, max_iterations, key)
        starts = starts_of(loaded.ir, start, time.time())
        return tuple([await self._start(loaded, each) for each in starts.each])

    def _prepared(
        self,
        workflow: Runnable,
        inputs: Mapping[str, JsonLike] | None,
        budget: float | None,
        max_iterations: int | None,
        key: str,
    ) -> tuple[Workflow, Start]:
        if not isinstance(workflow, Workflow):
            workflow = values.workflow_from(self._project, workflow)
        self._tasks.include(workflow.tasks)
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
        return workflow, start

    async def _start(self, workflow: Workflow, start: Start) -> Run:
        opened = self._opened()
        start, note = preflight.permitted(workflow.ir, opened.providers, start)
        if note == preflight.TOY:
            log.warning(note)
        run, is_new = await opened.runtime.start(workflow.ir, start)
        row = opened.store.run(run)
        if is_new:
            opened.driving.drive(run)
        elif row.name != workflow.ir.name:
            raise UsageError(
                f"the key {start.key!r} belongs to run {run} of workflow {row.name!r}, so it "
                f"cannot start {workflow.ir.name!r}"
            )
        elif row.status == "interrupted":
            await opened.driving.take_up(run)
        return Run(self._opened, run)

    async def resume(self, run: str = "last", *, budget: float | None = None) -> Run:
        """Resumes a run by its id, the beginning of it, or `last`; `budget` is added to it."""
        resumed = self.run(run)
        await resumed.resume(budget=budget)
        return resumed

    @property
    def schedules(self) -> SessionSchedules:
        """The workflows that the clock starts, for a server of this store to fire."""
        from whorl.interfaces.python.schedules import SessionSchedules
        from whorl.services.schedules.registry import Schedules

        return SessionSchedules(Schedules(self._project, self._opened().store))

    def run(self, run: str = "last") -> Run:
        """A run of the store, without touching it."""
        return Run(self._opened, self._opened().store.resolve(run))

    def runs(
        self, *, status: Status | None = None, name: str | None = None, limit: int = 100
    ) -> tuple[RunRow, ...]:
        """The runs of the store, the newest first; of a status, of a workflow's name."""
        which = Which(status=status, name=name)
        return tuple(self._opened().store.list_runs(which, count(limit, "limit") or 100))

    def cost(self, by: By = "model") -> Costs:
        """What all runs of the store used, by model, step, workflow, run or day."""
        return cost_of(self._opened().store, None, by)
