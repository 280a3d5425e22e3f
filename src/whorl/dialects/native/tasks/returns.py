"""Typed answers: what `returns` says in short, and the schema that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.dialects.native.context import (
    Context,
    Location,
    shown,
)
from whorl.dialects.native.field_types import Form, reads_as
from whorl.dialects.reading.fields import text_of
from whorl.errors import did_you_mean
from whorl.source import Entry, Mapping, Scalar, Sequence, Value, plain

if TYPE_CHECKING:
    from whorl.language import Json


_NAMED = {"text": "string", "list": "array"}
_SIMPLE = ("string", "text", "number", "integer", "boolean", "list", "object")
TYPES: dict[str, dict[str, Json]] = {
    **{word: {"type": _NAMED.get(word, word)} for word in _SIMPLE},
    "json": {},
    "any": {},
}
_KEYWORDS = {
    *("type", "description", "enum", "minimum", "maximum", "items", "minItems", "maxItems"),
    *("minLength", "maxLength", "pattern", "format", "properties", "required"),
    "additionalProperties",
}
_WORDS = {"array": "list", **{kind: kind for kind in TYPES if kind not in ("list", "text", "any")}}
_FORMS = (
    "write a type (string, number, integer, boolean, json), [type] for a list, {enum: [...]}, "
    "an object of fields, or {schema: <JSON Schema>}; a ? makes a field optional"
)


class Returns(Form):
    """The type of an answer."""

    words = "the fields of the answer, such as {approved: boolean, score: number}"
    shape = object
    ref = "returns"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        schema = value.get("schema") if isinstance(value, Mapping) and len(value) == 1 else None
        if isinstance(schema, Mapping):
            return plain(schema)
        return _schema(context, value, f"'returns' of {at.owner}")

    def write(self, context: Context, value: Any) -> Any:
        written = _short(value)
        return written if reads_as(context, self, written, value) else {"schema": value}


def returns_schema() -> Json:
    """The JSON Schema of what can be written as the type of an answer."""
    words: list[Json] = [f"{word}{mark}" for word in TYPES for mark in ("", "?")]
    own: Json = {"$ref": "#/$defs/returns"}
    parts: list[tuple[str, Json]] = [
        ("enum", {"type": "array"}),
        ("type", {"enum": words}),
        ("schema", {"type": "object"}),
    ]
    listed: Json = {"type": "array", "items": own, "minItems": 1, "maxItems": 1}
    options: list[Json] = [{"enum": words}, listed]
    for name, part in parts:
        options.append({"type": "object", "properties": {name: part}, "required": [name]})
    return {"anyOf": [*options, {"type": "object", "additionalProperties": own}]}


def _schema(context: Context, value: Value, words: str) -> Json:
    """The JSON Schema of a type; what is none is reported."""
    match value:
        case Scalar() if _is_type(value):
            return dict(TYPES[_word(value)])
        case Sequence() if len(value) == 1:
            return {"type": "array", "items": _schema(context, value.items[0], words)}
        case Mapping() if _is_enum(value):
            options: Any = plain(value.entries[0].value)
            is_text = all(isinstance(option, str) for option in options)
            return {"type": "string", "enum": options} if is_text else {"enum": options}
        case Mapping() if _is_keywords(value):
            schema: Any = plain(value)
            del schema["type"]
            return {**TYPES[_word(value.get("type"))], **schema}
        case Mapping() if value.entries:
            names = {entry.name.removesuffix("?"): entry for entry in value}
            properties: dict[str, Json] = {
                name: _schema(context, entry.value, f"{name!r} in {words}")
                for name, entry in names.items()
            }
            required: list[Json] = [name for name, entry in names.items() if _is_needed(entry)]
            outer: dict[str, Json] = {"type": "object", "properties": properties}
            return {**outer, "required": required, "additionalProperties": False}
    message = f"{words} must be a type, not {shown(value)}"
    advice = did_you_mean(text_of(value), TYPES) or _FORMS
    context.report("W007", message, value.span, label="no type", help=advice)
    return {}


def _short(schema: Any) -> Any:
    """The short form that a JSON Schema probably has."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(schema, dict):
        return schema
    if not schema:
        return "json"
    if len(schema) == 1 and kind in _WORDS:
        return _WORDS[kind]
    if kind == "array" and set(schema) == {"type", "items"}:
        return [_short(schema["items"])]
    if kind == "object" and isinstance(schema.get("properties"), dict):
        needed = schema.get("required") or ()
        fields = schema["properties"].items()
        return {name if name in needed else f"{name}?": _short(part) for name, part in fields}
    return {"enum": schema["enum"]} if set(schema) <= {"type", "enum"} else schema


def _word(value: Value | None) -> str:
    return text_of(value).strip().removesuffix("?")


def _is_type(value: Value | None) -> bool:
    return isinstance(value, Scalar) and isinstance(value.value, str) and _word(value) in TYPES


def _is_needed(entry: Entry) -> bool:
    value: Value | None = entry.value
    if isinstance(value, Mapping) and _is_keywords(value):
        value = value.get("type")
    return not entry.name.endswith("?") and not text_of(value).strip().endswith("?")


def _is_enum(value: Mapping) -> bool:
    options = value.get("enum")
    return len(value) == 1 and isinstance(options, Sequence) and bool(options.items)


def _is_keywords(value: Mapping) -> bool:
    """Whether an object is JSON Schema itself: a known type, and nothing but its keywords.

    Fields may have the names of keywords, too: where all of them are types, that is what they are.
    """
    if not _is_type(value.get("type")) or any(entry.name not in _KEYWORDS for entry in value):
        return False
    return len(value) == 1 or not all(_is_type(entry.value) for entry in value)
