"""Filters that apply a filter or a test to every item of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.access import Getter, Group, path_getter
from whorl.language.entry import FunctionEntry, call_entry
from whorl.language.faults import EvaluationError
from whorl.language.functions.arguments import paid_items, text
from whorl.language.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run

Extra = tuple[Value, ...]
Named = dict[str, Value]
_SIZED = frozenset((str, list, dict, Group))


def map_items(run: Run, value: Value, arguments: Extra, named: Named) -> list[Value]:
    found = paid_items(run, value, "map")
    if not arguments and "attribute" in named:
        unknown = set(named) - {"attribute", "default"}
        if unknown:
            raise EvaluationError(f"map was given {min(unknown)!r} but has no such parameter")
        return list(map(path_getter(named["attribute"], named.get("default")), found))
    if not arguments:
        raise EvaluationError("map needs the name of a filter, or attribute='...'")
    entry = run.find("filter", text(arguments[0], "map", "filter"))
    call = _paid(run, entry, len(found), arguments[1:], named)
    return [run.pay(call(item)) for item in found]


def _paid(run: Run, entry: FunctionEntry, count: int, rest: Extra, named: Named) -> Getter:
    """A filter or test as a function of an item, which pays for what it looks at as calls do."""
    run.spend(count)
    sized = [one for one in (*rest, *named.values()) if isinstance(one, str | list | dict)]

    def call(item: Value) -> Value:
        if type(item) in _SIZED:
            run.pay(item)
        for one in sized:
            run.pay(one)
        return call_entry(entry, (run, item), rest, named)

    return call


def _selecting(
    operation: str, *, keep: bool, by_attribute: bool
) -> Callable[[Run, Value, Extra, Named], list[Value]]:
    def select(run: Run, value: Value, arguments: Extra, named: Named) -> list[Value]:
        found = paid_items(run, value, operation)
        get: Getter = path_getter(None)
        if by_attribute:
            if not arguments:
                raise EvaluationError(f"{operation} needs the name of an attribute")
            get, arguments = path_getter(arguments[0]), arguments[1:]
        if not arguments:
            return [item for item in found if bool(get(item)) is keep]
        entry = run.find("test", text(arguments[0], operation, "test"))
        call = _paid(run, entry, len(found), arguments[1:], named)
        return [item for item in found if bool(call(get(item))) is keep]

    return select


def _filter(name: str, call: Callable[..., object], doc: str, extra: str) -> FunctionEntry:
    return FunctionEntry("filter", "selecting", name, call, doc, extra=extra)


SELECTING: tuple[FunctionEntry, ...] = (
    _filter(
        "map",
        map_items,
        "a filter applied to each item, or the attribute of each item",
        "filter, *arguments or attribute='...', default=none",
    ),
    _filter(
        "select",
        _selecting("select", keep=True, by_attribute=False),
        "the items for which a test holds, or that are true",
        "test=none, *arguments",
    ),
    _filter(
        "reject",
        _selecting("reject", keep=False, by_attribute=False),
        "the items for which a test does not hold, or that are false",
        "test=none, *arguments",
    ),
    _filter(
        "selectattr",
        _selecting("selectattr", keep=True, by_attribute=True),
        "the items for whose attribute a test holds, or is true",
        "attribute, test=none, *arguments",
    ),
    _filter(
        "rejectattr",
        _selecting("rejectattr", keep=False, by_attribute=True),
        "the items for whose attribute a test does not hold, or is false",
        "attribute, test=none, *arguments",
    ),
)
