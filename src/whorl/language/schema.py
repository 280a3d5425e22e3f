"""A small JSON Schema validator for typed answers; it changes nothing but 3.0 to 3."""

from __future__ import annotations

import operator
from itertools import islice
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.language.values import Json

DEPTH_MAX = 64
# A schema may lead to the same value in more ways than there is time for.
STEPS_MAX = 300_000
CHOICES_SHOWN = 20
FAULTS_MAX = 20

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


@dataclass(frozen=True, slots=True)
class SchemaError:
    """A part of a value that does not fit, in words; `rule` and `wanted` are the schema's terms."""

    path: str
    words: str
    rule: str = ""
    wanted: tuple[str, ...] = ()
    value: Json = None

    def __str__(self) -> str:
        return f"{self.path} {self.words}"


def fit(schema: Json, value: Json, extra: dict[str, Json] | None = None) -> tuple[Json, list[str]]:
    """Return the value adapted to the schema, and the misfits (none if it fits).

    Fields that a closed object does not name are moved from the value into `extra`, if given.
    """
    try:
        value = _Checker(schema, extra).whole(schema, value, 0)
    except _TooLong:
        return value, [str(_TOO_LONG)]
    return value, list(map(str, misfits(schema, value)))


def misfits(schema: Json, value: Json) -> list[SchemaError]:
    """Return the misfits, up to a number that a person would read."""
    listed: list[SchemaError] = []
    try:
        listed.extend(islice(_Checker(schema).faults(schema, value, "$", 0), FAULTS_MAX))
    except _TooLong:
        listed.append(_TOO_LONG)
    return listed


class _TooLong(Exception):
    """The check takes more steps than it may."""


_TOO_LONG = SchemaError("$", f"cannot be checked in {STEPS_MAX} steps", "steps")


class _Checker:
    """Compares values with parts of one schema; `root` is where its references begin."""

    def __init__(self, root: Json, extra: dict[str, Json] | None = None) -> None:
        self._root = root
        self._extra = extra
        self._left = STEPS_MAX
        self._known: dict[str, Json] = {}

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _TooLong

    def _resolved(self, schema: Json) -> Json:
        """Follows `$ref`s inside the schema, such as `#/$defs/point`; never downloads."""
        self._spend(1)
        for _ in range(8):
            if not isinstance(schema, dict) or not isinstance(reference := schema.get("$ref"), str):
                return schema
            if reference not in self._known:
                target: Json = self._root if reference.startswith("#") else None
                for part in reference.split("/")[1:]:
                    target = _object(target).get(part)
                self._known[reference] = target
            schema = self._known[reference]
        return None

    def whole(self, schema: Json, value: Json, depth: int, path: str = "") -> Json:
        """Turns 3.0 into 3 if an integer is wanted: many models write it so."""
        schema = self._resolved(schema)
        if not isinstance(schema, dict) or depth > DEPTH_MAX:
            return value
        if isinstance(value, float) and value.is_integer() and "integer" in _type_names(schema):
            return int(value)
        if isinstance(value, dict):
            properties = _object(schema.get("properties"))
            is_closed = self._extra is not None and schema.get("additionalProperties") is False
            kept: dict[str, Json] = {}
            for name, item in value.items():
                place = f"{path}.{name}" if path else name
                if is_closed and self._extra is not None and name not in properties:
                    self._extra[place] = item
                else:
                    kept[name] = self.whole(properties.get(name), item, depth + 1, place)
            return kept
        if isinstance(value, list):
            items = schema.get("items")
            return [self.whole(items, v, depth + 1, f"{path}[{n}]") for n, v in enumerate(value)]
        return value

    def faults(self, schema: Json, value: Json, path: str, depth: int) -> Iterator[SchemaError]:
        """Returns all misfits of the value."""
        schema = self._resolved(schema)
        if schema is False:
            yield SchemaError(path, "is not allowed")
        if not isinstance(schema, dict):
            return
        if depth > DEPTH_MAX:
            yield SchemaError(path, f"is more than {DEPTH_MAX} levels deep")
            return
        if value is None and schema.get("nullable") is True:
            return
        self._spend(_work(schema, value))
        names = _type_names(schema)
        if names and not any(type(value) in TYPES[name] for name in names):
            kind = next(name for name, types in TYPES.items() if type(value) in types)
            words = f"must be {' or '.join(names)}, not {kind}"
            yield SchemaError(path, words, "type", tuple(names), value)
            return
        yield from _choices(schema, value, path)
        yield from self._combined(schema, value, path, depth)
        yield from _bounds(schema, value, path)
        if isinstance(value, dict):
            yield from self._object(schema, value, path, depth)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                yield from self.faults(schema.get("items"), item, f"{path}[{at}]", depth + 1)

    def _object(
        self, schema: dict[str, Json], value: dict[str, Json], path: str, depth: int
    ) -> Iterator[SchemaError]:
        properties = _object(schema.get("properties"))
        for name in _list(schema.get("required")):
            if isinstance(name, str) and name not in value:
                yield SchemaError(path, f"needs {name!r}", "required", (name,))
        others = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name not in properties and others is False:
                yield SchemaError(path, f"has a field {name!r} that the schema does not name")
            else:
                rule = properties.get(name, others)
                yield from self.faults(rule, item, f"{path}.{name}", depth + 1)

    def _combined(
        self, schema: dict[str, Json], value: Json, path: str, depth: int
    ) -> Iterator[SchemaError]:
        for part in _list(schema.get("allOf")):
            yield from self.faults(part, value, path, depth + 1)
        for word in ("anyOf", "oneOf"):
            parts = _list(schema.get(word))
            self._spend(len(parts))
            fitting = [p for p in parts if not any(self.faults(p, value, path, depth + 1))]
            if parts and not fitting:
                yield SchemaError(path, f"fits none of its {len(parts)} forms")
            elif word == "oneOf" and len(fitting) > 1:
                yield SchemaError(
                    path, f"fits {len(fitting)} of its forms, and must fit exactly one"
                )


