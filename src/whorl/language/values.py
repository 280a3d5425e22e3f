"""The values that expressions see: JSON, and what a name means that has no value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from whorl.language.faults import EvaluationError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """A value of the evaluator that is not JSON (loop variable, namespace, macro)."""

    __slots__ = ()
    kind = "internal value"


class Scope(Protocol):
    """Where an expression finds the values of its names."""

    def lookup(self, name: str) -> Json | Undefined:
        """Return the value of a name, or UNDEFINED."""
        ...


class MappingScope:
    """A scope over one mapping."""

    __slots__ = ("mapping",)

    def __init__(self, mapping: Mapping[str, Json]) -> None:
        self.mapping = mapping

    def lookup(self, name: str) -> Json | Undefined:
        """Return the value of a name, or UNDEFINED."""
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


def kind_of(value: Value) -> str:
    """Name the kind of a value as messages do."""
    match value:
        case None:
            return "null"
        case Undefined():
            return "undefined"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case Opaque():
            return f"a {value.kind}"
    return type(value).__name__


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
            characters += _add_part(part, following)
            if len(following) + parts > limits.items_max:
                raise LimitExceeded(f"value has more than {limits.items_max} parts")
        parts += len(level)
        if characters > characters_max:
            raise LimitExceeded(f"value holds more than {characters_max} characters")
        level = following
    return parts + (characters >> 6)


def _add_part(part: Value, following: list[Value]) -> int:
    if isinstance(part, str):
        return len(part)
    if isinstance(part, list):
        following.extend(part)
    elif isinstance(part, dict):
        following.extend(part.values())
        return sum(map(len, part))
    elif isinstance(part, Opaque):
        raise EvaluationError(f"a {part.kind} has no value of its own")
    return 0


def to_json_text(value: Value, indent: int | None = None) -> str:
    """Write a measured value as JSON; undefined parts become null."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_undefined_as_null)


def _undefined_as_null(value: Value) -> None:
    assert value is UNDEFINED, value


def to_text(value: Value) -> str:
    """Turn a value into the text that templates print."""
    if isinstance(value, str):
        return value
    if value is None or value is UNDEFINED:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int | float):
        return repr(value)
    measure(value)
    return to_json_text(value)


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
    """Turn what an expression gave into JSON of bounded size."""
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
