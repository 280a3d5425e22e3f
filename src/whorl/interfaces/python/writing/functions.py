"""Functions of a program as tasks: what they are given, with its types, and what they give."""

from __future__ import annotations

import inspect
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.interfaces.python.values import from_json, hints_of, to_json
from whorl.interfaces.python.writing.foreign import adapted

if TYPE_CHECKING:
    from collections.abc import Callable


class TaskFunction:
    """A function with its types; `call` takes JSON and gives JSON."""

    def __init__(self, thing: Callable[..., Any], name: str = "", *, pure: bool = False) -> None:
        self.function = adapted(thing)
        own = getattr(thing, "__name__", None) or getattr(thing, "name", None)
        self.name = name or str(own or type(thing).__name__)
        self.pure = pure

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return hints_of(self.function)

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self.function).parameters)

    @property
    def returns(self) -> object:
        return self._hints.get("return", Any)

    def arguments(self, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments by name; raises UsageError if they do not fit the function."""
        signature = inspect.Signature(list(self.parameters.values()))
        try:
            bound = signature.bind(*args, **named)
        except TypeError as fault:
            raise UsageError(f"the call of step {self.name!r} does not fit: {fault}") from None
        arguments = dict(bound.arguments)
        for name, parameter in signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                arguments |= arguments.pop(name, {})
        return arguments

    def check(self) -> None:
        """Refuses a function that a run could not repeat after a restart."""
        if inspect.isgeneratorfunction(self.function) or inspect.isasyncgenfunction(self.function):
            raise UsageError(
                f"step {self.name!r} is a generator, but the journal needs one result",
                help="return a list; `whorl.current_call().emit` shows text while it comes",
            )
        if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in self.parameters.values()):
            why = f"step {self.name!r} takes *arguments, but a step gets its values by name"
            raise UsageError(why, help="name the parameters, or take one list")

    @cached_property
    def call(self) -> Callable[..., Any]:
        function = self.function

        def prepared(given: dict[str, Any]) -> Callable[[], Any]:
            typed = {name: from_json(self._hints.get(name), part) for name, part in given.items()}
            return partial(function, **typed)

        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def call_async(**given: Any) -> Any:
                return to_json(await prepared(given)())

            return call_async

        @wraps(function)
        def call(**given: Any) -> Any:
            result = prepared(given)()
            return _later(result) if inspect.isawaitable(result) else to_json(result)

        return call


async def _later(result: Any) -> Any:
    return to_json(await result)
