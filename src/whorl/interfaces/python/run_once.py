"""A whole run in one call, in a session of its own."""

from __future__ import annotations

import asyncio
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from whorl.errors import UsageError
from whorl.interfaces.python.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from whorl.interfaces.python.values import Config, FilePath, JsonLike, Result, Runnable
    from whorl.providers.functions import Tasks

P = ParamSpec("P")


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
    """Resumes a run that was interrupted, paused or has failed, and gives its result.

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
