"""A small JSON Schema validator for typed answers; it changes nothing but 3.0 to 3."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.language.values import Json

DEPTH_MAX = 64
# A schema may lead to the same value in more ways than there is time for.
STEPS_MAX = 300_000
CHOICES_SHOWN = 20
FAULTS_MAX = 20

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


@dataclass(frozen=True, slots=True)
class Misfit:
    """A part of a value that does not fit, in words; `rule` and `wanted` say it in the schema's."""

    path: str
    words: str
    rule: str = ""
    wanted: tuple[str, ...] = ()
    value: Json = None

    def __str__(self) -> str:
        return f"{self.path} {self.words}"


def fit(schema: Json, value: Json) -> tuple[Json, list[str]]:
    """The value as the schema wants it, and what does not fit (nothing: it fits)."""
    checker = _Checker(schema)
    try:
        value = checker.whole(schema, value, 0)
    except _TooLong as cause:
        return value, [str(cause.misfit)]
    return value, [str(misfit) for misfit in misfits(schema, value)]


def misfits(schema: Json, value: Json) -> list[Misfit]:
    """What does not fit, up to a number that a person would read."""
    found: list[Misfit] = []
    try:
        found.extend(islice(_Checker(schema).faults(schema, value, "$", 0), FAULTS_MAX))
    except _TooLong as cause:
        found.append(cause.misfit)
    return found


class _TooLong(Exception):
    """The check takes more steps than it may."""

    def __init__(self) -> None:
        super().__init__()
        self.misfit = Misfit("$", f"cannot be checked in {STEPS_MAX} steps", "steps")


