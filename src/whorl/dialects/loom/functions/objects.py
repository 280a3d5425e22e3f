"""Functions on JSON objects, on values that may be null, and on variables, which have types."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.arguments import (
    Family,
    find_key,
    is_number,
    mapping,
    text,
    type_name,
)
from whorl.dialects.loom.values.arguments import not_valid as failed
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value


def add_property(run: Run, subject: Value, name: Value, value: Value) -> Value:
    properties, key = mapping("addProperty", 0, subject), text("addProperty", 1, name)
    if find_key(properties, key) is not None:
        raise failed("addProperty", f"it expects the {key!r} property to not exist in the object")
    run.check_items(len(properties) + 1, "addProperty")
    return {**properties, key: value}


def set_property(run: Run, subject: Value, name: Value, value: Value) -> Value:
    properties, key = mapping("setProperty", 0, subject), text("setProperty", 1, name)
    run.check_items(len(properties) + 1, "setProperty")
    found = find_key(properties, key)
    if found is None:
        return {**properties, key: value}
    # The property moves to the end and keeps the case that it had.
    return {**{other: properties[other] for other in properties if other != found}, found: value}


def remove_property(run: Run, subject: Value, name: Value) -> Value:
    properties = mapping("removeProperty", 0, subject)
    gone = find_key(properties, text("removeProperty", 1, name))
    run.check_items(len(properties), "removeProperty")
    return {key: value for key, value in properties.items() if key != gone}


def merge_objects(run: Run, values: list[Value]) -> Value:
    merged: dict[str, Value] = {}
    for place, value in enumerate(values):
        properties = mapping("mergeObjects", place, value)
        run.check_items(len(merged) + len(properties), "mergeObjects")
        merged.update(properties)
    return merged


def coalesce(run: Run, values: list[Value]) -> Value:
    return next((value for value in values if value is not None), None)


_json = Family("json")

OBJECTS: tuple[FunctionEntry, ...] = (
    _json("addProperty(object, property, value)", add_property, "with a property that is new"),
    _json("setProperty(object, property, value)", set_property, "with a property changed or new"),
    _json("removeProperty(object, property)", remove_property, "without a property"),
    _json.collecting("mergeObjects(object)", merge_objects, "all properties; the later value wins"),
    _json.collecting(
        "coalesce(value)", coalesce, "the first value that is not null; stops when it is found"
    ),
)


_SHOWN_MAX = 100
# What null becomes when it is put into a variable of a type.
_NULLS: dict[str, Value] = {"string": "", "array": [], "object": None}


def typed(run: Run, name: Value, kind: Value, value: Value) -> Value:
    """Return what a variable of a type holds when it is given a value; raise where it cannot."""
    wanted = text("$typed", 1, kind).lower()
    if value is None and wanted in _NULLS:
        return _NULLS[wanted]
    if wanted == "float" and is_number(value):
        return float(value)  # type: ignore[arg-type]
    if wanted == type_name(value).lower() and not isinstance(value, Decimal):
        return value
    shown = run.text(value) if isinstance(value, str | int | float) else type_name(value)
    only = wanted.capitalize()
    raise EvaluationError(
        f"The variable {name!r} of type {only!r} cannot be initialized or updated with value "
        f"{shown[:_SHOWN_MAX]!r} of type {type_name(value)!r}. The variable {name!r} only "
        f"supports values of types {only!r}"
    )


def typed_or_null(run: Run, name: Value, kind: Value, value: Value) -> Value:
    """Do the same where null is a value of every type."""
    return None if value is None else typed(run, name, kind, value)


def declared(run: Run, name: Value, value: Value) -> Value:
    """Return the value that a variable is set to; raise where nothing has declared it."""
    table = run.lookup("$variables")
    if isinstance(table, dict) and find_key(table, text("$declared", 0, name)) is not None:
        return value
    raise EvaluationError(
        f"The variable {name!r} must be initialized before it can be used",
        help="add an InitializeVariable action before this one",
    )


_internal = Family("internal")

TYPING: tuple[FunctionEntry, ...] = (
    _internal("$typed(name, type, value)", typed, "a value of the variable's type"),
    _internal("$typedOrNull(name, type, value)", typed_or_null, "the same, or null"),
    _internal(
        "$declared(name, value)",
        declared,
        "a value for a variable that is declared",
        reads="$variables",
    ),
)
