"""Filters on the shape of lists and objects: parts, order of parts, joining."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.access import item_of, path_getter
from whorl.language.entry import FunctionEntry, Scalar
from whorl.language.faults import EvaluationError
from whorl.language.functions.arguments import items, paid_items, positive
from whorl.language.functions.ordering import ordered
from whorl.language.values import UNDEFINED, Value, kind_of

if TYPE_CHECKING:
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


def _filter(
    name: str, call: object, doc: str, required: tuple[str, ...] = (), **optional: Scalar
) -> FunctionEntry:
    assert callable(call)
    return FunctionEntry("filter", "lists", name, call, doc, required, tuple(optional.items()))


LISTS: tuple[FunctionEntry, ...] = (
    _filter("length", length, "how many items, keys or characters there are"),
    _filter("count", length, "the same as length"),
    _filter("first", first, "the first item, key or character"),
    _filter("last", last, "the last item, key or character"),
    _filter("join", join, "the items as one text, with `d` in between", d="", attribute=None),
    _filter("list", to_list, "a list of the items, keys or characters"),
    _filter("reverse", reverse, "the items or characters from last to first"),
    _filter("batch", batch, "lists of `linecount` items each", ("linecount",), fill_with=None),
    _filter("slice", columns, "the items dealt out to `slices` lists", ("slices",), fill_with=None),
    _filter("items", pairs, "a list of [key, value] of an object"),
    _filter(
        "dictsort",
        dictsort,
        "a list of [key, value] of an object, sorted by 'key' or by 'value'",
        case_sensitive=False,
        by="key",
        reverse=False,
    ),
    _filter("attr", attribute, "the member with this name", ("name",)),
    _filter(
        "default",
        default,
        "the default if the value is undefined, or with `boolean` if it is empty or false",
        default_value="",
        boolean=False,
    ),
    _filter("d", default, "the same as default", default_value="", boolean=False),
)
