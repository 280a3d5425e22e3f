"""The event loop of a program: it has no clock, and no threads, sockets or processes."""

from __future__ import annotations

import asyncio
from asyncio import tasks as asyncio_tasks
from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from whorl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from whorl.runtimes.host import Host


class HostLoop(asyncio.AbstractEventLoop):
    """Runs callbacks until all have run; timers are waits of the run."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.ready: deque[asyncio.Handle] = deque()
        self.tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        # The time of the run.
        self.now = 0.0

    def run_ready(self) -> None:
        """Runs what is ready, inside of the event loop and the task that drive the run."""
        around = asyncio._get_running_loop()
        task = asyncio.current_task(around) if around is not None else None
        if around is not None and task is not None:
            asyncio_tasks._leave_task(around, task)
        asyncio._set_running_loop(self)
        try:
            while self.ready:
                handle = self.ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            asyncio._set_running_loop(around)
            if around is not None and task is not None:
                asyncio_tasks._enter_task(around, task)

    def leave(self, task: asyncio.Task[Any]) -> None:
        """Ends a task where it is, without a word about it."""
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        coroutine = task.get_coro()
        # Blocks of its own on the way out may not wait any more.
        try:
            if coroutine is not None:
                copy_context().run(coroutine.close)
        except (RuntimeError, ValueError):
            return

    def time(self) -> float:
        return self.now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        handle._scheduled = True  # type: ignore[attr-defined]
        self._host.wait(handle, when - self.now)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self._host.wait_no_more(handle)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: Any = None, context: Any = None, **_: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks.add(task)
        self._host.began(task)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def get_exception_handler(self) -> None:
        return None

    def set_exception_handler(self, handler: object) -> None:
        """Keeps none: what a task raises is seen by what waits for it."""

    def get_task_factory(self) -> None:
        return None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Does nothing: an exception that was not seen does not concern the run."""


def _refused(self: HostLoop, *args: Any, **named: Any) -> Any:
    words = "a workflow uses no files, sockets, threads or processes, since they cannot be repeated"
    raise UsageError(
        words, help="put it into a function with @whorl.step, and await that", code="W918"
    )


for _word in vars(asyncio.AbstractEventLoop):
    if _word not in vars(HostLoop) and not _word.startswith("__") and "asyncgen" not in _word:
        setattr(HostLoop, _word, _refused)
