"""The methods of texts, lists, objects and loops; nothing else can be called on a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.access import Cycler, LoopVariable, item_of
from whorl.language.entry import FunctionEntry, Scalar
from whorl.language.faults import EvaluationError
from whorl.language.formatting import fill_braces
from whorl.language.functions import lists
from whorl.language.functions import text as filters
from whorl.language.functions.arguments import paid_items, text, whole
from whorl.language.operators import equal
from whorl.language.values import UNDEFINED, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run

_Named = dict[str, Value]
_Extra = tuple[Value, ...]


def strip(run: Run, value: str, chars: Value) -> str:
    return filters.stripped(value, _chars(chars))


def left_strip(run: Run, value: str, chars: Value) -> str:
    return filters.stripped(value, _chars(chars), right=False)


def right_strip(run: Run, value: str, chars: Value) -> str:
    return filters.stripped(value, _chars(chars), left=False)


def _chars(chars: Value) -> str | None:
    return None if chars is None else text(chars, "strip", "chars")


def right_split(run: Run, value: str, separator: Value, maxsplit: Value) -> list[str]:
    mark, limit = filters.split_arguments(run, value, separator, maxsplit)
    if mark is None or len(mark) == 1:
        return value.rsplit(mark, limit)
    # Python searches backwards in quadratic time, forwards in linear time.
    return [part[::-1] for part in value[::-1].split(mark[::-1], limit)[::-1]]


def split_lines(run: Run, value: str, keepends: Value) -> list[str]:
    lines = value.splitlines(bool(keepends))
    run.check_items(len(lines), "splitlines")
    return lines


def starts_with(run: Run, value: str, prefix: Value) -> bool:
    return value.startswith(_affixes(run, value, prefix, "startswith"))


def ends_with(run: Run, value: str, suffix: Value) -> bool:
    return value.endswith(_affixes(run, value, suffix, "endswith"))


def _affixes(run: Run, value: str, affix: Value, operation: str) -> tuple[str, ...]:
    parts = affix if isinstance(affix, list) else [affix]
    affixes = tuple(text(part, operation, "affix") for part in parts)
    run.spend(sum(1 + (len(part) >> 8) for part in affixes if len(part) <= len(value)))
    return affixes


def join_items(run: Run, value: str, items: Value) -> str:
    for item in paid_items(run, items, "join"):
        text(item, "join", "items")
    return lists.join(run, items, value, None)


def fill(run: Run, value: str, values: _Extra, named: _Named) -> str:
    return fill_braces(run, value, values, named)


def count_text(run: Run, value: str, part: Value) -> int:
    return value.count(text(part, "count", "part"))


def find(run: Run, value: str, part: Value) -> int:
    return value.find(text(part, "find", "part"))


def find_last(run: Run, value: str, part: Value) -> int:
    wanted = text(part, "rfind", "part")
    if len(wanted) < 2:
        return value.rfind(wanted)
    # Python searches backwards in quadratic time, forwards in linear time.
    at = value[::-1].find(wanted[::-1])
    return -1 if at < 0 else len(value) - at - len(wanted)


def index_of_text(run: Run, value: str, part: Value) -> int:
    position = find(run, value, part)
    if position < 0:
        raise EvaluationError(f"index: the text does not contain {part!r}")
    return position


def fill_zeros(run: Run, value: str, width: Value) -> str:
    return value.zfill(_width(run, value, width, "zfill"))


def justify_left(run: Run, value: str, width: Value, fill: Value) -> str:
    return value.ljust(_width(run, value, width, "ljust"), _filler(fill))


def justify_right(run: Run, value: str, width: Value, fill: Value) -> str:
    return value.rjust(_width(run, value, width, "rjust"), _filler(fill))


def center_text(run: Run, value: str, width: Value, fill: Value) -> str:
    return value.center(_width(run, value, width, "center"), _filler(fill))


def _width(run: Run, value: str, width: Value, operation: str) -> int:
    size = whole(width, operation, "width")
    run.check_text(max(size, len(value)), operation)
    return size


def _filler(fill: Value) -> str:
    filler = text(fill, "padding", "fill")
    if len(filler) != 1:
        raise EvaluationError("padding needs one character to fill with")
    return filler


def index_of(run: Run, value: list[Value], item: Value) -> int:
    for position, part in enumerate(paid_items(run, value, "index")):
        if equal(run, part, item):
            return position
    raise EvaluationError("index: the list does not contain the item")


def count_items(run: Run, value: list[Value], item: Value) -> int:
    return sum(equal(run, part, item) for part in paid_items(run, value, "count"))


def keys(run: Run, value: dict[str, Value]) -> list[Value]:
    run.check_items(len(value), "keys")
    return list(value)


def values(run: Run, value: dict[str, Value]) -> list[Value]:
    run.check_items(len(value), "values")
    return list(value.values())


def get(run: Run, value: Value, key: Value, default: Value) -> Value:
    found = item_of(value, key)
    return default if found is UNDEFINED else found


def cycle(run: Run, loop: LoopVariable, values: _Extra, named: _Named) -> Value:
    if not values:
        raise EvaluationError("cycle needs at least one value")
    return values[loop.index % len(values)]


def changed(run: Run, loop: LoopVariable, values: _Extra, named: _Named) -> bool:
    seen: Value = list(values)
    if loop.changed is not UNDEFINED and equal(run, loop.changed, seen):
        return False
    loop.changed = seen
    return True


def next_value(run: Run, cycler: Cycler) -> Value:
    value = cycler.current
    cycler.position += 1
    return value


def reset(run: Run, cycler: Cycler) -> None:
    cycler.position = 0


def _method(
    owner: str,
    name: str,
    call: Callable[..., object],
    doc: str,
    required: tuple[str, ...] = (),
    **optional: Scalar,
) -> FunctionEntry:
    return FunctionEntry("method", owner, name, call, doc, required, tuple(optional.items()))


def _variadic(owner: str, name: str, call: Callable[..., object], doc: str) -> FunctionEntry:
    return FunctionEntry("method", owner, name, call, doc, extra="*values")


TEXT_METHODS = (
    _method("text", "upper", filters.upper, "the text in capital letters"),
    _method("text", "lower", filters.lower, "the text in small letters"),
    _method("text", "strip", strip, "without white space at both ends", chars=None),
    _method("text", "lstrip", left_strip, "without white space at its start", chars=None),
    _method("text", "rstrip", right_strip, "without white space at its end", chars=None),
    _method("text", "split", filters.split, "the parts in a list", sep=None, maxsplit=-1),
    _method("text", "rsplit", right_split, "split from the end", sep=None, maxsplit=-1),
    _method("text", "splitlines", split_lines, "a list of the lines", keepends=False),
    _method("text", "replace", filters.replace, "`old` replaced", ("old", "new"), count=None),
    _method("text", "startswith", starts_with, "true if it begins so", ("prefix",)),
    _method("text", "endswith", ends_with, "true if it ends so", ("suffix",)),
    _method("text", "join", join_items, "texts of a list joined by it", ("items",)),
    _variadic("text", "format", fill, "the `{}` places filled in"),
    _method("text", "title", lambda run, value: value.title(), "every word with a capital"),
    _method("text", "capitalize", filters.capitalize, "the first letter a capital"),
    _method("text", "swapcase", lambda run, value: value.swapcase(), "capitals and small swapped"),
    _method("text", "count", count_text, "how often `part` occurs", ("part",)),
    _method("text", "find", find, "where `part` begins, or -1", ("part",)),
    _method("text", "rfind", find_last, "where the last `part` begins, or -1", ("part",)),
    _method("text", "index", index_of_text, "where `part` begins", ("part",)),
    _method("text", "isdigit", lambda run, value: value.isdigit(), "true if all are digits"),
    _method("text", "isalpha", lambda run, value: value.isalpha(), "true if all are letters"),
    _method("text", "isalnum", lambda run, value: value.isalnum(), "true if letters or digits"),
    _method("text", "isspace", lambda run, value: value.isspace(), "true if all is white space"),
    _method("text", "isupper", lambda run, value: value.isupper(), "true if in capitals"),
    _method("text", "islower", lambda run, value: value.islower(), "true if in small letters"),
    _method("text", "zfill", fill_zeros, "zeros in front up to a width", ("width",)),
    _method("text", "ljust", justify_left, "filled up at its end", ("width",), fill=" "),
    _method("text", "rjust", justify_right, "filled up at its start", ("width",), fill=" "),
    _method("text", "center", center_text, "filled up at both ends", ("width",), fill=" "),
)
LIST_METHODS = (
    _method("list", "index", index_of, "the position of an item", ("item",)),
    _method("list", "count", count_items, "how often an item occurs", ("item",)),
)
OBJECT_METHODS = (
    _method("object", "items", lists.pairs, "a list of [key, value]"),
    _method("object", "keys", keys, "a list of the keys"),
    _method("object", "values", values, "a list of the values"),
    _method("object", "get", get, "the value of a key, or the default", ("key",), default=None),
)
LOOP_METHODS = (
    _variadic("loop", "cycle", cycle, "one of the values in turn, by iteration"),
    _variadic("loop", "changed", changed, "true if the values differ from the last call"),
)
CYCLER_METHODS = (
    _method("cycler", "next", next_value, "the current value, then go on"),
    _method("cycler", "reset", reset, "begin again"),
)

METHODS = TEXT_METHODS + LIST_METHODS + OBJECT_METHODS + LOOP_METHODS + CYCLER_METHODS


def owner_of(value: Value) -> str:
    """Name the table in which the methods of a value are."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "list"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, LoopVariable):
        return "loop"
    return "cycler" if isinstance(value, Cycler) else ""
