"""Sessions: runs of this program on one store, started, watched and steered from Python.

`run`, `run_sync` and `resume` are a whole run in one call, in a session of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from whorl.errors import UsageError
from whorl.interfaces.python.runs import Opened, Run
from whorl.interfaces.python.values import count, dollars, plain_table, text
from whorl.interfaces.python.workflows import Workflow, workflow_from
from whorl.providers.functions import Tasks
from whorl.providers.registry import Providers
from whorl.runtimes.local import Start
from whorl.services.preflight import TOY, check_given, permitted
from whorl.services.project import find_project
from whorl.services.runs import Driving, open_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from types import TracebackType
    from typing import Self

    from whorl.interfaces.python.values import JsonLike, Result
    from whorl.runtimes.journal import RunId

P = ParamSpec("P")

log = logging.getLogger("whorl")

_INPUTS = "see `inputs` of the workflow"


class Session:
    """Opens the store and the providers; use it as `async with Session() as session`.

    `config` is a whorl.toml, `store` a folder or a file; without them those of the project that the
    working folder lies in are used, as on the command line.
    """

    def __init__(
        self,
        *,
        config: str | os.PathLike[str] | None = None,
        store: str | os.PathLike[str] | None = None,
        tasks: Tasks | None = None,
    ) -> None:
        if not isinstance(tasks, Tasks | None):
            raise UsageError(f"tasks is {tasks!r:.80}, which is no whorl.Tasks()")
        self._project = find_project(
            os.environ,
            config=None if config is None else os.fspath(config),
            store=None if store is None else os.fspath(store),
        )
        self._settings = self._project.settings()
        self._tasks = tasks
        self._open: Opened | None = None

    async def __aenter__(self) -> Self:
        if self._open is not None:
            raise UsageError("the session is open already; a second one may share its store")
        stack = AsyncExitStack()
        providers = Providers(self._settings, self._tasks)
        runtime = await stack.enter_async_context(open_runtime(self._project, providers))
        self._open = Opened(stack, providers, runtime, Driving(runtime))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leaves runs that are under way resumable."""
        if self._open is None:
            return
        try:
            await self._open.driving.close()
        finally:
            left, self._open = self._open, None
            await left.stack.aclose()

    def _opened(self) -> Opened:
        """What the session has while it is open."""
        if self._open is None:
            raise UsageError(
                "the session is not open; write `async with whorl.Session() as session:`"
            )
        return self._open

    # For parts of Whorl and its tests, and not for programs.
    opened = property(_opened)

    async def start(
        self,
        workflow: Workflow | str | os.PathLike[str],
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
        loaded = (
            workflow if isinstance(workflow, Workflow) else workflow_from(self._project, workflow)
        )
        cost = dollars(budget)
        start = Start(
            input=plain_table(inputs, "inputs"),
            limits={} if cost is None else {"cost_usd": cost},
            iterations=count(max_iterations, "max_iterations"),
            key=text(key, "key"),
            file=str(Path(loaded.file).resolve()) if loaded.file else "",
            sources=dict(loaded.sources),
        )
        check_given(loaded.ir, start.input, advice=_INPUTS)
        start, note = permitted(loaded.ir, opened.providers, start)
        if note == TOY:
            log.warning(TOY)
        run, is_new = await opened.runtime.start(loaded.ir, start)
        if is_new:
            opened.driving.drive(run)
        else:
            await self._take_up_again(run, start.key, loaded)
        return Run(self._opened, run)

    async def resume(self, run: str = "last", *, budget: float | None = None) -> Run:
        """Takes up a run by its id, the beginning of it, or `last`; `budget` is added to it."""
        resumed = self.run(run)
        await resumed.resume(budget=budget)
        return resumed

    def run(self, run: str = "last") -> Run:
        """A run of the store, without touching it."""
        return Run(self._opened, self._opened().store.resolve(run))

    async def _take_up_again(self, run: RunId, key: str, workflow: Workflow) -> None:
        row = self._opened().store.run(run)
        if row.name != workflow.ir.name:
            raise UsageError(
                f"the key {key!r} belongs to run {run} of workflow {row.name!r}, so that it starts "
                f"none of {workflow.ir.name!r}"
            )
        if row.status == "interrupted":
            await self._opened().driving.take_up(run)


async def run(
    workflow: Workflow | str | os.PathLike[str],
    inputs: Mapping[str, JsonLike] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    tasks: Tasks | None = None,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result:
    """Runs a workflow to its end (or until it waits for a person) and gives the result.

    `budget` is the most that it may spend, in dollars. With a `key`, at most one run is ever
    started for it: the one that exists goes on if it was interrupted.
    """
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
    tasks: Tasks | None = None,
    budget: float | None = None,
) -> Result:
    """Takes up a run that was interrupted, paused or has failed, and gives its result.

    `budget` is added to what the run may spend, in dollars.
    """
    async with Session(config=config, store=store, tasks=tasks) as session:
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
