"""Filters on lists and objects: their parts and order, and filters on each of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.entry import (
    Family,
    FunctionEntry,
    call_entry,
    items,
    paid_items,
    positive,
    text,
)
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

    from whorl.language.run import Run


def length(run: Run, value: Value) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    if value is UNDEFINED or value is None:
        return 0
    raise EvaluationError(f"length needs a text, a list or an object, not {kind_of(value)}")


def first(run: Run, value: Value) -> Value:
    if isinstance(value, list | str):
        return value[0] if value else UNDEFINED
    return next(iter(items(value, "first")), UNDEFINED)


def last(run: Run, value: Value) -> Value:
    if isinstance(value, list | str):
        return value[-1] if value else UNDEFINED
    return next(reversed(items(value, "last")), UNDEFINED)


def join(run: Run, value: Value, separator: Value, attribute: Value) -> str:
    found = paid_items(run, value, "join")
    if attribute is not None:
        found = list(map(path_getter(attribute), found))
    mark = run.text(separator)
    run.check_text(len(mark) * max(0, len(found) - 1), "join")
    texts: list[str] = []
    size = len(mark) * max(0, len(found) - 1)
    for part in found:
        written = run.text(part)
        size += len(written)
        if size > run.text_max:
            run.check_text(size, "join")
        texts.append(written)
    run.check_text(size, "join")
    return mark.join(texts)


def to_list(run: Run, value: Value) -> list[Value]:
    return list(paid_items(run, value, "list"))


def reverse(run: Run, value: Value) -> Value:
    if isinstance(value, str):
        return value[::-1]
    return paid_items(run, value, "reverse")[::-1]


def batch(run: Run, value: Value, size: Value, fill_with: Value) -> list[Value]:
    found, count = paid_items(run, value, "batch"), positive(size, "batch", "size")
    rows = [found[start : start + count] for start in range(0, len(found), count)]
    if rows and fill_with is not None and len(rows[-1]) < count:
        run.check_items(count, "batch")
        rows[-1] += [fill_with] * (count - len(rows[-1]))
    return list[Value](rows)


def columns(run: Run, value: Value, slices: Value, fill_with: Value) -> list[Value]:
    found, count = paid_items(run, value, "slice"), positive(slices, "slice", "slices")
    run.check_items(count, "slice")
    run.spend(count)
    each, longer = divmod(len(found), count)
    result: list[Value] = []
    start = 0
    for index in range(count):
        end = start + each + (index < longer)
        column = found[start:end]
        if fill_with is not None and index >= longer:
            column.append(fill_with)
        result.append(column)
        start = end
    return result


def pairs(run: Run, value: Value) -> list[Value]:
    if value is UNDEFINED or value is None:
        return []
    if not isinstance(value, dict):
        raise EvaluationError(f"items needs an object, not {kind_of(value)}")
    run.spend(len(value))
    return [[key, part] for key, part in value.items()]


def dictsort(run: Run, value: Value, case_sensitive: Value, by: Value, reverse: Value) -> Value:
    if by not in ("key", "value"):
        raise EvaluationError("dictsort sorts by 'key' or by 'value'")
    position = 0 if by == "key" else 1
    return ordered(
        run,
        pairs(run, value),
        [path_getter(position)],
        case_sensitive=bool(case_sensitive),
        reverse=bool(reverse),
    )


def attribute(run: Run, value: Value, name: Value) -> Value:
    return item_of(value, name)


def default(run: Run, value: Value, default_value: Value, boolean: Value) -> Value:
    if value is UNDEFINED or (boolean and not value):
        return default_value
    return value


_lists = Family("filter", "lists")

LISTS: tuple[FunctionEntry, ...] = (
    _lists("length", length, "how many items, keys or characters there are"),
    _lists("count", length, "the same as length"),
    _lists("first", first, "the first item, key or character"),
    _lists("last", last, "the last item, key or character"),
    _lists("join(d='', attribute=none)", join, "the items as one text, with `d` in between"),
    _lists("list", to_list, "a list of the items, keys or characters"),
    _lists("reverse", reverse, "the items or characters from last to first"),
    _lists("batch(linecount, fill_with=none)", batch, "lists of `linecount` items each"),
    _lists("slice(slices, fill_with=none)", columns, "the items dealt out to `slices` lists"),
    _lists("items", pairs, "a list of [key, value] of an object"),
    _lists(
        "dictsort(case_sensitive=false, by='key', reverse=false)",
        dictsort,
        "a list of [key, value] of an object, sorted by 'key' or by 'value'",
    ),
    _lists("attr(name)", attribute, "the member with this name"),
    _lists(
        "default(default_value='', boolean=false)",
        default,
        "the default if the value is undefined, or with `boolean` if it is empty or false",
    ),
    _lists("d(default_value='', boolean=false)", default, "the same as default"),
)


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


_ordering = Family("filter", "ordering")

ORDERING: tuple[FunctionEntry, ...] = (
    _ordering(
        "sort(reverse=false, case_sensitive=false, attribute=none)",
        sort,
        "the items in order; `attribute` may be 'a.b' or 'a,b'",
    ),
    _ordering("unique(case_sensitive=false, attribute=none)", unique, "each item once, in order"),
    _ordering("min(case_sensitive=false, attribute=none)", smallest, "the smallest item"),
    _ordering("max(case_sensitive=false, attribute=none)", largest, "the largest item"),
    _ordering("sum(attribute=none, start=0)", total, "the items added up"),
    _ordering(
        "groupby(attribute, default=none, case_sensitive=false)",
        groupby,
        "groups of items with the same attribute, sorted; each has `grouper` and `list`",
    ),
)


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


_selection = Family("filter", "selecting")

SELECTING: tuple[FunctionEntry, ...] = (
    _selection(
        "map",
        map_items,
        "a filter applied to each item, or the attribute of each item",
        extra="filter, *arguments or attribute='...', default=none",
    ),
    _selection(
        "select",
        _selecting("select", keep=True, by_attribute=False),
        "the items for which a test holds, or that are true",
        extra="test=none, *arguments",
    ),
    _selection(
        "reject",
        _selecting("reject", keep=False, by_attribute=False),
        "the items for which a test does not hold, or that are false",
        extra="test=none, *arguments",
    ),
    _selection(
        "selectattr",
        _selecting("selectattr", keep=True, by_attribute=True),
        "the items for whose attribute a test holds, or is true",
        extra="attribute, test=none, *arguments",
    ),
    _selection(
        "rejectattr",
        _selecting("rejectattr", keep=False, by_attribute=True),
        "the items for whose attribute a test does not hold, or is false",
        extra="attribute, test=none, *arguments",
    ),
)
