"""A whole run in one call: a session is opened for it and closed behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.interfaces.python.session import Session

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from whorl.interfaces.python.results import Result
    from whorl.interfaces.python.values import JsonLike
    from whorl.interfaces.python.workflows import Workflow
    from whorl.providers.functions import Tasks


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
        found = await session.resume(run, budget=budget)
        return await found.result()


def run_sync(
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
    """The same as `run`, for programs without an event loop."""
    _check_no_loop()
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


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError("an event loop is running already; write `await whorl.run(...)`")
