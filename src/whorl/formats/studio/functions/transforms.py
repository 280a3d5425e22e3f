"""What transforms do: JSONPath, such as `$.items[*].name` or `$..price`, and pipes of scripts, such
as `map(name) | select(kind=book) | join(", ")`. Both are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from whorl.language.calls import Run, paid_items, whole
from whorl.language.core import lists
from whorl.language.core.text import from_json
from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.operators import ORDER
from whorl.language.values import UNDEFINED, Value, kind_of, path_getter

if TYPE_CHECKING:
    from collections.abc import Iterable

VALUES_MAX = 100_000
WORK_MAX = 1_000_000
LENGTH_MAX = 8_192
STEPS_MAX = 64

_NAME = re.compile(r"(?<=\.)[^\W\d][\w-]*")
_INDEX = re.compile(r"-?\d{1,9}")
_ALL = re.compile(r"\*")
_SLICE = re.compile(r"(-?\d{1,9})?\s*+:\s*+(-?\d{1,9})?(?:\s*+:\s*+(-?\d{1,9})?)?")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\"")
_FILTER = re.compile(
    r"\?\s*+(?P<open>\()?\s*+@(?P<path>(?:\.[\w-]++)*+)\s*+"
    r"(?:(?P<operator>==|!=|<=|>=|<|>)\s*+(?P<value>'[^'\n]*+'|\"[^\"\n]*+\"|[^()\]'\"]++))?"
    r"\s*+(?(open)\)|(?=\]))"
)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}

_Finder: TypeAlias = Callable[[Value], list[Value]]


class _Selector(NamedTuple):
    """What a part of a step takes of a value; a definite one looks at one part at most."""

    find: _Finder
    is_definite: bool = False


class Step(NamedTuple):
    """One step of a path; a deep one looks at every level below."""

    selectors: tuple[_Selector, ...]
    is_deep: bool = False


@lru_cache(maxsize=512)
def read_path(source: str) -> tuple[Step, ...]:
    """Reads a path; raises LanguageError with the offset of the mistake."""
    if len(source) > LENGTH_MAX:
        raise LimitExceeded(f"a path has at most {LENGTH_MAX} characters, not {len(source)}", 0)
    return _Reader(source.rstrip()).read()


def find_path(source: str, value: Value) -> Value:
    """What a path finds: one value (null where there is none), or a list if it can be several."""
    steps = read_path(source)
    values: list[Value] = [value]
    work = 0
    for selectors, is_deep in steps:
        level = _below(values) if is_deep else values
        values = []
        for part in level:
            for find, is_definite in selectors:
                looks_at_all = not is_definite and isinstance(part, list | dict)
                work += 1 + len(part) if looks_at_all else 1  # type: ignore[arg-type]
                if work > WORK_MAX:
                    raise LimitExceeded(f"a path looks at more than {WORK_MAX} values")
                values.extend(find(part))
                if len(values) > VALUES_MAX:
                    raise LimitExceeded(f"a path finds more than {VALUES_MAX} values")
    if all(len(s) == 1 and s[0].is_definite and not is_deep for s, is_deep in steps):
        return values[0] if values else None
    return values


def _below(values: list[Value]) -> list[Value]:
    """Values and everything inside of them, the outermost of each first."""
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


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = len(source) - len(source.lstrip())

    def read(self) -> tuple[Step, ...]:
        if not self._takes("$") and self.source and self.source[self.at] not in ".[":
            # A path may begin with a bare name, as if `$.` stood before it.
            self.source = f"{self.source[: self.at]}.{self.source[self.at :]}"
        steps: list[Step] = []
        while self.at < len(self.source):
            steps.append(self._step())
            if len(steps) > STEPS_MAX:
                raise LimitExceeded(f"a path has at most {STEPS_MAX} steps", self.at)
        return tuple(steps)

    def _takes(self, mark: str) -> bool:
        is_there = self.source.startswith(mark, self.at)
        self.at += len(mark) * is_there
        return is_there

    def _step(self) -> Step:
        is_deep = self._takes("..")
        if not is_deep:
            self._takes(".")
        if not self._takes("["):
            return Step((self._selector(_OUTSIDE, "a name, '*' or '['"),), is_deep)
        selectors: list[_Selector] = []
        while not selectors or self._takes(","):
            self._skip_blanks()
            wanted = "a number, a name in quotes, '*', a slice or a filter"
            selectors.append(self._selector(_INSIDE, wanted))
            self._skip_blanks()
        if not self._takes("]"):
            raise self._fault("']'")
        return Step(tuple(selectors), is_deep)

    def _skip_blanks(self) -> None:
        while self._takes(" ") or self._takes("\t"):
            pass

    def _selector(self, forms: _Forms, wanted: str) -> _Selector:
        for pattern, make, is_definite in forms:
            match = pattern.match(self.source, self.at)
            if match is not None:
                self.at = match.end()
                return _Selector(make(match), is_definite)
        raise self._fault(wanted)

    def _fault(self, wanted: str) -> LanguageError:
        return LanguageError(
            f"the path {self.source[:60]!r} needs {wanted} here",
            self.at,
            "a path looks like $.items[0].name or $.items[*].name",
        )


def _key(match: re.Match[str]) -> _Finder:
    quoted = next((part for part in match.groups() if part is not None), None)
    name = match[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _index(match: re.Match[str]) -> _Finder:
    at = int(match[0])
    return lambda value: value[at : at + 1 or None] if isinstance(value, list) else []


def _slice(match: re.Match[str]) -> _Finder:
    bounds = [None if part is None else int(part) for part in match.groups()]
    if bounds[2] == 0:
        raise LanguageError("the step of a slice cannot be 0", match.start())
    return lambda value: value[slice(*bounds)] if isinstance(value, list) else []


def _filter(match: re.Match[str]) -> _Finder:
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
    quoted = _QUOTED.fullmatch(written)
    if quoted is not None:
        return quoted[1] if quoted[1] is not None else quoted[2]
    if written in _WORDS:
        return _WORDS[written]
    if _NUMBER.fullmatch(written):
        return float(written) if "." in written else int(written)
    raise LanguageError(f"{written[:40]!r} is not a value to compare with", offset, "quote a text")


def _all(match: re.Match[str]) -> _Finder:
    return lambda value: list(_parts(value))


# How selectors are written behind a dot and in brackets, and whether they are definite.
_Forms: TypeAlias = tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], _Finder], bool], ...]
_OUTSIDE: _Forms = ((_ALL, _all, False), (_NAME, _key, True))
_INSIDE: _Forms = (
    (_ALL, _all, False),
    (_QUOTED, _key, True),
    (_SLICE, _slice, False),
    (_INDEX, _index, True),
    (_FILTER, _filter, False),
)


def _object(value: Value, name: str) -> dict[str, Value]:
    if isinstance(value, dict):
        return value
    raise EvaluationError(f"{name} needs an object, not {kind_of(value)}")


def _flatten(run: Run, value: Value) -> Value:
    """One level: lists in the list become their items."""
    items: list[Value] = []
    for part in paid_items(run, value, "flatten"):
        items.extend(part if isinstance(part, list) else [part])
        run.check_items(len(items), "flatten")
    return items


def _sort(run: Run, value: Value, key: Value = None) -> Value:
    items = paid_items(run, value, "sort")
    return lists.ordered(run, items, [path_getter(key)], case_sensitive=True)


def _unique(run: Run, value: Value) -> Value:
    """Keeps the first of those that are written alike."""
    by_text: dict[str, Value] = {}
    for part in paid_items(run, value, "unique"):
        by_text.setdefault(f"{kind_of(part)} {run.text(part)}", part)
    return list(by_text.values())


def _map(run: Run, value: Value, key: Value) -> Value:
    parts = map(path_getter(key), paid_items(run, value, "map"))
    return [None if part is UNDEFINED else part for part in parts]


def _select(run: Run, value: Value, key: Value, wanted: Value) -> Value:
    """Items whose field has this value; what is written without quotes may be a number, too."""
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

# How many arguments each pipe takes: the fewest and the most.
ARGUMENTS: dict[str, tuple[int, int]] = dict.fromkeys(PIPES, (0, 0)) | {
    "sort": (0, 1),
    "join": (0, 1),
    "map": (1, 1),
    "select": (2, 2),
    "take": (1, 1),
    "skip": (1, 1),
}
