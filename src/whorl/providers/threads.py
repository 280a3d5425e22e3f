"""Threads for plain functions, which would hold up the event loop."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

# How many plain functions run at the same time; more of them wait for their turn.
THREADS_MAX = 100


class Threads:
    """A pool of threads that is made when it is first needed."""

    def __init__(self, most: int = THREADS_MAX) -> None:
        self._most = most
        self._pool: ThreadPoolExecutor | None = None

    async def call(self, function: Callable[[], object], begin: Callable[[], None]) -> object:
        """What the function gives; `begin` is called when its turn has come. Raises Raised."""
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[None] = loop.create_future()
        context = copy_context()

        def work() -> tuple[object, BaseException | None]:
            loop.call_soon_threadsafe(_settle, begun)
            try:
                return context.run(function), None
            # Some exceptions, such as StopIteration, cannot be raised into a future.
            except BaseException as fault:  # noqa: BLE001
                return None, fault

        running = loop.run_in_executor(self._started(), work)
        try:
            await begun
            begin()
            value, fault = await running
        except asyncio.CancelledError:
            running.cancel()
            raise
        if fault is not None:
            raise Raised(fault)
        return value

    def close(self) -> None:
        """Takes no more functions; those that run are left to end by themselves."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _started(self) -> ThreadPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="whorl-task")
        return self._pool


class Raised(Exception):
    """A function in a thread raised `fault`, which may be any BaseException."""

    def __init__(self, fault: BaseException) -> None:
        super().__init__(str(fault))
        self.fault = fault


def _settle(begun: asyncio.Future[None]) -> None:
    if not begun.done():
        begun.set_result(None)
