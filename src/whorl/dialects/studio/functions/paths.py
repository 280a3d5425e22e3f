"""JSONPath: a bounded reader of paths such as `$.items[*].name` or `$..price` over JSON values."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.language.faults import LanguageError, LimitExceeded
from whorl.language.values import UNDEFINED, Value

if TYPE_CHECKING:
    from collections.abc import Callable

FOUND_MAX = 100_000
WORK_MAX = 1_000_000
LENGTH_MAX = 8_192
STEPS_MAX = 64

_NAME = re.compile(r"[^\W\d][\w-]*")
_INDEX = re.compile(r"-?\d{1,9}")
_SLICE = re.compile(r"(-?\d{1,9})?\s*+:\s*+(-?\d{1,9})?(?:\s*+:\s*+(-?\d{1,9})?)?")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\"")
_FILTER = re.compile(
    r"\?\s*+(?P<open>\()?\s*+@(?P<path>(?:\.[\w-]++)*+)\s*+"
    r"(?:(?P<operator>==|!=|<=|>=|<|>)\s*+(?P<value>'[^'\n]*+'|\"[^\"\n]*+\"|[^()\]'\"]++))?+"
    r"\s*+(?(open)\)|(?=\]))"
)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class _Key:
    name: str


@dataclass(frozen=True, slots=True)
class _Index:
    number: int


@dataclass(frozen=True, slots=True)
class _All:
    pass


@dataclass(frozen=True, slots=True)
class _Slice:
    start: int | None
    stop: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class _Filter:
    path: tuple[str, ...]
    comparison: str
    value: Value


_Selector: TypeAlias = _Key | _Index | _All | _Slice | _Filter


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path; a deep one looks at every level below."""

    selectors: tuple[_Selector, ...]
    is_deep: bool = False

    @property
    def is_definite(self) -> bool:
        """Whether it leads to at most one value."""
        one = self.selectors[0] if len(self.selectors) == 1 else None
        return not self.is_deep and isinstance(one, _Key | _Index)


@lru_cache(maxsize=512)
def read_path(source: str) -> tuple[Step, ...]:
    """Reads a path; raises LanguageError with the offset of the mistake."""
    if len(source) > LENGTH_MAX:
        raise LimitExceeded(f"a path has at most {LENGTH_MAX} characters, not {len(source)}", 0)
    reader = _Reader(source)
    return reader.read()


def find_path(source: str, value: Value) -> Value:
    """What a path finds: one value (null where there is none), or a list if it can be several."""
    steps = read_path(source)
    found: list[Value] = [value]
    work = 0
    for step in steps:
        level = _below(found) if step.is_deep else found
        found = []
        for one in level:
            for selector in step.selectors:
                work += _work(selector, one)
                if work > WORK_MAX:
                    raise LimitExceeded(f"a path looks at more than {WORK_MAX} values")
                found.extend(_of(selector, one))
                if len(found) > FOUND_MAX:
                    raise LimitExceeded(f"a path finds more than {FOUND_MAX} values")
    if all(step.is_definite for step in steps):
        return found[0] if found else None
    return found


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def read(self) -> tuple[Step, ...]:
        self.source = self.source.rstrip()
        self.at = len(self.source) - len(self.source.lstrip())
        if self.source.startswith("$", self.at):
            self.at += 1
        elif self.source and self.source[self.at] not in ".[":
            # A path may begin with a bare name, as if `$.` stood before it.
            self.source, self.at = f"{self.source[: self.at]}.{self.source[self.at :]}", self.at
        steps: list[Step] = []
        while self.at < len(self.source):
            steps.append(self._step())
            if len(steps) > STEPS_MAX:
                raise LimitExceeded(f"a path has at most {STEPS_MAX} steps", self.at)
        return tuple(steps)

    def _step(self) -> Step:
        source = self.source
        is_deep = source.startswith("..", self.at)
        if is_deep:
            self.at += 2
        elif source.startswith(".", self.at):
            self.at += 1
        if source.startswith("[", self.at):
            return Step(self._bracket(), is_deep)
        if source.startswith("*", self.at):
            self.at += 1
            return Step((_All(),), is_deep)
        found = _NAME.match(source, self.at)
        if found is None or source[self.at - 1] != ".":
            raise self._fault("a name, '*' or '['")
        self.at = found.end()
        return Step((_Key(found[0]),), is_deep)

    def _bracket(self) -> tuple[_Selector, ...]:
        self.at += 1
        selectors = [self._selector()]
        while self._skip().startswith(",", self.at):
            self.at += 1
            selectors.append(self._selector())
        if not self.source.startswith("]", self.at):
            raise self._fault("']'")
        self.at += 1
        return tuple(selectors)

    def _skip(self) -> str:
        while self.source.startswith((" ", "\t"), self.at):
            self.at += 1
        return self.source

    def _selector(self) -> _Selector:
        source = self._skip()
        if source.startswith("*", self.at):
            self.at += 1
            return _All()
        for pattern, make in (
            (_QUOTED, _key),
            (_SLICE, _slice),
            (_INDEX, _index),
            (_FILTER, _filter),
        ):
            found = pattern.match(source, self.at)
            if found is not None:
                self.at = found.end()
                return make(found)
        raise self._fault("a number, a name in quotes, '*', a slice or a filter")

    def _fault(self, wanted: str) -> LanguageError:
        return LanguageError(
            f"the path {self.source[:60]!r} needs {wanted} here",
            self.at,
            "a path looks like $.items[0].name or $.items[*].name",
        )


