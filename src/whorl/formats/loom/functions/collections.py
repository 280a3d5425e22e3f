"""Functions on arrays and objects, on booleans and order, and on variables, which have types."""

from __future__ import annotations

import operator
from decimal import Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from whorl.formats.loom.values import arguments
from whorl.formats.loom.values.arguments import find_key, identity, not_valid, wrong
from whorl.formats.loom.values.printing import of_units, to_units
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.signatures import FunctionEntry
from whorl.language.values import PATH_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from whorl.language.calls import Run
    from whorl.language.values import Value

COLLECTIONS = arguments.Family("collection")
# Azure has no such functions; files of the seed's dialect use them.
LENIENT_COLLECTIONS = arguments.Family("collection")
OBJECTS = arguments.Family("json")
TYPING = arguments.Family("internal")
LOGICAL = arguments.Family("logical")


@COLLECTIONS(
    "contains(collection, value)",
    "whether a text contains the value, an array the item or an object the key; case matters",
)
def _contains(run: Run, collection: Value, value: Value) -> bool:
    if isinstance(collection, str | dict):
        if isinstance(collection, str):
            run.spend(len(collection) >> 6)
        return arguments.text("contains", 1, value) in collection
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


COLLECTIONS("empty(collection:collection)", "whether it is empty; null is empty")(
    lambda run, collection: not collection
)


@COLLECTIONS("last(collection:sequence)", "the last item or character", -1)
@COLLECTIONS("first(collection:sequence)", "the first item or character", 0)
def _end_of(index: int, run: Run, collection: str | list[Value]) -> Value:
    if collection:
        return collection[index]
    return "" if isinstance(collection, str) else None


@COLLECTIONS("skip(collection:sequence, count:int)", "the items or characters after the first ones")
@COLLECTIONS("take(collection:sequence, count:int)", "the items or characters at the front")
def _part_of(function: str, run: Run, collection: str | list[Value], count: int) -> Value:
    if count < 0:
        raise wrong(function, 1, "be a positive integer", count)
    taken = slice(count) if function == "take" else slice(count, None)
    if isinstance(collection, str):
        return of_units(to_units(collection)[taken])
    return collection[taken]


@COLLECTIONS(
    "union(first, second, ...)", "the items or properties of all; for the same key the later value"
)
def _union(run: Run, collections: list[Value]) -> Value:
    if _kind_of_all("union", collections) is list:
        return list(_distinct(_items(run, collections)).values())
    return _merge("union", run, collections)


@COLLECTIONS("intersection(first, second, ...)", "what all arrays or objects have in common")
def _intersection(run: Run, collections: list[Value]) -> Value:
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


COLLECTIONS("reverse(collection:array)", "an array in reverse order")(
    lambda run, items: items[::-1]
)


@COLLECTIONS(
    "sort(collection:array, sortBy?:str)", "an array in order, of its items or a property of them"
)
def _sort(run: Run, items: list[Value], path: str | None) -> list[Value]:
    if path is not None:
        if path.count(".") >= PATH_MAX:
            raise LimitExceeded(f"sort takes a path of at most {PATH_MAX} names")
        run.spend(len(items) * (2 + (len(path) >> 5)))
    run.spend(run.weigh(items) * len(items).bit_length() >> 4)
    keyed = [(item if path is None else _property(item, path), item) for item in items]
    missing = [item for key, item in keyed if key is None]
    present = [pair for pair in keyed if pair[0] is not None]
    for fits in (
        arguments.is_number,
        lambda key: isinstance(key, str),
        lambda key: isinstance(key, bool),
    ):
        if all(fits(key) for key, _ in present):
            # All keys are of one kind, so Python can compare them.
            ordered = sorted(present, key=lambda pair: pair[0])  # type: ignore[arg-type,return-value]
            return [*missing, *(item for _, item in ordered)]
    raise not_valid("sort", "the values to sort by are not all numbers or all texts")


def _property(item: Value, path: str) -> Value:
    if isinstance(item, dict) and find_key(item, path) is not None:
        return arguments.forgiving_item(item, path)
    for step in path.split("."):
        item = arguments.forgiving_item(item, step)
    return item


@LENIENT_COLLECTIONS(
    "append(collection:array_or_null, value)", "an array with one more item; not in Azure"
)
def _append(run: Run, collection: list[Value] | None, value: Value) -> list[Value]:
    items = collection or []
    run.check_items(len(items) + 1, "append")
    return [*items, value]


@OBJECTS("setProperty(object:object, property:str, value)", "the object with a property set")
@OBJECTS("addProperty(object:object, property:str, value)", "the object with a new property")
def _set_property(
    function: str, run: Run, properties: dict[str, Value], key: str, value: Value
) -> dict[str, Value]:
    own = find_key(properties, key)
    if own is not None and function == "addProperty":
        raise not_valid(function, f"it expects the {key!r} property to not exist in the object")
    run.check_items(len(properties) + 1, function)
    # A property that is there moves to the end and keeps the case that it had.
    others = {other: properties[other] for other in properties if other != own}
    return {**others, own or key: value}


