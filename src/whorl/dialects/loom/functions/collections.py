"""Functions on arrays and objects; most take a text as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.values.access import forgiving_item, identity
from whorl.dialects.loom.values.arguments import (
    Family,
    array,
    find_key,
    is_number,
    not_valid,
    text,
    whole,
    wrong,
)
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.values import PATH_MAX

if TYPE_CHECKING:
    from collections.abc import Hashable

    from whorl.language.entry import FunctionEntry
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


def first(run: Run, collection: Value) -> Value:
    return _end("first", collection, 0)


def last(run: Run, collection: Value) -> Value:
    return _end("last", collection, -1)


def _end(function: str, collection: Value, index: int) -> Value:
    if isinstance(collection, str):
        return collection[index] if collection else ""
    if isinstance(collection, list):
        return collection[index] if collection else None
    raise wrong(function, None, "be an array or a string", collection)


def take(run: Run, collection: Value, count: Value) -> Value:
    if not isinstance(collection, str | list):
        raise wrong("take", 0, "be an array or a string", collection)
    return collection[: _count("take", count)]


def skip(run: Run, collection: Value, count: Value) -> Value:
    if not isinstance(collection, str | list):
        raise wrong("skip", 0, "be an array or a string", collection)
    return collection[_count("skip", count) :]


def _count(function: str, count: Value) -> int:
    number = whole(function, 1, count)
    if number < 0:
        raise wrong(function, 1, "be a positive integer", count)
    return number


def union(run: Run, collections: list[Value]) -> Value:
    if _kind_of_all("union", collections) is list:
        found: dict[Hashable, Value] = {}
        for item in _items(run, collections):
            found.setdefault(identity(item), item)
        return list(found.values())
    merged: dict[str, Value] = {}
    for one in collections:
        assert isinstance(one, dict)
        run.check_items(len(merged) + len(one), "union")
        merged.update(one)
    return merged


def intersection(run: Run, collections: list[Value]) -> Value:
    kind = _kind_of_all("intersection", collections)
    _items(run, collections)
    head, *others = collections
    if kind is list:
        assert isinstance(head, list)
        wanted = [{identity(item) for item in one} for one in others if isinstance(one, list)]
        found: dict[Hashable, Value] = {}
        for item in head:
            key = identity(item)
            if all(key in one for one in wanted):
                found.setdefault(key, item)
        return list(found.values())
    assert isinstance(head, dict)
    return {
        key: value
        for key, value in head.items()
        if all(
            key in one and identity(one[key]) == identity(value)
            for one in others
            if isinstance(one, dict)
        )
    }


def _kind_of_all(function: str, collections: list[Value]) -> type:
    for kind in (list, dict):
        if all(isinstance(one, kind) for one in collections):
            return kind
    for place, one in enumerate(collections):
        if not isinstance(one, list | dict):
            raise wrong(function, place, "be an array or an object", one)
    raise EvaluationError(
        f"The template language function {function!r} expects parameters of same type, "
        "either all arrays or all objects"
    )


def _items(run: Run, collections: list[Value]) -> list[Value]:
    """Return the items of all arrays; pays for comparing all that the collections hold."""
    found: list[Value] = []
    for one in collections:
        run.weigh(one)
        if isinstance(one, list):
            run.check_items(len(found) + len(one), "union")
            found.extend(one)
    return found


def reverse(run: Run, collection: Value) -> Value:
    items = array("reverse", None, collection)
    return items[::-1]


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
    for fits in (is_number, _is_text, _is_boolean):
        if all(fits(key) for key, _ in present):
            # All keys are of one kind, so Python can compare them.
            ordered = sorted(present, key=lambda pair: pair[0])  # type: ignore[arg-type,return-value]
            return [*missing, *(item for _, item in ordered)]
    raise not_valid("sort", "the values to sort by are not all numbers or all texts")


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_boolean(value: Value) -> bool:
    return isinstance(value, bool)


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
    _collection("first(collection)", first, "the first item or character"),
    _collection("last(collection)", last, "the last item or character"),
    _collection("take(collection, count)", take, "the items or characters at the front"),
    _collection("skip(collection, count)", skip, "the items after the first ones"),
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
