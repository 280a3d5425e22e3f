"""Sessions, which start runs on one store or find them again, and whole runs in one call."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from whorl.errors import UsageError
from whorl.interfaces.python import loading
from whorl.interfaces.python.events import Listeners
from whorl.interfaces.python.runs import Opened, Run, cost_of
from whorl.interfaces.python.values import Workflow, count, dollars, plain_table, text
from whorl.providers.functions import ProgramTasks, Tasks
from whorl.providers.registry import Providers
from whorl.runtimes.sqlite.listing import UNLISTED, RunFilter
from whorl.runtimes.start_options import Start
from whorl.services.files import preflight
from whorl.services.run_driver import Driving
from whorl.services.runs import open_runtime
from whorl.services.serving.triggers import only_start
from whorl.services.steering import check_drivable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from whorl.interfaces.python.values import Config, FilePath, JsonLike, Result, Runnable, Status
    from whorl.interfaces.python.writing.workflows import WorkflowFunction
    from whorl.runtimes.journal.journal import RunRow
    from whorl.services.inspecting.places import By, Costs
    from whorl.services.project import Project


R = TypeVar("R")
log = logging.getLogger("whorl")


class Session:
    """Opens the store and the providers; use it as `async with Session() as session`.

    `config` is a whorl.toml or a table with the same content, `store` a folder or a file. If they
    are missing, those of the working folder's project are used, as on the command line. A
    whorl.toml that is found there needs `trust=True`, unless `whorl project trust` knows it.
    Until then no run is driven.
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
        self._set_up(loading.project_of(config, store, trust=trust), tasks)

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
        check = partial(check_drivable, runtime.store, providers)
        driving = Driving(runtime, check=check)
        parts = (runtime, driving, runtime.store, self._project, listeners)
        self._open = Opened(stack, providers, *parts)
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Leaves unfinished runs resumable, once their running calls have ended (`[run] drain`)."""
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

    @overload
    async def start(
        self,
        workflow: WorkflowFunction[..., R],
        inputs: Mapping[str, object] | None = None,
        *,
        budget: float | None = None,
        max_iterations: int | None = None,
        key: str = "",
    ) -> Run[R]: ...

    @overload
    async def start(
        self,
        workflow: Runnable,
        inputs: Mapping[str, JsonLike] | None = None,
        *,
        budget: float | None = None,
        max_iterations: int | None = None,
        key: str = "",
    ) -> Run[Any]: ...

    async def start(
        self,
        workflow: Any,
        inputs: Mapping[str, Any] | None = None,
        *,
        budget: float | None = None,
        max_iterations: int | None = None,
        key: str = "",
    ) -> Run[Any]:
        """Starts a run. Raises UsageError, and makes no run, if an argument does not fit.

        With a `key`, at most one run is ever started for it: an existing run is returned, and
        resumed if it was interrupted.
        """
        if not isinstance(workflow, Workflow):
            workflow = loading.workflow_from(self._project, workflow)
        self._tasks.include(workflow.tasks)
        cost, file = dollars(budget), workflow.file
        start = Start(
            input=plain_table(inputs, "inputs"),
            limits={} if cost is None else {"cost_usd": cost},
            iterations=count(max_iterations, "max_iterations"),
            key=text(key, "key"),
            # One whose function is local cannot be found again.
            file="" if "<locals>" in file else file and str(Path(file).resolve()),
            sources=dict(workflow.sources),
            pauses=workflow.pauses,
        )
        preflight.check_given(workflow.ir, start.input, advice="see `inputs` of the workflow")
        start = only_start(workflow.ir, start, time.time())
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
        return Run(self._opened, run, workflow.returns)

    async def resume(
        self, run: str = "last", *, budget: float | None = None, new_code: bool = False
    ) -> Run[Any]:
        """Resumes a run by its id, the beginning of it, or `last`; `budget` is added to it.

        With `new_code`, it keeps the answers that it has, also where its code now requests them
        with other words.
        """
        resumed = self.run(run)
        await resumed.resume(budget=budget, new_code=new_code)
        return resumed

    def run(self, run: str = "last") -> Run[Any]:
        """Returns a run of the store without changing it."""
        return Run(self._opened, self._opened().store.resolve(run))

    def runs(
        self, *, status: Status | None = None, name: str | None = None, limit: int = 100
    ) -> tuple[RunRow, ...]:
        """The runs of the store, the newest first, which is `last`; without those of experiments.

        `status` and `name`, of the workflow, say which.
        """
        which = RunFilter(status=status, name=name, without_key=UNLISTED)
        return tuple(self._opened().store.list_runs(which, count(limit, "limit") or 100))

    def cost(self, by: By = "model") -> Costs:
        """Returns what all runs of the store used, by model, step, workflow, run or day."""
        return cost_of(self._opened().store, None, by)


@overload
async def run(
    workflow: WorkflowFunction[..., R],
    inputs: Mapping[str, object] | None = None,
    *,
    config: Config | None = None,
    store: FilePath | None = None,
    tasks: Tasks | None = None,
    trust: bool = False,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result[R]: ...


@overload
async def run(
    workflow: Runnable,
    inputs: Mapping[str, JsonLike] | None = None,
    *,
    config: Config | None = None,
    store: FilePath | None = None,
    tasks: Tasks | None = None,
    trust: bool = False,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result[Any]: ...


async def run(
    workflow: Any,
    inputs: Mapping[str, Any] | None = None,
    *,
    config: Config | None = None,
    store: FilePath | None = None,
    tasks: Tasks | None = None,
    trust: bool = False,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result[Any]:
    """Runs a workflow to its end (or until it waits for a person) and returns the result.

    `budget` is the most that it may spend, in dollars. With a `key`, at most one run is ever
    started for it: an existing run is resumed if it was interrupted. With `trust`, the whorl.toml
    that is found counts.
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
    new_code: bool = False,
) -> Result[Any]:
    """Resumes a run that was interrupted, paused or has failed, and gives its result.

    `budget` is added to what the run may spend, in dollars.
    """
    async with Session(config=config, store=store, tasks=tasks, trust=trust) as session:
        resumed = await session.resume(run, budget=budget, new_code=new_code)
        return await resumed.result()


@overload
def run_sync(
    workflow: WorkflowFunction[..., R],
    inputs: Mapping[str, object] | None = None,
    *,
    config: Config | None = None,
    store: FilePath | None = None,
    tasks: Tasks | None = None,
    trust: bool = False,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result[R]: ...


@overload
def run_sync(
    workflow: Runnable,
    inputs: Mapping[str, JsonLike] | None = None,
    *,
    config: Config | None = None,
    store: FilePath | None = None,
    tasks: Tasks | None = None,
    trust: bool = False,
    budget: float | None = None,
    max_iterations: int | None = None,
    key: str = "",
) -> Result[Any]: ...


def run_sync(workflow: Any, inputs: Mapping[str, Any] | None = None, **options: Any) -> Result[Any]:
    """The same as `run`, for programs without an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run(workflow, inputs, **options))
    raise UsageError("an event loop is running already; write `await whorl.run(...)`")
