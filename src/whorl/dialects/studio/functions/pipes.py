"""The pipes of transform scripts: `map(name) | select(kind=book) | join(", ")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.core.conversion import from_json as parse_json
from whorl.language.core.lists import first as first_item
from whorl.language.core.lists import join as join_items
from whorl.language.core.lists import last as last_item
from whorl.language.core.lists import length as length_of
from whorl.language.core.lists import ordered
from whorl.language.core.lists import reverse as reverse_items
from whorl.language.entry import paid_items, whole
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, kind_of, path_getter

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run


def pipe(run: Run, name: str, value: Value, arguments: list[Value]) -> Value:
    """A value through one pipe."""
    return PIPES[name](run, value, arguments)


def _length(run: Run, value: Value, _: list[Value]) -> Value:
    return length_of(run, value)


def _keys(run: Run, value: Value, _: list[Value]) -> Value:
    return list(_object(value, "keys"))


def _values(run: Run, value: Value, _: list[Value]) -> Value:
    return list(_object(value, "values").values())


def _object(value: Value, name: str) -> dict[str, Value]:
    if isinstance(value, dict):
        return value
    raise EvaluationError(f"{name} needs an object, not {kind_of(value)}")


def _first(run: Run, value: Value, _: list[Value]) -> Value:
    return _defined(first_item(run, value))


def _last(run: Run, value: Value, _: list[Value]) -> Value:
    return _defined(last_item(run, value))


def _defined(value: Value) -> Value:
    return None if value is UNDEFINED else value


def _flatten(run: Run, value: Value, _: list[Value]) -> Value:
    """One level: lists in the list become their items."""
    found: list[Value] = []
    for part in paid_items(run, value, "flatten"):
        found.extend(part if isinstance(part, list) else [part])
        run.check_items(len(found), "flatten")
    return found


def _sort(run: Run, value: Value, arguments: list[Value]) -> Value:
    keys = [path_getter(arguments[0])] if arguments else [_itself]
    return ordered(run, paid_items(run, value, "sort"), keys, case_sensitive=True, reverse=False)


def _itself(value: Value) -> Value:
    return value


def _reverse(run: Run, value: Value, _: list[Value]) -> Value:
    return reverse_items(run, value)


def _unique(run: Run, value: Value, _: list[Value]) -> Value:
    """Keeps the first of those that are written alike."""
    found: dict[str, Value] = {}
    for part in paid_items(run, value, "unique"):
        found.setdefault(f"{kind_of(part)} {run.text(part)}", part)
    return list(found.values())


def _to_string(run: Run, value: Value, _: list[Value]) -> Value:
    return run.text(value)


def _from_json(run: Run, value: Value, _: list[Value]) -> Value:
    return parse_json(run, value)


def _join(run: Run, value: Value, arguments: list[Value]) -> Value:
    return join_items(run, value, arguments[0] if arguments else "", None)


def _map(run: Run, value: Value, arguments: list[Value]) -> Value:
    read = path_getter(arguments[0])
    return [_defined(read(part)) for part in paid_items(run, value, "map")]


def _select(run: Run, value: Value, arguments: list[Value]) -> Value:
    """Items whose field has this value; what is written without quotes may be a number, too."""
    read, wanted = path_getter(arguments[0]), arguments[1]
    found = paid_items(run, value, "select")
    return [part for part in found if _same(run, read(part), wanted)]


def _same(run: Run, value: Value, wanted: Value) -> bool:
    if value is UNDEFINED or isinstance(value, list | dict):
        return False
    return value == wanted or run.text(value) == run.text(wanted)


def _take(run: Run, value: Value, arguments: list[Value]) -> Value:
    return paid_items(run, value, "take")[: _count(arguments, "take")]


def _skip(run: Run, value: Value, arguments: list[Value]) -> Value:
    return paid_items(run, value, "skip")[_count(arguments, "skip") :]


def _count(arguments: list[Value], name: str) -> int:
    number = whole(arguments[0], name, "n")
    if number < 0:
        raise EvaluationError(f"{name} needs a number of at least 0, not {number}")
    return number


PIPES: dict[str, Callable[[Run, Value, list[Value]], Value]] = {
    "length": _length,
    "keys": _keys,
    "values": _values,
    "first": _first,
    "last": _last,
    "flatten": _flatten,
    "sort": _sort,
    "reverse": _reverse,
    "unique": _unique,
    "to_string": _to_string,
    "from_json": _from_json,
    "join": _join,
    "map": _map,
    "select": _select,
    "take": _take,
    "skip": _skip,
}

# How many arguments each pipe takes: the fewest and the most.
ARGUMENTS: dict[str, tuple[int, int]] = dict.fromkeys(PIPES, (0, 0)) | {
    "sort": (0, 1),
    "join": (0, 1),
    "map": (1, 1),
    "select": (2, 2),
    "take": (1, 1),
    "skip": (1, 1),
}
