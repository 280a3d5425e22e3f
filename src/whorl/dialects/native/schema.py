"""The JSON Schema of native files, for editors: made of the tables that the reader checks by."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from whorl.dialects.native.format.forms import (
    Anything,
    Choice,
    Condition,
    Count,
    Duration,
    ListOf,
    MapOf,
    Moment,
    Nothing,
    Number,
    Object,
    OneOf,
    Ref,
    Text,
    Truth,
)
from whorl.dialects.native.format.header import HEADER
from whorl.dialects.native.format.repeat import CONDITION_FORM
from whorl.dialects.native.format.steps import CASE, CHOOSE_FIELDS, KINDS
from whorl.dialects.native.returns import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.dialects.native.format.forms import Field, Form
    from whorl.dialects.native.format.steps import Kind
    from whorl.language import Json

_NAMES = {"plain": "^[A-Za-z_][A-Za-z0-9_]*$", "dashed": "^[A-Za-z_][A-Za-z0-9_-]*$"}
_TEMPLATE: dict[str, Json] = {"type": "string", "pattern": r"\{[{%#]"}
_STEPS: Json = {"$ref": "#/$defs/steps"}


def native_schema() -> dict[str, Json]:
    """The schema of a native file, draft 2020-12; every field has a description."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Whorl workflow",
        **_object(HEADER.fields),
        "$defs": {
            "steps": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": _NAMES["dashed"]},
                "additionalProperties": {"$ref": "#/$defs/step"},
            },
            "step": {"type": "object", "anyOf": [_kind(kind) for kind in KINDS.values()]},
            "body": {"anyOf": [_object({"steps": CASE.fields["steps"]}), _STEPS]},
            "case": {"anyOf": [_object(CASE.fields), _STEPS]},
            "choose": {
                "type": "object",
                "properties": _properties(CHOOSE_FIELDS),
                "additionalProperties": {"$ref": "#/$defs/case"},
            },
            "condition": _schema(CONDITION_FORM),
            "returns": _returns(),
        },
    }


def _kind(kind: Kind) -> Json:
    return {"title": kind.name, "description": kind.doc, **_object(kind.fields)}


def _object(fields: Mapping[str, Field]) -> dict[str, Json]:
    required: list[Json] = [name for name, field in fields.items() if field.required]
    schema: dict[str, Json] = {
        "type": "object",
        "properties": _properties(fields),
        "additionalProperties": False,
    }
    return {**schema, "required": required} if required else schema


def _properties(fields: Mapping[str, Field]) -> dict[str, Json]:
    return {
        name: {"description": field.doc, **_schema(field.form)} for name, field in fields.items()
    }


def _schema(form: Form) -> dict[str, Json]:
    match form:
        case Text():
            return {"type": "string", "pattern": r"\S"} if form.needed else {"type": "string"}
        case Condition():
            return {"type": ["string", "boolean"]}
        case Number():
            return _number(form)
        case Truth():
            return {"type": "boolean"}
        case Nothing():
            return {"type": "null"}
        case Duration() | Moment():
            return {"type": ["string", "number"]}
        case Count():
            return {"type": ["integer", "string"], "minimum": 1}
        case Choice():
            return {"enum": list(form.options)}
        case Anything():
            return {}
        case _:
            return _composed(form)


def _composed(form: ListOf | MapOf | Object | OneOf | Ref) -> dict[str, Json]:
    match form:
        case ListOf():
            return {"type": "array", "items": _schema(form.item), "minItems": form.least}
        case MapOf():
            schema: dict[str, Json] = {
                "type": "object",
                "additionalProperties": _schema(form.value),
            }
            if form.names != "any":
                schema["propertyNames"] = {"pattern": _NAMES[form.names]}
            if form.least:
                schema["minProperties"] = form.least
            return schema
        case Object():
            count: dict[str, Json] = {"minProperties": 1, "maxProperties": 1}
            return {**_object(form.fields), **(count if form.exactly_one else {})}
        case OneOf():
            return {"anyOf": [_schema(option) for option in form.forms]}
        case Ref():
            return {"$ref": f"#/$defs/{form.name}"}
        case _:
            assert_never(form)


def _number(form: Number) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "integer" if form.whole else "number"}
    if form.low is not None:
        schema["minimum"] = form.low
    if form.high is not None:
        schema["maximum"] = form.high
    return {"anyOf": [schema, _TEMPLATE]} if form.template else schema


def _returns() -> Json:
    words: list[Json] = [f"{word}{mark}" for word in TYPES for mark in ("", "?")]
    own: Json = {"$ref": "#/$defs/returns"}
    return {
        "anyOf": [
            {"enum": words},
            {"type": "array", "items": own, "minItems": 1, "maxItems": 1},
            {"type": "object", "properties": {"enum": {"type": "array"}}, "required": ["enum"]},
            {"type": "object", "properties": {"type": {"enum": words}}, "required": ["type"]},
            {
                "type": "object",
                "properties": {"schema": {"type": "object"}},
                "required": ["schema"],
            },
            {"type": "object", "additionalProperties": own},
        ]
    }
