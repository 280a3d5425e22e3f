"""The values that expressions see: JSON, and UNDEFINED for a name without a value.

Members are keys of JSON objects, items are keys or indexes of lists and texts. No attribute of a
Python object is ever read through a name from a source: `__class__` is a key that is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from whorl.language.chunked_json import write_pieces
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.lazily import dataclass

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# Inside the evaluator a value is JSON, UNDEFINED or one of the opaque values; functions narrow it.
Value: TypeAlias = object

INTEGER_MAX = 2**63


class Undefined:
    """The type of UNDEFINED, the value of a name or member that does not exist."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED = Undefined()


class Opaque:
    """A value of the evaluator that is not JSON (loop variable, namespace)."""

    kind = "internal value"


class Scope(Protocol):
    """The values of the names in an expression."""

    def lookup(self, name: str) -> Json | Undefined:
        """Return the value of a name, or UNDEFINED."""
        ...


class MappingScope:
    __slots__ = ("mapping",)

    def __init__(self, mapping: Mapping[str, Json]) -> None:
        self.mapping = mapping

    def lookup(self, name: str) -> Json | Undefined:
        return self.mapping.get(name, UNDEFINED)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one evaluation may use; see the security rules on bounded evaluation."""

    fuel: int = 200_000
    text_max: int = 1_000_000
    items_max: int = 100_000
    depth_max: int = 64
    source_max: int = 262_144


LIMITS = Limits()

_SCALARS = frozenset((type(None), bool, int, float, str))


_KINDS = {
    type(None): "null",
    Undefined: "undefined",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def kind_of(value: Value) -> str:
    """Name the kind of a value as messages do."""
    if isinstance(value, Opaque):
        return f"a {value.kind}"
    kinds = (_KINDS[base] for base in type(value).__mro__ if base in _KINDS)
    return next(kinds, type(value).__name__)


def measure(value: Value, limits: Limits = LIMITS, characters_max: int | None = None) -> int:
    """Count the parts of a value as if it were written out, refusing what exceeds the limits.

    Shared parts count each time: a list built from itself thirty times is small in memory and
    huge on paper.
    """
    characters_max = limits.text_max * 8 if characters_max is None else characters_max
    parts = depth = characters = 0
    level: list[Value] = [value]
    while level:
        depth += 1
        if depth > limits.depth_max:
            raise LimitExceeded(f"value is nested more than {limits.depth_max} levels deep")
        following: list[Value] = []
        for part in level:
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, list):
                following.extend(part)
            elif isinstance(part, dict):
                following.extend(part.values())
                characters += sum(map(len, part))
            elif isinstance(part, Opaque):
                raise EvaluationError(f"a {part.kind} has no value of its own")
            if len(following) + parts > limits.items_max:
                raise LimitExceeded(f"value has more than {limits.items_max} parts")
        parts += len(level)
        if characters > characters_max:
            raise LimitExceeded(f"value holds more than {characters_max} characters")
        level = following
    return parts + (characters >> 6)


def to_json_text(value: Value, indent: int | None = None) -> str:
    """Write a measured value as JSON; undefined parts become null."""
    if indent is None:
        return "".join(write_pieces(value, _ENCODER.encode, " "))
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_undefined_as_null)


def _undefined_as_null(value: object) -> None:
    assert value is UNDEFINED, value


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_undefined_as_null)


def to_text(value: Value) -> str:
    """Turn a value into the text that templates print."""
    if isinstance(value, str):
        return value
    if value is None or value is UNDEFINED:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    measure(value)
    return to_json_text(value)


def well_formed(text: str) -> str:
    """Replace half characters, which UTF-8 cannot encode, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def key_text(key: Value) -> str:
    """Turn a value into a key of a JSON object."""
    if isinstance(key, str):
        return key
    if key is None:
        return "null"
    if isinstance(key, bool | int | float):
        return to_text(key)
    raise EvaluationError(f"{kind_of(key)} cannot be the key of an object")


def to_result(value: Value, limits: Limits = LIMITS) -> Json:
    """Turn the value of an expression into JSON of bounded size."""
    if type(value) in _SCALARS:
        return value  # type: ignore[return-value]
    if value is UNDEFINED:
        return None
    measure(value, limits)
    return _defined(value)


def _defined(value: Value) -> Json:
    if isinstance(value, list):
        return [_defined(part) for part in value]
    if isinstance(value, dict):
        return {key: _defined(part) for key, part in value.items()}
    return None if value is UNDEFINED else value  # type: ignore[return-value]


Getter: TypeAlias = Callable[[Value], Value]

PATH_MAX = 64


class Namespace(Opaque):
    """An object whose members a template may set from inside a loop."""

    kind = "namespace"

    def __init__(self, members: dict[str, Value]) -> None:
        self.members = members


class LoopVariable(Opaque):
    """The value of `loop` inside a for statement."""

    kind = "loop variable"

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.index = 0


_LOOP_MEMBERS: dict[str, Callable[[LoopVariable], Value]] = {
    "index": lambda loop: loop.index + 1,
    "index0": lambda loop: loop.index,
    "revindex": lambda loop: len(loop.items) - loop.index,
    "revindex0": lambda loop: len(loop.items) - loop.index - 1,
    "first": lambda loop: loop.index == 0,
    "last": lambda loop: loop.index == len(loop.items) - 1,
    "length": lambda loop: len(loop.items),
    "previtem": lambda loop: loop.items[loop.index - 1] if loop.index else UNDEFINED,
    "nextitem": lambda loop: item_of(loop.items, loop.index + 1),
}


class Group(dict[str, Value]):
    """One group of `groupby`: an object that also unpacks into its key and its items."""


def member_of(value: Value, name: str) -> Value:
    """Return `value.name`, or UNDEFINED if the value has no such member."""
    if isinstance(value, dict):
        return value.get(name, UNDEFINED)
    if isinstance(value, LoopVariable):
        read = _LOOP_MEMBERS.get(name)
        return UNDEFINED if read is None else read(value)
    if isinstance(value, Namespace):
        return value.members.get(name, UNDEFINED)
    return UNDEFINED


def item_of(value: Value, key: Value) -> Value:
    """Return `value[key]`, or UNDEFINED if the value has no such item."""
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
    for bound in (start, stop, step):
        if bound is not None and type(bound) is not int:
            raise EvaluationError(f"a slice needs whole numbers, not {kind_of(bound)}")
    if step == 0:
        raise EvaluationError("the step of a slice cannot be 0")
    if isinstance(value, list | str):
        return value[slice(start, stop, step)]  # type: ignore[arg-type]
    if value is None or value is UNDEFINED:
        return UNDEFINED
    raise EvaluationError(f"cannot take a slice of {kind_of(value)}")


def path_getter(path: Value, default: Value = None) -> Getter:
    """Return a function that follows a dotted path such as `'address.city'` or `0`."""
    if isinstance(path, str):
        if path.count(".") >= PATH_MAX:
            raise LimitExceeded(f"the name of an attribute has at most {PATH_MAX} parts")
        keys: list[Value] = [int(key) if is_index(key) else key for key in path.split(".")]
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


def is_index(key: str) -> bool:
    """Tell whether a part of a dotted path counts."""
    return key.isascii() and key.isdigit() and len(key) < 10
