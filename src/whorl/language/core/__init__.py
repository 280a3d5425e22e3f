"""Which functions and tests an expression may use, by kind and name.

The core's are there for every expression; one that names a library sees its functions first, and
those alone where the library stands alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.language.calls import Family, FunctionEntry, Kind, Run, number
from whorl.language.core.lists import LISTS, ORDERING, SELECTING
from whorl.language.core.methods import METHODS, OBJECTS
from whorl.language.core.text import JSON, NUMBERS, TEXT
from whorl.language.faults import EvaluationError, LanguageError
from whorl.language.libraries import Library, open_library
from whorl.language.operators import COMPARISON, contains
from whorl.language.patterns import REGEX, compiled, pay_search
from whorl.language.values import UNDEFINED, Group, Undefined, Value

if TYPE_CHECKING:
    from collections.abc import Callable


# Tests: what `is ...` asks of a value.


def divisible_by(run: Run, value: Value, num: Value) -> bool:
    divisor = number(num, "divisibleby")
    if divisor == 0:
        raise EvaluationError("division by zero in 'divisibleby'")
    return number(value, "divisibleby") % divisor == 0


def _is_a(*types: type) -> Callable[[Run, Value], bool]:
    return lambda run, value: type(value) in types


def _searching(operation: str) -> Callable[[Run, Value, Value, Value], bool]:
    def searched(run: Run, value: Value, pattern: Value, ignorecase: Value) -> bool:
        program = compiled(run, pattern, operation, ignore_case=bool(ignorecase))
        subject = run.text(value)
        pay_search(run, program, len(subject))
        look = program.search if operation == "search" else program.match
        return look(subject) is not None

    return searched


_test = Family("test", "tests")


def _comparisons() -> tuple[FunctionEntry, ...]:
    words = (
        ("==", "equal to `other`", ("==", "eq", "equalto")),
        ("!=", "not equal to `other`", ("!=", "ne")),
        ("<", "less than `other`", ("<", "lt", "lessthan")),
        ("<=", "less than or equal to `other`", ("<=", "le")),
        (">", "greater than `other`", (">", "gt", "greaterthan")),
        (">=", "greater than or equal to `other`", (">=", "ge")),
        ("in", "part of `other`", ("in",)),
    )
    return tuple(
        _test(f"{name}(other)", COMPARISON[symbol], doc)
        for symbol, doc, names in words
        for name in names
    )


TESTS: tuple[FunctionEntry, ...] = (
    _test("defined", lambda run, value: value is not UNDEFINED, "has a value, even if it is none"),
    _test("undefined", lambda run, value: value is UNDEFINED, "has no value"),
    _test("none", lambda run, value: value is None, "is none (null)"),
    _test("boolean", _is_a(bool), "is true or false"),
    _test("true", lambda run, value: value is True, "is true"),
    _test("false", lambda run, value: value is False, "is false"),
    _test("number", _is_a(bool, int, float), "is a number"),
    _test("integer", _is_a(int), "is a whole number"),
    _test("float", _is_a(float), "is a number with decimals"),
    _test("string", _is_a(str), "is a text"),
    _test("mapping", _is_a(dict, Group), "is an object"),
    _test("sequence", _is_a(str, list, dict, Group), "is a list, a text or an object"),
    _test("iterable", _is_a(str, list, dict, Group, Undefined), "can be looped over"),
    _test("odd", lambda run, value: number(value, "odd") % 2 == 1, "is an odd number"),
    _test("even", lambda run, value: number(value, "even") % 2 == 0, "is an even number"),
    _test("divisibleby(num)", divisible_by, "can be divided by `num`"),
    _test("lower", lambda run, value: run.text(value).islower(), "is in small letters"),
    _test("upper", lambda run, value: run.text(value).isupper(), "is in capital letters"),
    _test("contains(member)", contains, "holds `member`: a text, an item or a key"),
    _test("search(pattern, ignorecase=false)", _searching("search"), "the pattern is found in it"),
    _test(
        "match(pattern, ignorecase=false)", _searching("match"), "the pattern is found at its start"
    ),
    *_comparisons(),
)


CORE: tuple[FunctionEntry, ...] = (
    TEXT + LISTS + ORDERING + SELECTING + NUMBERS + JSON + REGEX + OBJECTS + TESTS + METHODS
)
# All methods, by the kind of value that has them and by name.
METHODS_OF = {(entry.family, entry.name): entry for entry in METHODS}

_CHANCE = "its result would differ each time a run is replayed"
# Names that people expect and that the language leaves out, with the reason.
_REFUSED: dict[tuple[Kind, str], str] = {
    ("filter", "random"): _CHANCE,
    ("filter", "urlize"): "templates here write prompts and values, not web pages",
    ("filter", "shuffle"): _CHANCE,
    ("function", "lipsum"): _CHANCE,
    ("function", "now"): _CHANCE,
    ("function", "random"): _CHANCE,
}
# Methods that people expect, and what does the same.
_INSTEAD = {"format": "write `'%s: %.2f' | format(name, number)`"}


@lru_cache(maxsize=32)
def table(library: str) -> dict[tuple[Kind, str], FunctionEntry]:
    """Return all filters, tests and functions that an expression with this library may use."""
    opened = open_library(library) if library else Library()
    entries = opened.functions if opened.stands_alone else CORE + opened.functions
    return {(entry.kind, entry.name): entry for entry in entries if entry.kind != "method"}


def find(library: str, kind: Kind, name: str) -> FunctionEntry:
    """Return a function by name, or raise LanguageError with the nearest name."""
    functions = table(library)
    if (kind, name) in functions:
        return functions[kind, name]
    if (kind, name) in _REFUSED:
        raise LanguageError(f"{kind} {name!r} is not available: {_REFUSED[kind, name]}")
    names = [other for other_kind, other in functions if other_kind == kind]
    raise LanguageError(f"unknown {kind} {name!r}", help=did_you_mean(name, names))


def check_method(name: str) -> None:
    """Raise LanguageError unless some kind of value has this method."""
    names = [entry.name for entry in METHODS]
    if name not in names:
        advice = _INSTEAD.get(name) or did_you_mean(name, names)
        raise LanguageError(f"unknown method {name!r}", help=advice)


def entries(library: str = "") -> tuple[FunctionEntry, ...]:
    """Return all functions that an author may use in an expression with this library."""
    # A name that begins with a dollar sign is for readers alone.
    functions = tuple(entry for entry in table(library).values() if not entry.name.startswith("$"))
    return functions if library and open_library(library).stands_alone else functions + METHODS
