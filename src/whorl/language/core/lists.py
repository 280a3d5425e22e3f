"""Filters on lists and objects: their parts and order, and filters on each of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.calls import Family, FunctionEntry, Run, call_entry, items, paid_items, text
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.operators import add
from whorl.language.values import (
    PATH_MAX,
    UNDEFINED,
    Getter,
    Group,
    Value,
    item_of,
    kind_of,
    path_getter,
    to_json_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def length(run: Run, value: Value) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    if value is UNDEFINED or value is None:
        return 0
    raise EvaluationError(f"length needs a text, a list or an object, not {kind_of(value)}")


def _end(operation: str, index: int) -> Callable[[Run, Value], Value]:
    def end(run: Run, value: Value) -> Value:
        parts = value if isinstance(value, list | str) else items(value, operation)
        return parts[index] if parts else UNDEFINED

    return end


first, last = _end("first", 0), _end("last", -1)


def paid_getter(run: Run, path: Value, default: Value = None) -> Getter:
    """Return a function that follows a dotted path, and pays for each further part of it."""
    follow, further = path_getter(path, default), path.count(".") if isinstance(path, str) else 0
    if not further:
        return follow

    def pay_and_follow(value: Value) -> Value:
        run.spend(further)
        return follow(value)

    return pay_and_follow


def join(run: Run, value: Value, separator: Value, attribute: Value) -> str:
    items = paid_items(run, value, "join")
    if attribute is not None:
        items = list(map(paid_getter(run, attribute), items))
    mark = run.text(separator)
    size = len(mark) * max(0, len(items) - 1)
    run.check_text(size, "join")
    texts: list[str] = []
    for part in items:
        texts.append(run.text(part))
        size += len(texts[-1])
        run.limit_text(size, "join")
    run.check_text(size, "join")
    return mark.join(texts)


def reverse(run: Run, value: Value) -> Value:
    return value[::-1] if isinstance(value, str) else paid_items(run, value, "reverse")[::-1]


def pairs(run: Run, value: Value) -> list[Value]:
    if value is UNDEFINED or value is None:
        return []
    if not isinstance(value, dict):
        raise EvaluationError(f"items needs an object, not {kind_of(value)}")
    run.spend(len(value))
    return [[key, part] for key, part in value.items()]


def default(run: Run, value: Value, default_value: Value, boolean: Value) -> Value:
    """The default if the value is undefined, or with `boolean` if it is empty or false."""
    return default_value if value is UNDEFINED or (boolean and not value) else value


_lists = Family("filter", "lists")

LISTS: tuple[FunctionEntry, ...] = (
    _lists("length", length, "how many items, keys or characters there are"),
    _lists("count", length, "the same as length"),
    _lists("first", first, "the first item, key or character"),
    _lists("last", last, "the last item, key or character"),
    _lists("join(d='', attribute=none)", join, "the items as one text, with `d` in between"),
    _lists(
        "list",
        lambda run, value: list(paid_items(run, value, "list")),
        "a list of the items, keys or characters",
    ),
    _lists("reverse", reverse, "the items or characters from last to first"),
    _lists("items", pairs, "a list of [key, value] of an object"),
    _lists(
        "attr(name)", lambda run, value, name: item_of(value, name), "the member with this name"
    ),
    _lists("default(default_value='', boolean=false)", default),
    _lists("d(default_value='', boolean=false)", default, "the same as default"),
)


def ordered(
    run: Run,
    items: list[Value],
    getters: Sequence[Getter],
    *,
    case_sensitive: bool,
    reverse: bool = False,
) -> list[Value]:
    """Sort items by what the getters give; equal items keep their order."""
    run.check_items(len(items) * len(getters), "sort")
    run.spend(len(items) * (len(getters) - 1))
    keys: list[Value] = [[get(item) for get in getters] for item in items]
    weight = run.weigh(keys)
    if not case_sensitive:
        keys = [[_fold(part) for part in key] for key in keys]  # type: ignore[attr-defined]
    run.spend(weight * len(keys).bit_length() >> 1)
    positions = list(range(len(keys)))
    try:
        positions.sort(key=keys.__getitem__, reverse=reverse)  # type: ignore[arg-type]
    except TypeError:
        raise _unordered(keys) from None
    return [items[position] for position in positions]


def _fold(value: Value) -> Value:
    return value.lower() if isinstance(value, str) else value


def _unordered(keys: list[Value]) -> EvaluationError:
    parts = [part for key in keys for part in (key if isinstance(key, list) else [key])]
    kinds = sorted({kind_of(part) for part in parts})
    return EvaluationError(f"cannot put values in order that are {' and '.join(kinds)}")


def sort(
    run: Run, value: Value, reverse: Value, case_sensitive: Value, attribute: Value
) -> list[Value]:
    """The items in order; `attribute` may be 'a.b' or 'a,b'."""
    if isinstance(attribute, str) and attribute.count(",") >= PATH_MAX:
        raise LimitExceeded(f"sort takes at most {PATH_MAX} attributes")
    names: list[Value] = [*attribute.split(",")] if isinstance(attribute, str) else [attribute]
    items, getters = paid_items(run, value, "sort"), [paid_getter(run, name) for name in names]
    return ordered(run, items, getters, case_sensitive=bool(case_sensitive), reverse=bool(reverse))


def unique(run: Run, value: Value, case_sensitive: Value, attribute: Value) -> list[Value]:
    get = paid_getter(run, attribute)
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


def _extreme(operation: str) -> Callable[[Run, Value, Value, Value], Value]:
    choose = min if operation == "min" else max

    def extreme(run: Run, value: Value, case_sensitive: Value, attribute: Value) -> Value:
        get, items = paid_getter(run, attribute), paid_items(run, value, operation)
        if not items:
            return UNDEFINED
        keys = list(map(get, items))
        run.weigh(keys)
        if not case_sensitive:
            keys = list(map(_fold, keys))
        try:
            return items[choose(range(len(keys)), key=keys.__getitem__)]  # type: ignore[arg-type]
        except TypeError:
            raise _unordered(keys) from None

    return extreme


def total(run: Run, value: Value, attribute: Value, start: Value) -> Value:
    get = paid_getter(run, attribute)
    result = start
    for item in paid_items(run, value, "sum"):
        result = add(run, result, get(item))
    return result


def groupby(
    run: Run, value: Value, attribute: Value, default: Value, case_sensitive: Value
) -> list[Value]:
    """Groups of items with the same attribute, sorted; each has `grouper` and `list`."""
    get, items = paid_getter(run, attribute, default), paid_items(run, value, "groupby")
    items = ordered(run, items, [get], case_sensitive=bool(case_sensitive))
    groups: list[Value] = []
    members: list[Value] = []
    current: Value = UNDEFINED
    for item in items:
        key = get(item) if case_sensitive else _fold(get(item))
        if not members or key != current:
            current, members = key, []
            groups.append(Group(grouper=get(item), list=members))
        members.append(item)
    return groups


_ordering = Family("filter", "ordering")

ORDERING: tuple[FunctionEntry, ...] = (
    _ordering("sort(reverse=false, case_sensitive=false, attribute=none)", sort),
    _ordering("unique(case_sensitive=false, attribute=none)", unique, "each item once, in order"),
    _ordering("min(case_sensitive=false, attribute=none)", _extreme("min"), "the smallest item"),
    _ordering("max(case_sensitive=false, attribute=none)", _extreme("max"), "the largest item"),
    _ordering("sum(attribute=none, start=0)", total, "the items added up"),
    _ordering("groupby(attribute, default=none, case_sensitive=false)", groupby),
)


Extra = tuple[Value, ...]
Named = dict[str, Value]
_SIZED = frozenset((str, list, dict, Group))


def map_items(run: Run, value: Value, arguments: Extra, named: Named) -> list[Value]:
    """A filter applied to each item, or the attribute of each item."""
    items = paid_items(run, value, "map")
    if not arguments and "attribute" in named:
        unknown = set(named) - {"attribute", "default"}
        if unknown:
            raise EvaluationError(f"map was given {min(unknown)!r} but has no such parameter")
        return list(map(paid_getter(run, named["attribute"], named.get("default")), items))
    if not arguments:
        raise EvaluationError("map needs the name of a filter, or attribute='...'")
    entry = run.find("filter", text(arguments[0], "map", "filter"))
    call = _paid(run, entry, len(items), arguments[1:], named)
    return [run.pay(call(item)) for item in items]


def _paid(run: Run, entry: FunctionEntry, count: int, rest: Extra, named: Named) -> Getter:
    """Return a filter or test as a function of an item, which pays for it as calls do."""
    run.spend(2 * count)
    sized = [part for part in (*rest, *named.values()) if isinstance(part, str | list | dict)]

    def call(item: Value) -> Value:
        if type(item) in _SIZED:
            run.read(item, Run.pay)
        for part in sized:
            run.read(part, Run.pay)
        return call_entry(entry, (run, item), rest, named)

    return call


_selection = Family("filter", "selecting")


def _selecting(operation: str, doc: str) -> FunctionEntry:
    keep, by_attribute = operation.startswith("select"), operation.endswith("attr")

    def select(run: Run, value: Value, arguments: Extra, named: Named) -> list[Value]:
        items = paid_items(run, value, operation)
        get: Getter = path_getter(None)
        if by_attribute:
            if not arguments:
                raise EvaluationError(f"{operation} needs the name of an attribute")
            get, arguments = paid_getter(run, arguments[0]), arguments[1:]
        if not arguments:
            return [item for item in items if bool(get(item)) is keep]
        entry = run.find("test", text(arguments[0], operation, "test"))
        call = _paid(run, entry, len(items), arguments[1:], named)
        return [item for item in items if bool(call(get(item))) is keep]

    extra = f"{'attribute, ' * by_attribute}test=none, *arguments"
    return _selection(operation, select, doc, extra=extra)


SELECTING: tuple[FunctionEntry, ...] = (
    _selection("map", map_items, extra="filter, *arguments or attribute='...', default=none"),
    _selecting("select", "the items that pass a test, or that are true"),
    _selecting("reject", "the items that fail a test, or that are false"),
    _selecting("selectattr", "the items whose attribute passes a test, or is true"),
    _selecting("rejectattr", "the items whose attribute fails a test, or is false"),
)
