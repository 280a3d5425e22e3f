"""The form of a schema that servers hold models to: closed objects, every property required."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.language import Json


def closed(schema: Json) -> Json:
    """The schema with every object closed that does not say otherwise."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # The values of these are lists of names or plain values, never schemas.
    plain = ("enum", "const", "required", "default", "examples")
    made = {key: value if key in plain else closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    return made


def is_strict(schema: Json) -> bool:
    """Whether every object in the schema is closed and requires all of its properties."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, dict) or schema.get("additionalProperties") is not False:
            return False
        if not isinstance(required, list) or set(map(str, required)) != set(properties):
            return False
    return all(is_strict(value) for value in schema.values())
