"""Answers with fields: `structured_output` from a schema, or from the words of an instruction."""

from __future__ import annotations

import re
from typing import Any

_OPENING = "Answer with one JSON object and nothing else. Its fields: "
_FIELD = re.compile(r"(.{1,200}?) \((\w{1,50})(, if known)?\)(?:, |\.$)")


def structured(schema: Any, *, is_strict: bool) -> dict[str, Any] | None:
    """The fields that a schema asks for; None where they say less than the schema does."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return None
    properties, required = schema["properties"], list(schema.get("required", ()))
    if schema != {"type": "object", "properties": properties, "required": required}:
        return None
    if not required or not set(required) <= set(properties):
        return None
    found: dict[str, Any] = {"required": required}
    types: dict[str, str] = {}
    optional: dict[str, str] = {}
    for name, part in properties.items():
        if part != {} and (set(part) != {"type"} or not isinstance(part["type"], str)):
            return None
        if name not in required:
            optional[name] = part.get("type", "any")
        elif part:
            types[name] = part["type"]
    found |= {"optional": optional} if optional else {}
    found |= {"types": types} if types else {}
    return {"enabled": True} | ({"strict": True} if is_strict else {}) | {"schema": found}


def instructed(text: str) -> dict[str, Any] | None:
    """The same from the words in which a model is told of the fields; None if they are others."""
    if not text.startswith(_OPENING):
        return None
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, kind, is_optional in _FIELD.findall(text.removeprefix(_OPENING)):
        properties[name] = {} if kind == "any" else {"type": kind}
        if not is_optional:
            required.append(name)
    schema = {"type": "object", "properties": properties, "required": required}
    return structured(schema, is_strict=False)
