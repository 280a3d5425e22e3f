"""Members and items of values: keys of JSON objects, indexes of lists and texts, nothing else.

No attribute of a Python object is ever read through a name from a source: `__class__` is a key
that is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.values import UNDEFINED, Opaque, Value, key_text, kind_of

Getter: TypeAlias = Callable[[Value], Value]

PATH_MAX = 64


class Namespace(Opaque):
    """An object whose members a template may set from inside a loop."""

    __slots__ = ("members",)
    kind = "namespace"

    def __init__(self, members: dict[str, Value]) -> None:
        self.members = members


class LoopVariable(Opaque):
    """What `loop` means inside a for statement."""

    __slots__ = ("changed", "index", "items")
    kind = "loop variable"

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.index = 0
        self.changed: Value = UNDEFINED

    def member(self, name: str) -> Value:
        """Return one of the documented members."""
        read = _LOOP_MEMBERS.get(name)
        return UNDEFINED if read is None else read(self)


_LOOP_MEMBERS: dict[str, Callable[[LoopVariable], Value]] = {
    "index": lambda loop: loop.index + 1,
    "index0": lambda loop: loop.index,
    "revindex": lambda loop: len(loop.items) - loop.index,
    "revindex0": lambda loop: len(loop.items) - loop.index - 1,
    "first": lambda loop: loop.index == 0,
    "last": lambda loop: loop.index == len(loop.items) - 1,
    "length": lambda loop: len(loop.items),
    # Jinja2 counts the depth of recursive loops only, and those are not supported.
    "depth": lambda loop: 1,
    "depth0": lambda loop: 0,
    "previtem": lambda loop: loop.items[loop.index - 1] if loop.index else UNDEFINED,
    "nextitem": lambda loop: item_of(loop.items, loop.index + 1),
}


class Cycler(Opaque):
    """Gives its values in turn, each time that `next()` is called."""

    __slots__ = ("position", "values")
    kind = "cycler"

    def __init__(self, values: list[Value]) -> None:
        self.values = values
        self.position = 0

    @property
    def current(self) -> Value:
        """The value that `next()` will give."""
        return self.values[self.position % len(self.values)]


class Joiner(Opaque):
    """Gives nothing the first time that it is called, then its separator."""

    __slots__ = ("separator", "used")
    kind = "joiner"

    def __init__(self, separator: str) -> None:
        self.separator = separator
        self.used = False


class Group(dict[str, Value]):
    """One group of `groupby`: an object that also unpacks into its key and its items."""

    __slots__ = ()


def member_of(value: Value, name: str) -> Value:
    """Return `value.name`; of what has no such member, UNDEFINED."""
    if isinstance(value, dict):
        return value.get(name, UNDEFINED)
    if isinstance(value, LoopVariable):
        return value.member(name)
    if isinstance(value, Namespace):
        return value.members.get(name, UNDEFINED)
    if isinstance(value, Cycler) and name == "current":
        return value.current
    return UNDEFINED


def item_of(value: Value, key: Value) -> Value:
    """Return `value[key]`; of what has no such item, UNDEFINED."""
    if isinstance(value, dict):
        if not isinstance(key, str):
            if isinstance(key, list | dict) or key is UNDEFINED:
                return UNDEFINED
            key = key_text(key)
        return value.get(key, UNDEFINED)
    if isinstance(value, list | str):
        if isinstance(key, int) and not isinstance(key, bool) and -len(value) <= key < len(value):
            return value[key]
        return UNDEFINED
    if isinstance(key, str):
        return member_of(value, key)
    return UNDEFINED


def slice_of(value: Value, start: Value, stop: Value, step: Value) -> Value:
    """Return `value[start:stop:step]`."""
    stretch = slice(_bound(start), _bound(stop), _bound(step))
    if stretch.step == 0:
        raise EvaluationError("the step of a slice cannot be 0")
    if isinstance(value, list | str):
        return value[stretch]
    if value is None or value is UNDEFINED:
        return UNDEFINED
    raise EvaluationError(f"cannot take a slice of {kind_of(value)}")


def _bound(bound: Value) -> int | None:
    if bound is None or (isinstance(bound, int) and not isinstance(bound, bool)):
        return bound
    raise EvaluationError(f"a slice needs whole numbers, not {kind_of(bound)}")


def path_getter(path: Value, default: Value = None) -> Getter:
    """Return a function that follows a dotted path such as `'address.city'` or `0`."""
    if isinstance(path, str):
        if path.count(".") >= PATH_MAX:
            raise LimitExceeded(f"the name of an attribute has at most {PATH_MAX} parts")
        keys: list[Value] = [int(key) if _is_index(key) else key for key in path.split(".")]
    elif path is None:
        keys = []
    elif isinstance(path, int) and not isinstance(path, bool):
        keys = [path]
    else:
        raise EvaluationError(f"an attribute is named by a text or a number, not {kind_of(path)}")

    def follow(value: Value) -> Value:
        for key in keys:
            value = item_of(value, key)
            if value is UNDEFINED and default is not None:
                value = default
        return value

    return follow


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) < 10
