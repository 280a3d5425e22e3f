"""Python functions that workflows may use by name; there is no global list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, overload

from whorl.errors import UsageError

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
            known = name if isinstance(name, str) else getattr(function, "__name__", "")
            self.add(known, function, pure=pure)
            return function

        if name is None or isinstance(name, str):
            return register
        return register(name)

    def add(self, name: str, function: Function, *, pure: bool = False) -> None:
        """Registers a function; raises UsageError when the name is taken, or it is no function."""
        if not callable(function):
            raise UsageError(f"task {name!r} is {function!r:.80}, which is no function")
        if not isinstance(name, str) or not name:
            raise UsageError(
                f"a task needs a name, which {function!r:.80} does not have",
                help='give one: `tasks.add("name", function)` or `@tasks.task("name")`',
            )
        if name in self._registered:
            raise UsageError(f"task {name!r} is registered twice", code="W024")
        self._registered[name] = Registered(function, pure)

    def get(self, name: str) -> Registered | None:
        """The function of that name."""
        return self._registered.get(name)

    def names(self) -> tuple[str, ...]:
        """The names in use."""
        return tuple(self._registered)
