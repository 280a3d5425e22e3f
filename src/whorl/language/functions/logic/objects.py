"""Functions on JSON objects, and on values that may be null."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.functions.logic.arguments import find_key, mapping, text
from whorl.language.functions.logic.arguments import not_valid as failed
from whorl.language.functions.logic.table import Family

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
