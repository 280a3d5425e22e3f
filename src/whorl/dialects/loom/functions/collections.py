"""Functions on arrays and objects, on booleans and order, and on variables, which have types."""

from __future__ import annotations

import operator
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whorl.dialects.loom.values.arguments import (
    Family,
    array,
    boolean,
    find_key,
    forgiving_item,
    identity,
    is_number,
    mapping,
    not_valid,
    same,
    text,
    type_name,
    whole,
    wrong,
)
from whorl.language.entry import FunctionEntry
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.values import PATH_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from whorl.language.run import Run
    from whorl.language.values import Value


def contains(run: Run, collection: Value, value: Value) -> Value:
    if isinstance(collection, str):
        run.spend(len(collection) >> 6)
        return text("contains", 1, value) in collection
    if isinstance(collection, dict):
        return text("contains", 1, value) in collection
    if not isinstance(collection, list):
        raise wrong("contains", 0, "be an object, an array or a string", collection)
    run.spend(len(collection))
    if isinstance(value, str):
        return any(item == value for item in collection if isinstance(item, str))
    run.weigh(value)
    wanted = identity(value)
    for item in collection:
        if isinstance(item, list | dict):
            run.weigh(item)
        if identity(item) == wanted:
            return True
    return False


def empty(run: Run, collection: Value) -> Value:
    if collection is None or isinstance(collection, str | list | dict):
        return not collection
    raise wrong("empty", None, "be an object, an array or a string", collection)


def end_of(function: str, index: int, run: Run, collection: Value) -> Value:
    if isinstance(collection, str):
        return collection[index] if collection else ""
    if isinstance(collection, list):
        return collection[index] if collection else None
    raise wrong(function, None, "be an array or a string", collection)


def part_of(function: str, run: Run, collection: Value, count: Value) -> Value:
    if not isinstance(collection, str | list):
        raise wrong(function, 0, "be an array or a string", collection)
    number = whole(function, 1, count)
    if number < 0:
        raise wrong(function, 1, "be a positive integer", count)
    return collection[:number] if function == "take" else collection[number:]


def union(run: Run, collections: list[Value]) -> Value:
    if _kind_of_all("union", collections) is list:
        return list(_distinct(_items(run, collections)).values())
    merged: dict[str, Value] = {}
    for properties in collections:
        assert isinstance(properties, dict)
        run.check_items(len(merged) + len(properties), "union")
        merged.update(properties)
    return merged


def intersection(run: Run, collections: list[Value]) -> Value:
    kind = _kind_of_all("intersection", collections)
    _items(run, collections)
    head, *others = collections
    if kind is list:
        assert isinstance(head, list)
        wanted = [{identity(item) for item in each} for each in others if isinstance(each, list)]
        items = _distinct(head)
        return [item for key, item in items.items() if all(key in each for each in wanted)]
    assert isinstance(head, dict)
    tables = [each for each in others if isinstance(each, dict)]
    return {
        key: value
        for key, value in head.items()
        if all(key in each and identity(each[key]) == identity(value) for each in tables)
    }


def _distinct(items: list[Value]) -> dict[Hashable, Value]:
    """Return the first of all items that are equal, by what they have in common."""
    first: dict[Hashable, Value] = {}
    for item in items:
        first.setdefault(identity(item), item)
    return first


def _kind_of_all(function: str, collections: list[Value]) -> type:
    for kind in (list, dict):
        if all(isinstance(each, kind) for each in collections):
            return kind
    for place, each in enumerate(collections):
        if not isinstance(each, list | dict):
            raise wrong(function, place, "be an array or an object", each)
    raise EvaluationError(
        f"The template language function {function!r} expects parameters of same type, "
        "either all arrays or all objects"
    )


def _items(run: Run, collections: list[Value]) -> list[Value]:
    """Return the items of all arrays; pays for comparing all that the collections hold."""
    items: list[Value] = []
    for each in collections:
        run.weigh(each)
        if isinstance(each, list):
            run.check_items(len(items) + len(each), "union")
            items.extend(each)
    return items


def reverse(run: Run, collection: Value) -> Value:
    return array("reverse", None, collection)[::-1]


def sort(run: Run, collection: Value, sort_by: Value) -> Value:
    items = array("sort", 0, collection)
    path = None if sort_by is None else text("sort", 1, sort_by)
    if path is not None:
        if path.count(".") >= PATH_MAX:
            raise LimitExceeded(f"sort takes a path of at most {PATH_MAX} names")
        run.spend(len(items) * (2 + (len(path) >> 5)))
    run.spend(run.weigh(items) * len(items).bit_length() >> 4)
    keyed = [(item if path is None else _property(item, path), item) for item in items]
    missing = [item for key, item in keyed if key is None]
    present = [pair for pair in keyed if pair[0] is not None]
    for fits in (is_number, lambda key: isinstance(key, str), lambda key: isinstance(key, bool)):
        if all(fits(key) for key, _ in present):
            # All keys are of one kind, so Python can compare them.
            ordered = sorted(present, key=lambda pair: pair[0])  # type: ignore[arg-type,return-value]
            return [*missing, *(item for _, item in ordered)]
    raise not_valid("sort", "the values to sort by are not all numbers or all texts")


