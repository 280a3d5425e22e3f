"""Sessions: runs of this program on one store, started, watched and steered from Python."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from whorl.errors import UsageError
from whorl.interfaces.preflight import refusal
from whorl.interfaces.project import find_project, open_runtime
from whorl.interfaces.python.results import Event, Result, result_from
from whorl.interfaces.python.workflows import Workflow, load
from whorl.interfaces.results import open_gates, result_of
from whorl.interpreter.events import Event as JournalEvent
from whorl.providers.registry import Providers
from whorl.runtimes.folding import look_into
from whorl.runtimes.forking import Fork, fork_run
from whorl.runtimes.local import LocalRuntime, Start, new_run_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import TracebackType
    from typing import Self

    from whorl.language import Json
    from whorl.providers.functions import Functions
    from whorl.runtimes.journal import RunId


class Run:
    """A run of a session. It is driven in the background while the session is open."""

    def __init__(self, session: Session, run: RunId) -> None:
        self.id = str(run)
        self._run = run
        self._session = session

    @property
    def status(self) -> str:
        """running, waiting, paused, interrupted, or how it ended."""
        return self._session.runtime.store.run(self._run).status

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """The entries of the journal as they become durable, until the run ends or waits."""
        async for entry in self._session.runtime.follow(self._run, after):
            event = entry.event
            yield Event(entry.seq, event.kind, event.address, event.at, event.body)

    async def result(self) -> Result:
        """Waits until the run has ended, waits for a person, or is paused."""
        await self._session.settled(self._run)
        return result_from(result_of(self._session.runtime.store, self._run))

    async def pause(self) -> None:
        """Lets calls that are under way finish, and starts no new ones."""
        await self._ask("run.paused", {})

    async def resume(self, *, budget: float | None = None) -> None:
        """Goes on after a pause or a crash; of a failed run, tries again what failed."""
        more: dict[str, Json] = {} if budget is None else {"cost_usd": budget}
        await self._ask("run.resumed", more)

    async def cancel(self) -> None:
        """Ends the run; what is under way is cancelled."""
        await self._ask("run.cancelled", {})

    async def go_on(
        self, iterations: int, *, at: str | None = None, budget: float | None = None
    ) -> None:
        """Reopens a loop for more iterations; what follows it runs again."""
        body: dict[str, Json] = {"at": at, "iterations": iterations}
        await self._ask("run.continued", body | ({} if budget is None else {"cost_usd": budget}))

    async def accept(self, iteration: int, *, at: str | None = None) -> None:
        """Makes an earlier iteration the loop's result; what follows it runs again."""
        store = self._session.runtime.store
        loop = at or self._only_loop()
        address = f"{loop}[{iteration}]"
        found = look_into(store, self._run, frozenset({address})).get(address)
        if found is None:
            raise UsageError(f"run {self.id!r} has no finished iteration {address!r}", code="W903")
        body: dict[str, Json] = {"at": loop, "iteration": iteration}
        await self._ask("run.accepted", body | found)

    async def decide(self, approved: bool, *, feedback: str = "", at: str | None = None) -> None:
        """Answers what the run waits for."""
        gates = open_gates(self._session.runtime.store, self._run)
        chosen = [gate.address for gate in gates if at in (None, gate.address)]
        if len(chosen) != 1:
            known = ", ".join(gate.address for gate in gates) or "nothing"
            raise UsageError(
                f"run {self.id!r} waits for: {known}; say which with `at`", code="W903"
            )
        body: dict[str, Json] = {"approved": approved, "feedback": feedback, "by": "python"}
        await self._ask("gate.decided", body, chosen[0])

    async def fork(self, at: str, values: Mapping[str, Json] | None = None) -> Run:
        """A new run that keeps the iterations before `at` (such as `polish[3]`) and redoes it."""
        now = time.time()
        run = new_run_id(now)
        fork = Fork(at, dict(values or {}))
        await fork_run(self._session.runtime.store, self._run, fork, run=run, now=now)
        return self._session.drive(run)

    def _only_loop(self) -> str:
        loops = [row.address for row in self._session.runtime.store.loops(self._run)]
        if len(loops) != 1:
            raise UsageError(f"say which loop with `at`: {', '.join(loops) or 'none'}", code="W903")
        return loops[0]

    async def _ask(self, kind: str, body: dict[str, Json], address: str = "") -> None:
        event = JournalEvent(kind, address, time.time(), {"request": uuid4().hex, **body})
        if not await self._session.runtime.request(self._run, event):
            self._session.drive(self._run, event)