class _Checker:
    """Compares values with parts of one schema; `root` is where its references begin."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._left = STEPS_MAX
        self._known: dict[str, Json] = {}

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _TooLong

    def _resolved(self, schema: Json) -> Json:
        """Follows `$ref`s inside the schema, such as `#/$defs/point`; nothing is ever fetched."""
        self._spend(1)
        for _ in range(8):
            if not isinstance(schema, dict) or not isinstance(reference := schema.get("$ref"), str):
                return schema
            if reference not in self._known:
                self._known[reference] = self._found(reference)
            schema = self._known[reference]
        return None

    def _found(self, reference: str) -> Json:
        found: Json = self._root if reference.startswith("#") else None
        for part in reference.split("/")[1:]:
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def whole(self, schema: Json, value: Json, depth: int) -> Json:
        """Turns 3.0 into 3 where an integer is wanted: many models write it so."""
        schema = self._resolved(schema)
        if not isinstance(schema, dict) or depth > DEPTH_MAX:
            return value
        if isinstance(value, float) and value.is_integer() and "integer" in _type_names(schema):
            return int(value)
        if isinstance(value, dict):
            properties = _object(schema.get("properties"))
            return {k: self.whole(properties.get(k), v, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [self.whole(schema.get("items"), item, depth + 1) for item in value]
        return value

    def faults(self, schema: Json, value: Json, path: str, depth: int) -> Iterator[Misfit]:
        """Everything in the value that does not fit."""
        schema = self._resolved(schema)
        if schema is False:
            yield Misfit(path, "is not allowed")
        if not isinstance(schema, dict):
            return
        if depth > DEPTH_MAX:
            yield Misfit(path, f"is more than {DEPTH_MAX} levels deep")
            return
        if value is None and schema.get("nullable") is True:
            return
        self._spend(_work(schema, value))
        names = _type_names(schema)
        if names and not any(_is(value, name) for name in names):
            words = f"must be {' or '.join(names)}, not {_name(value)}"
            yield Misfit(path, words, "type", tuple(names), value)
            return
        if "enum" in schema or "const" in schema:
            yield from _choices(schema, value, path)
        if "anyOf" in schema or "allOf" in schema or "oneOf" in schema:
            yield from self._combined(schema, value, path, depth)
        if isinstance(value, dict):
            yield from self._object(schema, value, path, depth)
        elif isinstance(value, list):
            yield from _size(schema, len(value), path, ("minItems", "maxItems", "items"))
            for at, item in enumerate(value):
                yield from self.faults(schema.get("items"), item, f"{path}[{at}]", depth + 1)
        elif isinstance(value, str):
            yield from _size(schema, len(value), path, ("minLength", "maxLength", "characters"))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _range(schema, value, path)

    def _object(
        self, schema: dict[str, Json], value: dict[str, Json], path: str, depth: int
    ) -> Iterator[Misfit]:
        properties = _object(schema.get("properties"))
        for name in _list(schema.get("required")):
            if isinstance(name, str) and name not in value:
                yield Misfit(path, f"needs {name!r}", "required", (name,))
        others = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in properties:
                yield from self.faults(properties[name], item, f"{path}.{name}", depth + 1)
            elif others is False:
                yield Misfit(path, f"has no {name!r}")
            else:
                yield from self.faults(others, item, f"{path}.{name}", depth + 1)

    def _combined(
        self, schema: dict[str, Json], value: Json, path: str, depth: int
    ) -> Iterator[Misfit]:
        for part in _list(schema.get("allOf")):
            yield from self.faults(part, value, path, depth + 1)
        for word in ("anyOf", "oneOf"):
            parts = _list(schema.get(word))
            self._spend(len(parts))
            fitting = [p for p in parts if not any(self.faults(p, value, path, depth + 1))]
            if parts and not fitting:
                yield Misfit(path, f"fits none of its {len(parts)} forms")
            elif word == "oneOf" and len(fitting) > 1:
                yield Misfit(path, f"fits {len(fitting)} of its forms, and may fit only one")


def _choices(schema: dict[str, Json], value: Json, path: str) -> Iterator[Misfit]:
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_same(value, choice) for choice in choices):
        listed = ", ".join(f"{choice!r:.80}" for choice in choices[:CHOICES_SHOWN])
        more = f" or {len(choices) - CHOICES_SHOWN} more" if len(choices) > CHOICES_SHOWN else ""
        yield Misfit(path, f"must be one of {listed}{more}, not {value!r:.80}")
    if "const" in schema and not _same(value, schema["const"]):
        yield Misfit(path, f"must be {schema['const']!r:.200}")


def _size(
    schema: dict[str, Json], count: int, path: str, words: tuple[str, str, str]
) -> Iterator[Misfit]:
    low, high = schema.get(words[0]), schema.get(words[1])
    if isinstance(low, int) and count < low:
        yield Misfit(path, f"must have at least {low} {words[2]}, not {count}")
    if isinstance(high, int) and count > high:
        yield Misfit(path, f"must have at most {high} {words[2]}, not {count}")


_BOUNDS: tuple[tuple[str, Callable[[float, float], bool], str], ...] = (
    ("minimum", operator.ge, "at least"),
    ("maximum", operator.le, "at most"),
    ("exclusiveMinimum", operator.gt, "more than"),
    ("exclusiveMaximum", operator.lt, "less than"),
)


def _range(schema: dict[str, Json], value: float, path: str) -> Iterator[Misfit]:
    for word, holds, words in _BOUNDS:
        limit = schema.get(word)
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            continue
        if not holds(value, limit):
            yield Misfit(path, f"must be {words} {limit}, not {value}")


def _work(schema: dict[str, Json], value: Json) -> int:
    """What the words of a schema take at one value, beside what they lead to."""
    named = 0
    for word in ("type", "required", "enum"):
        listed = schema.get(word)
        if isinstance(listed, list):
            named += len(listed) >> 2
    if ("enum" in schema or "const" in schema) and isinstance(value, list | dict):
        # A choice is compared with all of the value.
        return (named + 1) * _size_of(value)
    return named


def _size_of(value: Json) -> int:
    waiting, count = [value], 0
    while waiting and count < STEPS_MAX:
        count += 1
        one = waiting.pop()
        if isinstance(one, list | dict):
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return count


def _type_names(schema: dict[str, Json]) -> list[str]:
    named = schema.get("type")
    names = named if isinstance(named, list) else [named]
    return [name for name in names if isinstance(name, str) and name in _TYPES]


def _is(value: Json, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])


def _same(value: Json, other: Json) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _name(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    return next(name for name, types in _TYPES.items() if isinstance(value, types))


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
