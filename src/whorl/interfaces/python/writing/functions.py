"""Functions of a program as tasks: what they are given, with its types, and what they give."""

from __future__ import annotations

import inspect
from datetime import timedelta
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, TypedDict

from whorl.errors import UsageError
from whorl.interfaces.python.values import from_json, hints_of, to_json
from whorl.interfaces.python.writing.foreign import adapted
from whorl.interfaces.python.writing.references import Ref, written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class StepOptions(TypedDict, total=False):
    """What any step takes: its name, and how it is carried out.

    `timeout` is in seconds, or a text such as `10m`. `retry` is the number of retries, or
    `{times, wait, backoff, on}`. `delivery` decides about a call that a crash left in doubt.
    `on_failure` is `halt` or `continue`.
    """

    name: str
    timeout: float | str | timedelta
    retry: int | Mapping[str, object]
    delivery: str
    on_failure: str | Mapping[str, object]


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same in the words of the native format, without the name."""
    fields = {key: value for key, value in options.items() if key != "name" and value is not None}
    if isinstance(limit := fields.get("timeout"), int | float | timedelta):
        seconds = limit.total_seconds() if isinstance(limit, timedelta) else limit
        fields["timeout"] = f"{round(seconds * 1000)}ms"
    if isinstance(times := fields.get("retry"), int):
        fields["retry"] = {"times": times}
    return fields


class TaskFunction:
    """A function with its types; `call` takes JSON and gives JSON."""

    def __init__(self, thing: Callable[..., Any], name: str = "", *, pure: bool = False) -> None:
        self.function = adapted(thing)
        own = getattr(thing, "__name__", None) or getattr(thing, "name", None)
        self.name = name or ("until" if own == "<lambda>" else str(own or type(thing).__name__))
        self.pure = pure

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return hints_of(self.function)

    def assume(self, kind: object) -> None:
        """Sets the type of the only parameter if the function does not declare it (a lambda)."""
        if len(self.parameters) == 1:
            self._hints.setdefault(next(iter(self.parameters)), kind)

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
        return {name: written(value) for name, value in arguments.items()}

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
        for name, value in inspect.getclosurevars(_plain(self.function)).nonlocals.items():
            if isinstance(value, Ref):
                raise UsageError(
                    f"step {self.name!r} reads {name!r} from the workflow around it, but that "
                    "value does not exist when a run calls the step",
                    help=f"give it as a parameter: {self.name}({name})",
                )

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


def _plain(function: Any) -> Any:
    """Returns the plain function of a method or a partial one."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return function if inspect.isfunction(function) else _plain_nothing


def _plain_nothing() -> None:
    """Replaces a callable without names around it, such as a built-in function."""
