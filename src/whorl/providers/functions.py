"""Python functions that workflows may use by name, and the threads that plain ones run in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

from whorl.errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Function: TypeAlias = Callable[..., object]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True, slots=True)
class Registered:
    """A function and whether repeating it is free: a pure one is not journaled before it runs."""

    function: Function
    pure: bool = False


class Tasks:
    """Functions that workflows may use by name: `@tasks.task` puts one in.

    A plain function runs in a thread, a coroutine function in the event loop. Each is given copies
    of its inputs by name, and gives a value that JSON can hold.
    """

    def __init__(self) -> None:
        self._registered: dict[str, Registered] = {}

    @overload
    def task(self, name: F, /) -> F: ...

    @overload
    def task(self, name: str | None = None, *, pure: bool = False) -> Callable[[F], F]: ...

    def task(self, name: F | str | None = None, *, pure: bool = False) -> F | Callable[[F], F]:
        """Registers the decorated function under its own name or another one.

        `@tasks.task`, `@tasks.task()` and `@tasks.task("name")` all do. A `pure` function has no
        effect, so that after a crash it may be called again without a word.
        """

        def register(function: F) -> F:
            task = name if isinstance(name, str) else getattr(function, "__name__", "")
            self.add(task, function, pure=pure)
            return function

        if name is None or isinstance(name, str):
            return register
        return register(name)

    def add(self, name: str, function: Function, *, pure: bool = False) -> None:
        """Registers a function; raises UsageError when the name is taken, or it is no function."""
        if not callable(function):
            raise UsageError(f"task {name!r} is {function!r:.80}, which is no function")
        if not isinstance(name, str) or not name:
            advice = 'give one: `tasks.add("name", function)` or `@tasks.task("name")`'
            why = f"a task needs a name, which {function!r:.80} does not have"
            raise UsageError(why, help=advice)
        if name in self._registered:
            raise UsageError(f"task {name!r} is registered twice", code="W024")
        self._registered[name] = Registered(function, pure)

    def get(self, name: str) -> Registered | None:
        return self._registered.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self._registered)


# How many plain functions run at the same time; more of them wait for their turn.
THREADS_MAX = 100


class Threads:
    def __init__(self, most: int = THREADS_MAX) -> None:
        self._most = most
        self._pool: ThreadPoolExecutor | None = None

    async def call(self, function: Callable[[], object], begin: Callable[[], None]) -> object:
        """What the function gives; `begin` is called when its turn has come. Raises Raised."""
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[None] = loop.create_future()
        context = copy_context()

        def settle() -> None:
            if not begun.done():
                begun.set_result(None)

        def work() -> tuple[object, BaseException | None]:
            loop.call_soon_threadsafe(settle)
            try:
                return context.run(function), None
            # Some exceptions, such as StopIteration, cannot be raised into a future.
            except BaseException as fault:  # noqa: BLE001
                return None, fault

        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="whorl-task")
        running = loop.run_in_executor(self._pool, work)
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


class Raised(Exception):
    """A function in a thread raised `fault`, which may be any BaseException."""

    def __init__(self, fault: BaseException) -> None:
        self.fault = fault
