"""What transforms do: JSONPath, such as `$.items[*].name` or `$..price`, and pipes of scripts, such
as `map(name) | select(kind=book) | join(", ")`. Both are bounded.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from whorl.language.calls import Run, paid_items, whole
from whorl.language.core import lists
from whorl.language.core.text import from_json
from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.operators import ORDER
from whorl.language.values import UNDEFINED, Value, kind_of, path_getter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VALUES_MAX = 100_000
WORK_MAX = 1_000_000
LENGTH_MAX = 8_192
STEPS_MAX = 64

_TEXT = r"'[^'\\]*+(?:\\.[^'\\]*+)*'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*\""
_FILTER = (
    r"\?\s*+(?P<open>\()?\s*+@(?P<path>(?:\.[\w-]++)*)\s*+"
    r"(?:(?P<operator>==|!=|<=|>=|<|>)\s*+(?P<value>'[^'\n]*+'|\"[^\"\n]*+\"|[^()\]'\"]++))?"
    r"\s*+(?(open)\)|(?=\]))"
)
_STEP = re.compile(
    r"\.{1,2}(?:(?P<name>[^\W\d][\w-]*+)|\*)"
    rf"|(?:\.\.)?\[[ \t]*+(?:(?P<quoted>{_TEXT})|(?P<slice>(?:-?\d{{1,9}})?:(?:-?\d{{1,9}})?)"
    rf"|(?P<index>-?\d{{1,9}})|\*|{_FILTER})[ \t]*+\]"
)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}


class Step(NamedTuple):
    """One step of a path, which finds parts of a value.

    A definite step reads at most one part, a deep one every level below.
    """

    find: Callable[[Value], list[Value]]
    is_definite: bool
    is_deep: bool


@lru_cache(maxsize=512)
def read_path(source: str) -> tuple[Step, ...]:
    """Reads a path; raises LanguageError with the offset of the mistake."""
    if len(source) > LENGTH_MAX:
        raise LimitExceeded(f"a path has at most {LENGTH_MAX} characters, not {len(source)}", 0)
    source = source.rstrip()
    at = len(source) - len(source.lstrip())
    if source.startswith("$", at):
        at += 1
    elif source[at:] and source[at] not in ".[":
        # A path may begin with a bare name, as if `$.` stood before it.
        source = f"{source[:at]}.{source[at:]}"
    steps: list[Step] = []
    while at < len(source):
        match = _STEP.match(source, at)
        if match is None:
            advice = "a path looks like $.items[0].name or $.items[*].name"
            raise LanguageError(f"the path {source[:60]!r} cannot be read from here", at, advice)
        steps.append(_step(match))
        at = match.end()
        if len(steps) > STEPS_MAX:
            raise LimitExceeded(f"a path has at most {STEPS_MAX} steps", at)
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    is_deep, name = match[0].startswith(".."), match["name"]
    if match["quoted"]:
        name = re.sub(r"\\(.)", r"\1", match["quoted"][1:-1])
    if name is not None:
        return Step(
            lambda value: [value[name]] if isinstance(value, dict) and name in value else [],
            is_definite=True,
            is_deep=is_deep,
        )
    if match["path"] is not None:
        return Step(_filter(match), is_definite=False, is_deep=is_deep)
    if match["index"] or match["slice"]:
        start, _, end = (match["slice"] or "").partition(":")
        places = slice(int(start) if start else None, int(end) if end else None)
        if match["index"]:
            places = slice(int(match["index"]), int(match["index"]) + 1 or None)
        return Step(
            lambda value: value[places] if isinstance(value, list) else [],
            is_definite=bool(match["index"]),
            is_deep=is_deep,
        )
    return Step(lambda value: list(_parts(value)), is_definite=False, is_deep=is_deep)


def find_path(source: str, value: Value) -> Value:
    """Returns the value at a definite path, or null; a list if the path may match several."""
    steps = read_path(source)
    values: list[Value] = [value]
    work = 0
    for step in steps:
        level = _below(values) if step.is_deep else values
        values = []
        for part in level:
            looks_at_all = not step.is_definite and isinstance(part, list | dict)
            work += 1 + len(part) if looks_at_all else 1  # type: ignore[arg-type]
            if work > WORK_MAX:
                raise LimitExceeded(f"a path looks at more than {WORK_MAX} values")
            values.extend(step.find(part))
            if len(values) > VALUES_MAX:
                raise LimitExceeded(f"a path finds more than {VALUES_MAX} values")
    if all(step.is_definite and not step.is_deep for step in steps):
        return values[0] if values else None
    return values


def _below(values: list[Value]) -> list[Value]:
    """Returns values and everything inside of them, the outermost of each first."""
    level: list[Value] = []
    for value in values:
        at = len(level)
        level.append(value)
        while at < len(level):
            level.extend(_parts(level[at]))
            at += 1
            if len(level) > VALUES_MAX:
                raise LimitExceeded(f"a path looks at more than {VALUES_MAX} values")
    return level


def _parts(value: Value) -> Iterable[Value]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _filter(match: re.Match[str]) -> Callable[[Value], list[Value]]:
    path, symbol = match["path"].split(".")[1:], match["operator"]
    wanted = _literal(match["value"].rstrip(), match.start("value")) if symbol else None

    def fits(value: Value) -> bool:
        for name in path:
            if not isinstance(value, dict) or name not in value:
                return False
            value = value[name]
        if not symbol:
            return True
        if symbol in ("==", "!="):
            same = value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
            return same == (symbol == "==")
        # Values of different kinds have no order.
        kinds = {float if type(part) is int else type(part) for part in (value, wanted)}
        return kinds in ({float}, {str}) and ORDER[symbol](value, wanted)

    return lambda value: [part for part in _parts(value) if fits(part)]


def _literal(written: str, offset: int) -> Value:
    if re.fullmatch(_TEXT, written):
        return written[1:-1]
    if written in _WORDS:
        return _WORDS[written]
    if _NUMBER.fullmatch(written):
        return float(written) if "." in written else int(written)
    raise LanguageError(f"{written[:40]!r} is not a value to compare with", offset, "quote a text")


def _object(value: Value, name: str) -> dict[str, Value]:
    if isinstance(value, dict):
        return value
    raise EvaluationError(f"{name} needs an object, not {kind_of(value)}")


def _flatten(run: Run, value: Value) -> Value:
    """Flattens one level: lists in the list become their items."""
    items: list[Value] = []
    for part in paid_items(run, value, "flatten"):
        items.extend(part if isinstance(part, list) else [part])
        run.check_items(len(items), "flatten")
    return items


def _sort(run: Run, value: Value, key: Value = None) -> Value:
    items = paid_items(run, value, "sort")
    return lists.ordered(run, items, [path_getter(key)], case_sensitive=True)


def _unique(run: Run, value: Value) -> Value:
    """Returns the first of those items that are written alike."""
    by_text: dict[str, Value] = {}
    for part in paid_items(run, value, "unique"):
        by_text.setdefault(f"{kind_of(part)} {run.text(part)}", part)
    return list(by_text.values())


def _map(run: Run, value: Value, key: Value) -> Value:
    parts = map(path_getter(key), paid_items(run, value, "map"))
    return [None if part is UNDEFINED else part for part in parts]


def _select(run: Run, value: Value, key: Value, wanted: Value) -> Value:
    """Returns items whose field has this value; a value without quotes may also be a number."""
    read = path_getter(key)

    def fits(part: Value) -> bool:
        if part is UNDEFINED or isinstance(part, list | dict):
            return False
        return part == wanted or run.text(part) == run.text(wanted)

    return [part for part in paid_items(run, value, "select") if fits(read(part))]


def _count(number: Value, name: str) -> int:
    count = whole(number, name, "n")
    if count < 0:
        raise EvaluationError(f"{name} needs a number of at least 0, not {count}")
    return count


PIPES: dict[str, Callable[..., Value]] = {
    "length": lists.length,
    "keys": lambda run, value: list(_object(value, "keys")),
    "values": lambda run, value: list(_object(value, "values").values()),
    "first": lists.first,
    "last": lists.last,
    "flatten": _flatten,
    "sort": _sort,
    "reverse": lists.reverse,
    "unique": _unique,
    "to_string": Run.text,
    "from_json": from_json,
    "join": lambda run, value, mark="": lists.join(run, value, mark, None),
    "map": _map,
    "select": _select,
    "take": lambda run, value, n: paid_items(run, value, "take")[: _count(n, "take")],
    "skip": lambda run, value, n: paid_items(run, value, "skip")[_count(n, "skip") :],
}