class Session:
    """Opens the store and the providers; use it as `async with Session() as session`.

    `config` is a whorl.toml, `store` a folder or a file; without them those of the project that the
    working folder lies in are used, as on the command line.
    """

    runtime: LocalRuntime

    def __init__(
        self,
        *,
        config: str | os.PathLike[str] | None = None,
        store: str | os.PathLike[str] | None = None,
        tasks: Functions | None = None,
    ) -> None:
        self._project = find_project(
            os.environ,
            config=None if config is None else os.fspath(config),
            store=None if store is None else os.fspath(store),
        )
        self._settings = self._project.settings()
        self._providers = Providers(self._settings, tasks)
        self._stack = AsyncExitStack()
        self._driving: dict[RunId, asyncio.Task[str]] = {}

    async def __aenter__(self) -> Self:
        opening = open_runtime(self._project, self._providers)
        self.runtime = await self._stack.enter_async_context(opening)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leaves runs that are under way resumable."""
        self.runtime.stop()
        await asyncio.gather(*self._driving.values(), return_exceptions=True)
        await self._stack.aclose()

    async def start(
        self,
        workflow: Workflow | str | os.PathLike[str],
        inputs: Mapping[str, Json] | None = None,
        *,
        budget: float | None = None,
        max_iterations: int | None = None,
        key: str = "",
    ) -> Run:
        """Starts a run; with a `key`, at most one run is ever started for it."""
        found = workflow if isinstance(workflow, Workflow) else load(workflow)
        start = Start(
            input=dict(inputs or {}),
            limits={} if budget is None else {"cost_usd": budget},
            iterations=max_iterations,
            key=key,
            file=str(Path(found.file).resolve()) if found.file else "",
            sources=dict(found.sources),
            refused=refusal(found.ir, self._settings),
        )
        run, is_new = await self.runtime.start(found.ir, start)
        return self.drive(run) if is_new else Run(self, run)

    async def resume(self, run: str = "last", *, budget: float | None = None) -> Run:
        """Takes up a run by its id, the beginning of it, or `last`."""
        found = Run(self, self.runtime.store.resolve(run))
        await found.resume(budget=budget)
        return found

    def run(self, run: str = "last") -> Run:
        """A run of the store, without touching it."""
        return Run(self, self.runtime.store.resolve(run))

    def drive(self, run: RunId, *requests: JournalEvent) -> Run:
        """Drives a run in the background."""
        self._driving[run] = asyncio.create_task(self.runtime.drive(run, requests))
        return Run(self, run)

    async def settled(self, run: RunId) -> None:
        """Waits until nobody drives the run any more."""
        task = self._driving.get(run)
        if task is not None:
            await asyncio.shield(task)
            return
        async for _ in self.runtime.follow(run, after=self.runtime.store.run(run).last_seq):
            continue


async def run(
    workflow: Workflow | str | os.PathLike[str],
    inputs: Mapping[str, Json] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    tasks: Functions | None = None,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result:
    """Runs a workflow to its end (or until it waits for a person) and gives the result."""
    async with Session(config=config, store=store, tasks=tasks) as session:
        started = await session.start(
            workflow, inputs, budget=budget, max_iterations=max_iterations, key=key
        )
        return await started.result()


async def resume(
    run: str = "last",
    *,
    config: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    tasks: Functions | None = None,
    budget: float | None = None,
) -> Result:
    """Takes up a run that was interrupted, paused or has failed, and gives its result."""
    async with Session(config=config, store=store, tasks=tasks) as session:
        found = await session.resume(run, budget=budget)
        return await found.result()


def run_sync(
    workflow: Workflow | str | os.PathLike[str],
    inputs: Mapping[str, Json] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    tasks: Functions | None = None,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result:
    """The same as `run`, for programs without an event loop."""
    return asyncio.run(
        run(
            workflow,
            inputs,
            config=config,
            store=store,
            tasks=tasks,
            budget=budget,
            max_iterations=max_iterations,
            key=key,
        )
    )
