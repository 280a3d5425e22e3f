"""A small JSON Schema validator for typed answers; it changes nothing but 3.0 to 3.

What does not fit is told with its path in our words and, where Logic Apps has some, in its.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language.values import Json

DEPTH_MAX = 64
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
    """A part of a value that does not fit; `formal` is how Logic Apps says it."""

    path: str
    words: str
    formal: str = ""

    def __str__(self) -> str:
        return f"{self.path} {self.words}"


def fit(schema: Json, value: Json) -> tuple[Json, list[str]]:
    """The value as the schema wants it, and what does not fit (nothing: it fits)."""
    value = _whole(schema, value, schema, 0)
    return value, [str(misfit) for misfit in misfits(schema, value)]


def misfits(schema: Json, value: Json) -> list[Misfit]:
    """What does not fit, up to a number that a person would read."""
    return list(islice(_Checker(schema).faults(schema, value, "$", 0), FAULTS_MAX))


def _whole(schema: Json, value: Json, root: Json, depth: int) -> Json:
    """Turns 3.0 into 3 where an integer is wanted: many models write it so."""
    schema = _resolved(schema, root)
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return value
    if isinstance(value, float) and value.is_integer() and "integer" in _type_names(schema):
        return int(value)
    if isinstance(value, dict):
        properties = _object(schema.get("properties"))
        return {k: _whole(properties.get(k), v, root, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_whole(schema.get("items"), item, root, depth + 1) for item in value]
    return value


class _Checker:
    """Compares values with parts of one schema; `root` is where its references begin."""

    def __init__(self, root: Json) -> None:
        self._root = root

    def faults(self, schema: Json, value: Json, path: str, depth: int) -> Iterator[Misfit]:
        """Everything in the value that does not fit."""
        schema = _resolved(schema, self._root)
        if schema is False:
            yield Misfit(path, "is not allowed")
        if not isinstance(schema, dict):
            return
        if depth > DEPTH_MAX:
            yield Misfit(path, f"is more than {DEPTH_MAX} levels deep")
            return
        if value is None and schema.get("nullable") is True:
            return
        names = _type_names(schema)
        if names and not any(_is(value, name) for name in names):
            yield _other_type(path, names, value)
            return
        yield from _choices(schema, value, path)
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
                formal = f"Required properties are missing from object: {name}"
                yield Misfit(path, f"needs {name!r}", formal)
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
            fitting = [p for p in parts if not any(self.faults(p, value, path, depth + 1))]
            if parts and not fitting:
                yield Misfit(path, f"fits none of its {len(parts)} forms")
            elif word == "oneOf" and len(fitting) > 1:
                yield Misfit(path, f"fits {len(fitting)} of its forms, and may fit only one")


def _other_type(path: str, names: list[str], value: Json) -> Misfit:
    wanted = ", ".join(name.capitalize() for name in names)
    given = "Float" if isinstance(value, float) else _name(value).capitalize()
    if given == "Number":
        given = "Integer"
    return Misfit(
        path,
        f"must be {' or '.join(names)}, not {_name(value)}",
        f"Invalid type. Expected {wanted} but got {given}",
    )


def _choices(schema: dict[str, Json], value: Json, path: str) -> Iterator[Misfit]:
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_same(value, choice) for choice in choices):
        yield Misfit(path, f"must be one of {', '.join(map(repr, choices))}, not {value!r:.80}")
    if "const" in schema and not _same(value, schema["const"]):
        yield Misfit(path, f"must be {schema['const']!r}")


def _size(
    schema: dict[str, Json], count: int, path: str, words: tuple[str, str, str]
) -> Iterator[Misfit]:
    low, high = schema.get(words[0]), schema.get(words[1])
    if isinstance(low, int) and count < low:
        yield Misfit(path, f"must have at least {low} {words[2]}, not {count}")
    if isinstance(high, int) and count > high:
        yield Misfit(path, f"must have at most {high} {words[2]}, not {count}")


def _range(schema: dict[str, Json], value: float, path: str) -> Iterator[Misfit]:
    limits = {
        word: limit
        for word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        if isinstance(limit := schema.get(word), int | float) and not isinstance(limit, bool)
    }
    if "minimum" in limits and value < limits["minimum"]:
        yield Misfit(path, f"must be at least {limits['minimum']}, not {value}")
    if "maximum" in limits and value > limits["maximum"]:
        yield Misfit(path, f"must be at most {limits['maximum']}, not {value}")
    if "exclusiveMinimum" in limits and value <= limits["exclusiveMinimum"]:
        yield Misfit(path, f"must be more than {limits['exclusiveMinimum']}, not {value}")
    if "exclusiveMaximum" in limits and value >= limits["exclusiveMaximum"]:
        yield Misfit(path, f"must be less than {limits['exclusiveMaximum']}, not {value}")


def _resolved(schema: Json, root: Json) -> Json:
    """Follows `$ref`s inside the schema, such as `#/$defs/point`; nothing is ever fetched."""
    for _ in range(8):
        if not isinstance(schema, dict) or not isinstance(reference := schema.get("$ref"), str):
            return schema
        found: Json = root if reference.startswith("#") else None
        for part in reference.split("/")[1:]:
            found = found.get(part) if isinstance(found, dict) else None
        schema = found
    return None


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
