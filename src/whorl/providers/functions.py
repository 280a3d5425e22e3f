"""Python functions that workflows may use by name; there is no global list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from whorl.errors import UsageError

Function: TypeAlias = Callable[..., object]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True, slots=True)
class Registered:
    """A function and whether repeating it is free: a pure one is not journaled before it runs."""

    function: Function
    pure: bool = False


class Functions:
    """Functions that workflows may use by name: `@functions.task()` puts one in."""

    def __init__(self) -> None:
        self._registered: dict[str, Registered] = {}

    def task(self, name: str | None = None, *, pure: bool = False) -> Callable[[F], F]:
        """Registers the decorated function under its own name or another one."""

        def register(function: F) -> F:
            self.add(name or function.__name__, function, pure=pure)
            return function

        return register

    def add(self, name: str, function: Function, *, pure: bool = False) -> None:
        """Registers a function; raises UsageError when the name is taken."""
        if name in self._registered:
            raise UsageError(f"task {name!r} is registered twice", code="W024")
        self._registered[name] = Registered(function, pure)

    def get(self, name: str) -> Registered | None:
        """The function of that name."""
        return self._registered.get(name)

    def names(self) -> tuple[str, ...]:
        """The names in use."""
        return tuple(self._registered)