def _key(found: re.Match[str]) -> _Selector:
    written = found[1] if found[1] is not None else found[2]
    return _Key(re.sub(r"\\(.)", r"\1", written))


def _index(found: re.Match[str]) -> _Selector:
    return _Index(int(found[0]))


def _slice(found: re.Match[str]) -> _Selector:
    start, stop, step = (None if part is None else int(part) for part in found.groups())
    if step == 0:
        raise LanguageError("the step of a slice cannot be 0", found.start())
    return _Slice(start, stop, step)


def _filter(found: re.Match[str]) -> _Selector:
    path = tuple(part for part in found["path"].split(".") if part)
    if found["operator"] is None:
        return _Filter(path, "", None)
    return _Filter(path, found["operator"], _literal(found["value"].rstrip(), found.start("value")))


def _literal(written: str, offset: int) -> Value:
    quoted = _QUOTED.fullmatch(written)
    if quoted is not None:
        return quoted[1] if quoted[1] is not None else quoted[2]
    if written in _WORDS:
        return _WORDS[written]
    if _NUMBER.fullmatch(written):
        return float(written) if "." in written else int(written)
    raise LanguageError(f"{written[:40]!r} is no value to compare with", offset, "quote a text")


def _work(selector: _Selector, value: Value) -> int:
    """How many values a selector may look at in one value."""
    if isinstance(selector, _Key | _Index) or not isinstance(value, list | dict):
        return 1
    return 1 + len(value)


def _below(found: list[Value]) -> list[Value]:
    """Values and everything inside of them, the outermost of each first."""
    level: list[Value] = []
    for one in found:
        _add_below(one, level)
    return level


def _add_below(value: Value, level: list[Value]) -> None:
    at = len(level)
    level.append(value)
    while at < len(level):
        one = level[at]
        at += 1
        if isinstance(one, dict):
            level.extend(one.values())
        elif isinstance(one, list):
            level.extend(one)
        if len(level) > FOUND_MAX:
            raise LimitExceeded(f"a path looks at more than {FOUND_MAX} values")


def _of(selector: _Selector, value: Value) -> list[Value]:
    match selector:
        case _Key():
            if isinstance(value, dict) and selector.name in value:
                return [value[selector.name]]
            return []
        case _Index():
            if isinstance(value, list) and -len(value) <= selector.number < len(value):
                return [value[selector.number]]
            return []
        case _All():
            return _parts(value)
        case _Slice():
            stretch = slice(selector.start, selector.stop, selector.step)
            return value[stretch] if isinstance(value, list) else []
        case _Filter():
            return [part for part in _parts(value) if _fits(selector, part)]


def _parts(value: Value) -> list[Value]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _fits(selector: _Filter, value: Value) -> bool:
    for name in selector.path:
        if not isinstance(value, dict) or name not in value:
            value = UNDEFINED
            break
        value = value[name]
    if not selector.comparison:
        return value is not UNDEFINED
    if value is UNDEFINED:
        return False
    return _compare(selector.comparison, value, selector.value)


def _compare(comparison: str, left: Value, right: Value) -> bool:
    """Compares two values; those of different kinds have no order."""
    if comparison in ("==", "!="):
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        return same == (comparison == "==")
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (left, right))
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return False
    return _ORDER[comparison](left, right)
