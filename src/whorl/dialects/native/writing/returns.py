"""Typed answers: JSON Schema in the short form where it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.dialects.native.returns import read_returns
from whorl.dialects.writing import Inline, emit_yaml
from whorl.source import Mapping, read_yaml

if TYPE_CHECKING:
    from whorl.language import Json

_WORDS = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
}


def write_returns(schema: Json) -> Any:
    """The shortest `returns` that is read as this schema."""
    short = _short(schema)
    return short if _read_again(short) == schema else {"schema": schema}


def _short(schema: Json) -> Any:
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if schema == {}:
        return "json"
    if isinstance(kind, str) and len(schema) == 1 and kind in _WORDS:
        return _WORDS[kind]
    if kind == "array" and set(schema) == {"type", "items"}:
        return [_short(schema["items"])]
    if kind == "object" and "properties" in schema and "additionalProperties" in schema:
        return _object(schema)
    if set(schema) <= {"type", "enum"}:
        return Inline(enum=schema.get("enum"))
    return schema


def _object(schema: dict[str, Json]) -> Any:
    properties, required = schema["properties"], schema.get("required")
    assert isinstance(properties, dict)
    needed = required if isinstance(required, list) else []
    return Inline(
        {name if name in needed else f"{name}?": _short(one) for name, one in properties.items()}
    )


def _read_again(short: Any) -> Json:
    root = read_yaml(emit_yaml({"returns": short}), "returns").root
    assert isinstance(root, Mapping)
    return read_returns(root.get("returns"))