def _property(item: Value, path: str) -> Value:
    if isinstance(item, dict) and find_key(item, path) is not None:
        return forgiving_item(item, path)
    for step in path.split("."):
        item = forgiving_item(item, step)
    return item


def append(run: Run, collection: Value, value: Value) -> Value:
    items = [] if collection is None else array("append", 0, collection)
    run.check_items(len(items) + 1, "append")
    return [*items, value]


_collection = Family("collection")

COLLECTIONS: tuple[FunctionEntry, ...] = (
    _collection(
        "contains(collection, value)",
        contains,
        "whether a text has the part, an array the item or an object the key; case matters",
    ),
    _collection("empty(collection)", empty, "whether there is nothing in it; null is empty"),
    _collection.named("first(collection)", end_of, "the first item or character", 0),
    _collection.named("last(collection)", end_of, "the last item or character", -1),
    _collection.named("take(collection, count)", part_of, "the items or characters at the front"),
    _collection.named("skip(collection, count)", part_of, "the items after the first ones"),
    _collection.collecting(
        "union(first, second)", union, "the items or properties of all; the later value of a key"
    ),
    _collection.collecting(
        "intersection(first, second)", intersection, "what all arrays or objects have in common"
    ),
    _collection("reverse(collection)", reverse, "an array in the opposite order"),
    _collection(
        "sort(collection, sortBy?)", sort, "an array in order, of its items or a property of them"
    ),
)

# Azure has no such function; files of the seed's dialect use it.
LENIENT_COLLECTIONS: tuple[FunctionEntry, ...] = (
    _collection("append(collection, value)", append, "an array with one item more; not in Azure"),
)


def add_property(run: Run, subject: Value, name: Value, value: Value) -> Value:
    properties, key = mapping("addProperty", 0, subject), text("addProperty", 1, name)
    if find_key(properties, key) is not None:
        raise not_valid(
            "addProperty", f"it expects the {key!r} property to not exist in the object"
        )
    run.check_items(len(properties) + 1, "addProperty")
    return {**properties, key: value}


def set_property(run: Run, subject: Value, name: Value, value: Value) -> Value:
    properties, key = mapping("setProperty", 0, subject), text("setProperty", 1, name)
    run.check_items(len(properties) + 1, "setProperty")
    own = find_key(properties, key)
    if own is None:
        return {**properties, key: value}
    # The property moves to the end and keeps the case that it had.
    return {**{other: properties[other] for other in properties if other != own}, own: value}


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


@lru_cache(maxsize=16)
def condition_check(function: str, place: int) -> FunctionEntry:
    """Return the function that lets booleans through, for the arguments of `and`, `or`, `if`."""

    def check(run: Run, value: Value) -> Value:
        return boolean(function, place, value)

    return FunctionEntry("function", "logical", function, check, "the boolean", ("value",))


def every(run: Run, values: list[Value]) -> Value:
    conditions = [boolean("and", place, value) for place, value in enumerate(values)]
    return all(conditions)


def some(run: Run, values: list[Value]) -> Value:
    conditions = [boolean("or", place, value) for place, value in enumerate(values)]
    return any(conditions)


def negated(run: Run, value: Value) -> Value:
    return not boolean("not", None, value)


def chosen(run: Run, test: Value, then: Value, otherwise: Value) -> Value:
    return then if boolean("if", 0, test) else otherwise


def ordered(
    function: str, compare: Callable[[Any, Any], bool], run: Run, left: Value, right: Value
) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        run.spend(min(len(left), len(right)) >> 8)
        return compare(left, right)
    if is_number(left) and is_number(right):
        # A decimal cannot be ordered beside NaN, which comes before and after nothing.
        is_nan = left != left or right != right  # noqa: PLR0124
        return not is_nan and compare(left, right)
    if not is_number(left) and not isinstance(left, str):
        raise wrong(function, 0, "be a number or a string", left)
    wanted = "be of type string" if isinstance(left, str) else "be a number"
    raise wrong(function, 1, wanted, right)


_logical = Family("logical")

LOGICAL: tuple[FunctionEntry, ...] = (
    _logical.collecting("and(condition)", every, "whether all conditions are true; stops at false"),
    _logical.collecting("or(condition)", some, "whether a condition is true; stops at true"),
    _logical("not(condition)", negated, "the opposite of a boolean"),
    _logical(
        "if(condition, then, otherwise)", chosen, "one of two values; only that one is evaluated"
    ),
    _logical("equals(left, right)", same, "whether two values are the same; case matters"),
    *(
        _logical.named(
            f"{name}(left, right)",
            ordered,
            f"whether the first number or text comes {place}",
            compare,
        )
        for name, compare, place in (
            ("greater", operator.gt, "after the second"),
            ("greaterOrEquals", operator.ge, "after the second or is the same"),
            ("less", operator.lt, "before the second"),
            ("lessOrEquals", operator.le, "before the second or is the same"),
        )
    ),
)
