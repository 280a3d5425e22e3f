"""Filters that compare the items of a list with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.access import PATH_MAX, Getter, Group, path_getter
from whorl.language.entry import FunctionEntry, Scalar
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.functions.arguments import paid_items
from whorl.language.operators import add
from whorl.language.values import UNDEFINED, Value, kind_of, to_json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.language.run import Run


def ordered(
    run: Run,
    found: list[Value],
    getters: Sequence[Getter],
    *,
    case_sensitive: bool,
    reverse: bool = False,
) -> list[Value]:
    """Sort items by what the getters give; equal items keep their order."""
    run.check_items(len(found) * len(getters), "sort")
    run.spend(len(found) * (len(getters) - 1))
    keys: list[Value] = [[get(item) for get in getters] for item in found]
    weight = run.weigh(keys)
    if not case_sensitive:
        keys = [[_fold(part) for part in key] for key in keys]  # type: ignore[attr-defined]
    run.spend(weight * len(keys).bit_length() >> 1)
    positions = list(range(len(keys)))
    try:
        positions.sort(key=keys.__getitem__, reverse=reverse)  # type: ignore[arg-type]
    except TypeError:
        raise _unordered(keys) from None
    return [found[position] for position in positions]


def _fold(value: Value) -> Value:
    return value.lower() if isinstance(value, str) else value


def _unordered(keys: list[Value]) -> EvaluationError:
    parts = [part for key in keys for part in (key if isinstance(key, list) else [key])]
    kinds = sorted({kind_of(part) for part in parts})
    return EvaluationError(f"cannot put values in order that are {' and '.join(kinds)}")


def sort(
    run: Run, value: Value, reverse: Value, case_sensitive: Value, attribute: Value
) -> list[Value]:
    if isinstance(attribute, str) and attribute.count(",") >= PATH_MAX:
        raise LimitExceeded(f"sort takes at most {PATH_MAX} attributes")
    names: list[Value] = [*attribute.split(",")] if isinstance(attribute, str) else [attribute]
    return ordered(
        run,
        paid_items(run, value, "sort"),
        [path_getter(name) for name in names],
        case_sensitive=bool(case_sensitive),
        reverse=bool(reverse),
    )


def unique(run: Run, value: Value, case_sensitive: Value, attribute: Value) -> list[Value]:
    get = path_getter(attribute)
    seen: set[object] = set()
    result: list[Value] = []
    for item in paid_items(run, value, "unique"):
        key = get(item)
        run.weigh(key)
        key = key if case_sensitive else _fold(key)
        mark = (to_json_text(key),) if isinstance(key, list | dict) else key
        if mark not in seen:
            seen.add(mark)
            result.append(item)
    return result


def smallest(run: Run, value: Value, case_sensitive: Value, attribute: Value) -> Value:
    return _extreme(run, "min", value, path_getter(attribute), bool(case_sensitive))


def largest(run: Run, value: Value, case_sensitive: Value, attribute: Value) -> Value:
    return _extreme(run, "max", value, path_getter(attribute), bool(case_sensitive))


def _extreme(run: Run, operation: str, value: Value, get: Getter, case_sensitive: bool) -> Value:
    found = paid_items(run, value, operation)
    if not found:
        return UNDEFINED
    keys = [get(item) for item in found]
    run.weigh(keys)
    if not case_sensitive:
        keys = [_fold(key) for key in keys]
    choose = min if operation == "min" else max
    try:
        return found[choose(range(len(keys)), key=keys.__getitem__)]  # type: ignore[arg-type]
    except TypeError:
        raise _unordered(keys) from None


def total(run: Run, value: Value, attribute: Value, start: Value) -> Value:
    get = path_getter(attribute)
    result = start
    for item in paid_items(run, value, "sum"):
        result = add(run, result, get(item))
    return result


def groupby(
    run: Run, value: Value, attribute: Value, default: Value, case_sensitive: Value
) -> list[Value]:
    get = path_getter(attribute, default)
    found = ordered(
        run, paid_items(run, value, "groupby"), [get], case_sensitive=bool(case_sensitive)
    )
    groups: list[Value] = []
    members: list[Value] = []
    current: Value = UNDEFINED
    for item in found:
        key = get(item) if case_sensitive else _fold(get(item))
        if not members or key != current:
            current, members = key, []
            groups.append(Group(grouper=get(item), list=members))
        members.append(item)
    return groups


def _filter(
    name: str, call: object, doc: str, required: tuple[str, ...] = (), **optional: Scalar
) -> FunctionEntry:
    assert callable(call)
    return FunctionEntry("filter", "ordering", name, call, doc, required, tuple(optional.items()))


ORDERING: tuple[FunctionEntry, ...] = (
    _filter(
        "sort",
        sort,
        "the items in order; `attribute` may be 'a.b' or 'a,b'",
        reverse=False,
        case_sensitive=False,
        attribute=None,
    ),
    _filter("unique", unique, "each item once, in order", case_sensitive=False, attribute=None),
    _filter("min", smallest, "the smallest item", case_sensitive=False, attribute=None),
    _filter("max", largest, "the largest item", case_sensitive=False, attribute=None),
    _filter("sum", total, "the items added up", attribute=None, start=0),
    _filter(
        "groupby",
        groupby,
        "groups of items with the same attribute, sorted; each has `grouper` and `list`",
        ("attribute",),
        default=None,
        case_sensitive=False,
    ),
)