@OBJECTS("removeProperty(object:object, property:str)", "the object without a property")
def _remove_property(run: Run, properties: dict[str, Value], key: str) -> dict[str, Value]:
    gone = find_key(properties, key)
    run.check_items(len(properties), "removeProperty")
    return {key: value for key, value in properties.items() if key != gone}


@OBJECTS("mergeObjects(object, ...)", "all properties; the later value wins")
def _merge(function: str, run: Run, objects: list[Value]) -> dict[str, Value]:
    merged: dict[str, Value] = {}
    for place, properties in enumerate(objects):
        if not isinstance(properties, dict):
            raise wrong(function, place, "be of type object", properties)
        run.check_items(len(merged) + len(properties), function)
        merged.update(properties)
    return merged


@OBJECTS("coalesce(value, ...)", "the first value that is not null; stops when it is found")
def _coalesce(run: Run, values: list[Value]) -> Value:
    return next((value for value in values if value is not None), None)


_SHOWN_MAX = 100
# What null becomes when it is put into a variable of a type.
_NULLS: dict[str, Value] = {"string": "", "array": [], "object": None}


@TYPING("$typed(name, type, value)", "a value of the variable's type")
def _typed(run: Run, name: Value, kind: Value, value: Value) -> Value:
    wanted = arguments.text("$typed", 1, kind).lower()
    if value is None and wanted in _NULLS:
        return _NULLS[wanted]
    if wanted == "float" and arguments.is_number(value):
        return float(value)  # type: ignore[arg-type]
    if wanted == arguments.type_name(value).lower() and not isinstance(value, Decimal):
        return value
    shown = run.text(value) if isinstance(value, str | int | float) else arguments.type_name(value)
    only = wanted.capitalize()
    raise EvaluationError(
        f"The variable {name!r} of type {only!r} cannot be initialized or updated with value "
        f"{shown[:_SHOWN_MAX]!r} of type {arguments.type_name(value)!r}. "
        f"The variable {name!r} only supports values of types {only!r}"
    )


TYPING("$typedOrNull(name, type, value)", "the same, or null")(
    lambda run, name, kind, value: None if value is None else _typed(run, name, kind, value)
)


@TYPING("$declared(name:str, value)", "a value for a variable that is declared", reads="$variables")
def _declared(run: Run, name: str, value: Value) -> Value:
    table = run.lookup("$variables")
    if isinstance(table, dict) and find_key(table, name) is not None:
        return value
    raise EvaluationError(
        f"The variable {name!r} must be initialized before it can be used",
        help="add an InitializeVariable action before this one",
    )


@lru_cache(maxsize=16)
def condition_check(function: str, place: int) -> FunctionEntry:
    """Return the function that lets booleans through, for the arguments of `and`, `or`, `if`."""
    check = partial(arguments.boolean, function, place)
    return FunctionEntry(
        "function", "logical", function, lambda run, value: check(value), "the boolean", ("value",)
    )


@LOGICAL("or(condition, ...)", "whether any condition is true; stops at the first true one", any)
@LOGICAL(
    "and(condition, ...)", "whether all conditions are true; stops at the first false one", all
)
def _decided(
    function: str, decide: Callable[[list[bool]], bool], run: Run, values: list[Value]
) -> bool:
    return decide([arguments.boolean(function, place, value) for place, value in enumerate(values)])


LOGICAL("not(condition:bool)", "the opposite of a boolean")(lambda run, test: not test)
LOGICAL("if(condition:bool, then, otherwise)", "one of two values; only that one is evaluated")(
    lambda run, test, then, otherwise: then if test else otherwise
)
LOGICAL("equals(left, right)", "whether two values are the same; case matters")(arguments.same)


def _ordered(
    function: str, compare: Callable[[Any, Any], bool], run: Run, left: Value, right: Value
) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        run.spend(min(len(left), len(right)) >> 8)
        return compare(left, right)
    if arguments.is_number(left) and arguments.is_number(right):
        # A decimal cannot be ordered beside NaN, which comes before and after nothing.
        is_nan = left != left or right != right  # noqa: PLR0124
        return not is_nan and compare(left, right)
    if not arguments.is_number(left) and not isinstance(left, str):
        raise wrong(function, 0, "be a number or a string", left)
    wanted = "be of type string" if isinstance(left, str) else "be a number"
    raise wrong(function, 1, wanted, right)


for _name, _compare, _place in (
    ("greater", operator.gt, "after the second"),
    ("greaterOrEquals", operator.ge, "after the second or is equal"),
    ("less", operator.lt, "before the second"),
    ("lessOrEquals", operator.le, "before the second or is equal"),
):
    _doc = f"whether the first number or text comes {_place}"
    LOGICAL(f"{_name}(left, right)", _doc, _compare)(_ordered)