def _choices(schema: dict[str, Json], value: Json, path: str) -> Iterator[SchemaError]:
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_same(value, choice) for choice in choices):
        listed = ", ".join(f"{choice!r:.80}" for choice in choices[:CHOICES_SHOWN])
        more = f" or {len(choices) - CHOICES_SHOWN} more" if len(choices) > CHOICES_SHOWN else ""
        yield SchemaError(path, f"must be one of {listed}{more}, not {value!r:.80}")
    if "const" in schema and not _same(value, schema["const"]):
        yield SchemaError(path, f"must be {schema['const']!r:.200}")


# What bounds a number, or the length of a list or text: the word, what must hold, how it is said.
_BOUNDS: dict[type, tuple[tuple[str, Callable[[float, float], bool], str], ...]] = {
    list: (
        ("minItems", operator.ge, "have at least {} items"),
        ("maxItems", operator.le, "have at most {} items"),
    ),
    str: (
        ("minLength", operator.ge, "have at least {} characters"),
        ("maxLength", operator.le, "have at most {} characters"),
    ),
    float: (
        ("minimum", operator.ge, "be at least {}"),
        ("maximum", operator.le, "be at most {}"),
        ("exclusiveMinimum", operator.gt, "be more than {}"),
        ("exclusiveMaximum", operator.lt, "be less than {}"),
    ),
}


def _bounds(schema: dict[str, Json], value: Json, path: str) -> Iterator[SchemaError]:
    size: Any = value
    kinds: tuple[type, ...] = (int, float)
    if isinstance(value, list | str):
        size, kinds = len(value), (int, bool)
    for word, holds, words in _BOUNDS.get(float if type(value) is int else type(value), ()):
        limit: Any = schema.get(word)
        if type(limit) in kinds and not holds(size, limit):
            yield SchemaError(path, f"must {words.format(limit)}, not {size}")


def _work(schema: dict[str, Json], value: Json) -> int:
    """Return the work that the words of a schema need for one value, without its parts."""
    named = sum(len(_list(schema.get(word))) >> 2 for word in ("type", "required", "enum"))
    if ("enum" in schema or "const" in schema) and isinstance(value, list | dict):
        # A choice is compared with all of the value.
        return (named + 1) * _size_of(value)
    return named


def _size_of(value: Json) -> int:
    waiting, count = [value], 0
    while waiting and count < STEPS_MAX:
        count += 1
        part = waiting.pop()
        if isinstance(part, list | dict):
            waiting.extend(part.values() if isinstance(part, dict) else part)
    return count


def _type_names(schema: dict[str, Json]) -> list[str]:
    named = schema.get("type")
    names = named if isinstance(named, list) else [named]
    return [name for name in names if isinstance(name, str) and name in TYPES]


def _same(value: Json, other: Json) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
