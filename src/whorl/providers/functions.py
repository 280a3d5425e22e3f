"""The functions that are tasks by name: their registration, threads and call information."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from whorl.errors import ProviderError, UsageError, WhorlError
from whorl.lazily import dataclass
from whorl.providers.task import Emit, Request, Usage

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from whorl.providers.settings import Settings

Function: TypeAlias = Callable[..., object]
F = TypeVar("F", bound=Function)


@dataclass(slots=True, eq=False)
class Call:
    """The call of a function by a run, for functions that need to know about it.

    `key` stays the same when a call in doubt is made again: give it to the other side as an
    idempotency key.
    """

    run: str = ""
    address: str = ""
    attempt: int = 1
    key: str = ""
    _emit: Emit = field(default=lambda text: None, repr=False)
    _usage: Usage = field(default_factory=lambda: Usage(calls=1), repr=False)

    def emit(self, text: str) -> None:
        """Shows text to those who watch, while the function still works."""
        self._emit(text)

    def used(
        self, input_tokens: int = 0, output_tokens: int = 0, cost_usd: float | None = None
    ) -> None:
        """Adds the usage of a model that the function itself calls; it counts against budgets.

        Without a cost, its price is not known.
        """
        self._usage += Usage(0, input_tokens, output_tokens, cost_usd)

    @property
    def usage(self) -> Usage:
        return self._usage


_call: ContextVar[Call | None] = ContextVar("call", default=None)


def current_call() -> Call:
    """The current call; outside of runs, one without watchers."""
    return _call.get() or Call()


@contextmanager
def calling(request: Request, emit: Emit) -> Iterator[Call]:
    """Makes this call current for functions; passes their text to the event loop."""
    loop = asyncio.get_running_loop()
    call = Call(request.run, request.address, request.attempt, request.key)

    def emit_in_loop(text: str) -> None:
        try:
            is_inside = asyncio.get_running_loop() is loop
        except RuntimeError:
            is_inside = False
        if is_inside:
            emit(text)
        else:
            loop.call_soon_threadsafe(emit, text)

    call._emit = emit_in_loop
    token = _call.set(call)
    try:
        yield call
    finally:
        _call.reset(token)


@dataclass(frozen=True, slots=True)
class Registered:
    """A function; a pure one has no effect, and is not journaled before it runs."""

    function: Function
    pure: bool = False


class Tasks:
    """Functions that workflows may use by name: `@tasks.task` adds one.

    A plain function runs in a thread, a coroutine function in the event loop. Each is given copies
    of its inputs by name, and gives a value that JSON can hold.
    """

    def __init__(self) -> None:
        self._registered: dict[str, Registered] = {}
        # What begins the code of workflows, by `module:name`.
        self._programs: dict[str, Function] = {}

    @overload
    def task(self, name: F, /) -> F: ...

    @overload
    def task(self, name: str | None = None, *, pure: bool = False) -> Callable[[F], F]: ...

    def task(self, name: F | str | None = None, *, pure: bool = False) -> F | Callable[[F], F]:
        """Registers the decorated function under its own name or another one.

        `@tasks.task`, `@tasks.task()` and `@tasks.task("name")` all do. A `pure` function has no
        effect, so it may be called again after a crash without asking.
        """

        def register(function: F) -> F:
            task = name if isinstance(name, str) else getattr(function, "__name__", "")
            self.add(task, function, pure=pure)
            return function

        if name is None or isinstance(name, str):
            return register
        return register(name)

    def add(self, name: str, function: Function, *, pure: bool = False) -> None:
        """Registers a function; raises UsageError if the name is taken, or it is not a function."""
        if not callable(function):
            raise UsageError(f"task {name!r} is {function!r:.80}, which is not a function")
        if not isinstance(name, str) or not name:
            advice = 'give one: `tasks.add("name", function)` or `@tasks.task("name")`'
            why = f"a task needs a name, which {function!r:.80} does not have"
            raise UsageError(why, help=advice)
        if name in self._registered:
            raise UsageError(f"task {name!r} is registered twice", code="W012")
        self._registered[name] = Registered(function, pure)

    def keep(self, name: str, function: Function, *, pure: bool = False) -> None:
        """Registers a function that a program calls; one that was defined again replaces it."""
        known = self._registered.get(name)
        if known is None or known.function is not function:
            added = Tasks()
            added.add(name, function, pure=pure)
            self.include(added)

    def add_program(self, place: str, begin: Function) -> None:
        """Registers what begins the code of a workflow; one that was defined again replaces it."""
        self._programs[place] = begin

    def program(self, place: str) -> Function | None:
        return self._programs.get(place)

    def programs(self) -> tuple[str, ...]:
        """Returns the places of all workflows whose code is here."""
        return tuple(self._programs)

    def include_programs(self, others: Tasks | None) -> None:
        """Adds the code of workflows alone."""
        self._programs |= others._programs if others is not None else {}

    def include(self, others: Tasks | None) -> None:
        """Adds the functions of a workflow; one that was defined again replaces the old one.

        Raises UsageError W012 where another function has its name.
        """
        self.include_programs(others)
        for name, registered in (others._registered if others is not None else {}).items():
            known = self._registered.get(name)
            if known is not None and _origin(known.function) != _origin(registered.function):
                advice = "name one of them: @whorl.step(name=...)"
                why = f"two functions of the program are called {name!r}"
                raise UsageError(why, help=advice, code="W012")
            self._registered[name] = registered

    def get(self, name: str) -> Registered | None:
        return self._registered.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self._registered)


class ProgramTasks(Tasks):
    """The functions of workflows that are written in Python, imported at the first lookup."""

    def __init__(self, places: Sequence[str], settings: Settings) -> None:
        super().__init__()
        self._places, self._settings = tuple(places), settings
        self._fault: WhorlError | None = None

    def _load(self) -> None:
        places, self._places = self._places, ()
        for place in places:
            try:
                definition: Any = import_function(place, self._settings)
                self.include(getattr(definition, "workflow", None) and definition.workflow.tasks)
            except WhorlError as fault:
                # The fault is only raised when a function is not found.
                self._fault = fault

    def get(self, name: str) -> Registered | None:
        self._load()
        found = super().get(name)
        if found is None and self._fault is not None:
            raise self._fault
        return found

    def program(self, place: str) -> Function | None:
        self._load()
        return super().program(place)

    def programs(self) -> tuple[str, ...]:
        self._load()
        if self._fault is not None:
            raise self._fault
        return super().programs()

    def names(self) -> tuple[str, ...]:
        self._load()
        return super().names()


def _origin(function: Function) -> tuple[object, object]:
    return getattr(function, "__module__", None), getattr(function, "__qualname__", function)


def how_to_give(name: str) -> str:
    """Returns advice for a task that is not known."""
    given = f"`tasks = whorl.Tasks(); tasks.add({name!r}, function)` and run it with `tasks=tasks`"
    return (
        f'in [tasks] of whorl.toml, add `"{name}" = "python:module:function"`; in Python, {given}'
    )


# How many plain functions run at the same time; more of them wait for their turn.
THREADS_MAX = 100


class Threads:
    def __init__(self, most: int = THREADS_MAX) -> None:
        self._most = most
        self._pool: ThreadPoolExecutor | None = None

    async def call(self, function: Callable[[], object], begin: Callable[[], None]) -> object:
        """Returns the function's result; calls `begin` when its turn comes. Raises Raised."""
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
        """Takes no more functions; running functions end by themselves."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


class Raised(Exception):
    """A function in a thread raised `fault`, which may be any BaseException."""

    def __init__(self, fault: BaseException) -> None:
        self.fault = fault


def has_module(place: str, settings: Settings) -> bool:
    """Whether the module of `python:module:function` can be found; its code is not run."""
    import sys
    from importlib.machinery import PathFinder
    from pathlib import Path

    name = place.removeprefix("python:").partition(":")[0].strip().partition(".")[0]
    root = str(Path(settings.project_root).resolve())
    known = name in sys.modules or name in sys.builtin_module_names
    return known or PathFinder.find_spec(name, [*sys.path, root]) is not None


def import_function(place: str, settings: Settings) -> Function:
    """Returns the function of `python:module:function`; also finds modules of the project."""
    import sys
    from pathlib import Path

    from whorl.plugins import load_reference

    root = str(Path(settings.project_root).resolve())
    if root not in sys.path:
        # Last, so that no file of the project takes the place of an installed module.
        sys.path.append(root)
    try:
        function = load_reference(place.removeprefix("python:"))
    # The module of the operator may raise anything while it is imported.
    except Exception as cause:
        why = f"task {place!r} does not load: {type(cause).__name__}: {cause}"
        raise ProviderError(why, code="P114") from cause
    if not callable(function):
        raise ProviderError(f"task {place!r} is not a function", code="P114")
    return function
