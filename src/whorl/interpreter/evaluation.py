"""Evaluates the values of a workflow in the scope of a frame."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from whorl.interpreter.events import inner
from whorl.ir import Constant, Expression, Items
from whorl.ir.values import parse_duration, workspace_of
from whorl.language import UNDEFINED, EvaluationError, evaluate, to_text, truth

if TYPE_CHECKING:
    from collections.abc import Generator

    from whorl.interpreter.frames import Frame, RunState
    from whorl.ir import Compute, Value
    from whorl.language import Json, Meter, Scope, Undefined

ITEMS_MAX = 100_000


class FrameScope:
    """The names that a frame sees: its own scope, then the scopes around it."""

    __slots__ = ("_drawn", "_frame", "_scopes", "_start", "_state", "meter")

    def __init__(
        self, state: RunState, start: str, meter: Meter, frame: Frame | None = None
    ) -> None:
        self.meter = meter
        self._state = state
        self._scopes = state["scopes"]
        self._start = start
        self._frame = frame
        self._drawn = 0

    def lookup(self, name: str) -> Json | Undefined:
        """Returns the value of a name; names that begin with `$` are facts of the run."""
        at: str | None = self._start
        while at is not None:
            scope = self._scopes[at]
            values = scope["values"]
            if name in values:
                return values[name]
            if "hidden" in scope and name in scope["hidden"]:
                return UNDEFINED
            at = scope["up"]
        if name == "results":
            return self._results()
        if name == "workspace":
            return workspace_of(self._state["run"])
        if name == "$now":
            return self._state["at"]
        if name == "$run":
            return self._state["run"]
        if name == "$callback_url":
            return self._callback_url()
        if name != "$seed":
            return UNDEFINED
        # A text that is another one each time it is asked for, and the same in a replay.
        self._drawn += 1
        frame: Any = self._frame or {}
        place = f"{frame.get('address')} {frame.get('left')} {self._start} {self._drawn}"
        return f"{self._state['seed']} {place}"

    def _callback_url(self) -> Json | Undefined:
        """Returns the callback URL of this task, if it waits for a call and the run has URLs."""
        callback, frame = self._state.get("callback"), self._frame
        if callback is None or frame is None or frame["kind"] != "task":
            return UNDEFINED
        address = call_address(frame["base"])
        signature = call_signature(callback["token"], address)
        place = f"{self._state['run']}/{quote(address, safe='')}"
        return f"{callback['url']}/hooks/runs/{place}?sig={signature}"

    def _results(self) -> dict[str, Json]:
        """Returns all names at once, for names that an expression cannot spell."""
        results: dict[str, Json] = {}
        hidden: set[str] = set()
        at: str | None = self._start
        while at is not None:
            scope = self._scopes[at]
            seen = scope["values"]
            if hidden:
                seen = {name: value for name, value in seen.items() if name not in hidden}
            results = seen | results
            hidden.update(scope.get("hidden", ()))
            at = scope["up"]
        return results


def call_address(base: str) -> str:
    """Returns the address at which a task waits for a call."""
    return inner(base, "call")


def call_signature(token: str, address: str) -> str:
    """Returns the signature in a callback URL: only a caller who has it can make the call."""
    return hmac.new(token.encode(), address.encode(), "sha256").hexdigest()


class OverlayScope:
    __slots__ = ("_below", "_values", "meter")

    def __init__(self, values: dict[str, Json], below: FrameScope | OverlayScope) -> None:
        self.meter: Meter = below.meter
        self._values = values
        self._below = below

    def lookup(self, name: str) -> Json | Undefined:
        if name in self._values:
            return self._values[name]
        return self._below.lookup(name)


def value_of(value: Value, scope: Scope) -> Json:
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Expression):
        return evaluate(value, scope)
    if isinstance(value, Items):
        return [value_of(item, scope) for item in value.items]
    return {
        key if isinstance(key, str) else to_text(evaluate(key, scope)): value_of(entry, scope)
        for key, entry in value.entries
    }


def values_over(node: Compute, scope: FrameScope) -> Generator[None, None, list[Json]]:
    """Computes the values item by item; the caller can do other work between two items."""
    assert node.over is not None
    items = value_of(node.over, scope)
    if not isinstance(items, list) or len(items) > ITEMS_MAX:
        raise EvaluationError(f"{node.name!r} needs a list of at most {ITEMS_MAX} items")
    values: list[Json] = []
    for item in items:
        inside = OverlayScope({"$item": item}, scope)
        if node.keep is None or truth(node.keep, inside):
            values.append(value_of(node.value, inside))
        yield
    return values


# What each operation changes: its type, what it begins with, and its words.
_CHANGED: dict[str, tuple[Any, Any, str]] = {
    "append": (list, [], f"an array of fewer than {ITEMS_MAX} items"),
    "join": (str, "", "a text"),
    "add": (int | float, 0, "a number"),
}


def changed(operation: str, name: str, before: Json, value: Json) -> Json:
    if operation == "set":
        return value
    kind, empty, words = _CHANGED[operation]
    old: Any = empty if before is None else before
    more: Any = to_text(value) if operation == "join" else [value] if kind is list else value
    is_other = any(isinstance(x, bool) or not isinstance(x, kind) for x in (old, more))
    if is_other or (kind is list and len(old) >= ITEMS_MAX):
        raise EvaluationError(f"variable {name!r} cannot be added to: {words} is needed")
    return old + more  # type: ignore[no-any-return]


def seconds_of(value: Json) -> float:
    """Returns the seconds of a duration: a number, or a text such as 5s or PT5S."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise EvaluationError(f"a duration such as '5s' is needed, not {shown(value)}")
    try:
        return parse_duration(value)
    except OverflowError:
        raise EvaluationError("a duration is at most 10 years long") from None
    except ValueError as fault:
        raise EvaluationError(str(fault)) from None


def shown(value: Json) -> str:
    """Returns a value as a message shows it, shortened so that it does not fill the message."""
    # Numbers of too many digits cannot even be written.
    text = "a huge number" if isinstance(value, int) and abs(value) > 10**100 else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
