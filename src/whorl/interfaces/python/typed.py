"""Types of a program and JSON: dataclasses, TypedDicts, enumerations, and models that validate.

A model is whatever has `model_validate`, `model_dump` and `model_json_schema`, as Pydantic's do;
Pydantic itself is never imported.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from whorl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json

_PLAIN: dict[object, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_UNIONS = (Union, types.UnionType)


def is_model(kind: object) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_validate")


def fields_of(kind: object) -> dict[str, Any] | None:
    """The fields of a type with their types; None where it does not tell them."""
    kind = _bare(kind)
    if is_model(kind):
        fields: Mapping[str, Any] = getattr(kind, "model_fields", {})
        return {name: getattr(each, "annotation", Any) for name, each in fields.items()}
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or is_typeddict(kind)):
        return {name: _bare(hint) for name, hint in hints_of(kind).items()}
    return None


def hints_of(thing: object) -> dict[str, Any]:
    """The types that a class or a function has for its names; those that cannot be read, as Any."""
    try:
        return get_type_hints(thing)
    except (NameError, TypeError, AttributeError):
        # A type that is defined inside of a function, or imported for type checkers alone.
        names = getattr(thing, "__annotations__", {})
        return {name: hint if not isinstance(hint, str) else Any for name, hint in names.items()}


def _bare(kind: object) -> object:
    """A type without `Required` and the like, and without None where it is one of two."""
    while get_origin(kind) in (Required, NotRequired):
        kind = get_args(kind)[0]
    if get_origin(kind) in _UNIONS:
        parts = [part for part in get_args(kind) if part is not type(None)]
        return parts[0] if len(parts) == 1 else kind
    return kind


def schema_of(kind: object, place: str) -> dict[str, Json]:
    """The JSON Schema of a type; raises UsageError where JSON cannot hold values of it."""
    if kind is Any or kind is object:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind is None or kind is type(None):
        return {"type": "null"}
    if is_model(kind):
        schema: dict[str, Json] = getattr(kind, "model_json_schema")()  # noqa: B009
        return schema
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if fields_of(kind) is not None and get_origin(kind) not in _UNIONS:
        return _object_schema(kind, place)
    return _generic_schema(kind, place)


def _object_schema(kind: object, place: str) -> dict[str, Json]:
    fields = fields_of(kind) or {}
    hints = hints_of(kind)
    properties: dict[str, Json] = {
        name: schema_of(_unmarked(hints.get(name, each)), f"{place}.{name}")
        for name, each in fields.items()
    }
    required: list[Json] = [name for name in fields if _is_required(kind, name)]
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return schema | {"additionalProperties": False}


def _unmarked(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint


def _is_required(kind: Any, name: str) -> bool:
    if is_typeddict(kind):
        return name in kind.__required_keys__
    field = kind.__dataclass_fields__[name]
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _generic_schema(kind: object, place: str) -> dict[str, Json]:
    origin, args = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in _UNIONS:
        return {"anyOf": [schema_of(part, place) for part in args]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object"}
    if isinstance(origin, type) and issubclass(origin, Sequence | AbstractSet):
        items = [part for part in args if part is not ...]
        inner = schema_of(items[0], f"{place}[]") if len(set(items)) == 1 else {}
        return {"type": "array", "items": inner} if inner else {"type": "array"}
    words = getattr(kind, "__name__", None) or str(kind)
    raise UsageError(
        f"{place} is of type {words!r}, which the journal cannot hold",
        help="a run is stored as JSON; use texts, numbers, lists, dataclasses, TypedDicts, "
        "enumerations or Pydantic models",
    )


def to_json(value: object) -> object:
    """A value without types of the program; what JSON cannot hold is left as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if is_model(type(value)):
        return getattr(value, "model_dump")(mode="json")  # noqa: B009
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    return value


def from_json(kind: object, value: Any) -> Any:
    """The value as an instance of the type, as far as the type says how that is made."""
    kind = kind if value is None else _bare(kind)
    if value is None:
        return None
    if is_model(kind):
        return getattr(kind, "model_validate")(value)  # noqa: B009
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        hints = hints_of(kind)
        return kind(**{name: from_json(hints.get(name), part) for name, part in value.items()})
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    make = _collection(get_origin(kind) or kind)
    if make is not None and isinstance(value, list):
        args = get_args(kind)
        return make(from_json(args[0] if args else None, item) for item in value)
    return value


def _collection(origin: object) -> Callable[[Any], Any] | None:
    kinds = (list, tuple, set, frozenset)
    return next((kind for kind in kinds if origin is kind), list if origin is Sequence else None)
