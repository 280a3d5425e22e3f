"""Typed answers: the short form of `returns` as JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.native.draft import shown
from whorl.errors import did_you_mean
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft
    from whorl.language import Json
    from whorl.source import Entry, Value

TYPES: dict[str, dict[str, Json]] = {
    "string": {"type": "string"},
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "list": {"type": "array"},
    "object": {"type": "object"},
    "json": {},
    "any": {},
}
_KEYWORDS = frozenset(
    {
        "type",
        "description",
        "enum",
        "minimum",
        "maximum",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "properties",
        "required",
        "additionalProperties",
    }
)
_FORMS = (
    "write a type (string, number, integer, boolean, json), [type] for a list, {enum: [...]}, "
    "an object of fields, or {schema: <JSON Schema>}; a ? makes a field optional"
)


def check_returns(draft: Draft, value: Value, owner: str) -> None:
    """Reports what is no type in a `returns`."""
    if _full_schema(value) is None:
        _check_type(draft, value, f"'returns' of {owner}")


def read_returns(value: Value | None) -> Json:
    """Reads a `returns` into a JSON Schema; None where there is none."""
    if value is None:
        return None
    full = _full_schema(value)
    return plain(full) if full is not None else _schema(value)


def _full_schema(value: Value) -> Mapping | None:
    if isinstance(value, Mapping) and len(value) == 1:
        schema = value.get("schema")
        return schema if isinstance(schema, Mapping) else None
    return None


def _check_type(draft: Draft, value: Value, words: str) -> None:
    match value:
        case Scalar() if isinstance(value.value, str) and _word(value) in TYPES:
            return
        case Sequence() if len(value) == 1:
            _check_type(draft, value.items[0], words)
        case Mapping() if value.entries:
            if not _is_enum(value) and not _is_keywords(value):
                for entry in value:
                    _check_type(draft, entry.value, f"{_field(entry)!r} in {words}")
        case _:
            meant = did_you_mean(value.text, TYPES) if isinstance(value, Scalar) else ""
            draft.report(
                "W007",
                f"{words} must be a type, not {shown(value)}",
                value.span,
                label="no type",
                help=meant or _FORMS,
            )


def _schema(value: Value) -> Json:
    match value:
        case Scalar():
            return dict(TYPES.get(_word(value), {}))
        case Sequence():
            return {"type": "array", "items": _schema(value.items[0]) if value.items else {}}
        case Mapping():
            if _is_enum(value):
                return _enum(value)
            if _is_keywords(value):
                return _keywords(value)
            return _object(value)


def _object(value: Mapping) -> Json:
    properties: dict[str, Json] = {_field(entry): _schema(entry.value) for entry in value}
    required: list[Json] = [_field(entry) for entry in value if not _is_optional(entry)]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _word(scalar: Scalar) -> str:
    return scalar.text.strip().removesuffix("?")


def _field(entry: Entry) -> str:
    return entry.name.removesuffix("?")


def _is_optional(entry: Entry) -> bool:
    value: Value | None = entry.value
    if isinstance(value, Mapping) and _is_keywords(value):
        value = value.get("type")
    is_marked = isinstance(value, Scalar) and value.text.strip().endswith("?")
    return is_marked or entry.name.endswith("?")


def _is_enum(value: Mapping) -> bool:
    options = value.get("enum")
    return len(value) == 1 and isinstance(options, Sequence) and bool(options.items)


def _enum(value: Mapping) -> Json:
    options = plain(value.entries[0].value)
    assert isinstance(options, list)
    if options and all(isinstance(option, str) for option in options):
        return {"type": "string", "enum": options}
    return {"enum": options}


def _is_keywords(value: Mapping) -> bool:
    """Whether an object is JSON Schema itself: a known type, and nothing but its keywords.

    Fields may have the names of keywords, too: where all of them are types, that is what they are.
    """
    if not _is_type(value.get("type")) or any(entry.name not in _KEYWORDS for entry in value):
        return False
    return len(value) == 1 or not all(_is_type(entry.value) for entry in value)


def _is_type(value: Value | None) -> bool:
    return isinstance(value, Scalar) and isinstance(value.value, str) and _word(value) in TYPES


def _keywords(value: Mapping) -> Json:
    schema = plain(value)
    assert isinstance(schema, dict)
    kind = value.get("type")
    schema.pop("type")
    return {**TYPES[_word(kind)], **schema} if isinstance(kind, Scalar) else schema
