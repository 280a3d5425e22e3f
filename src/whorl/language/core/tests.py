"""Tests: what `is ...` asks of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.calls import Run, number
from whorl.language.faults import EvaluationError, LanguageError
from whorl.language.operators import COMPARISON, contains, equal
from whorl.language.patterns import compiled, pay_search
from whorl.language.signatures import Family, FunctionEntry, Kind
from whorl.language.values import (
    UNDEFINED,
    Group,
    Undefined,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def divisible_by(run: Run, value: Value, num: Value) -> bool:
    divisor = number(num, "divisibleby")
    if divisor == 0:
        raise EvaluationError("division by zero in 'divisibleby'")
    return number(value, "divisibleby") % divisor == 0


def same_as(run: Run, value: Value, other: Value) -> bool:
    if isinstance(value, list | dict):
        return value is other
    return type(value) is type(other) and equal(run, value, other)


def _is_a(*types: type) -> Callable[[Run, Value], bool]:
    return lambda run, value: type(value) in types


def _known(kind: Kind) -> Callable[[Run, Value], bool]:
    def is_known(run: Run, value: Value) -> bool:
        if not isinstance(value, str):
            return False
        # A name that is not known is compared with all names, to suggest the nearest.
        run.spend(50)
        try:
            run.find(kind, value)
        except LanguageError:
            return False
        return True

    return is_known


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
    _test("callable", lambda run, value: False, "always false: values are JSON"),
    _test("escaped", lambda run, value: False, "always false: nothing is escaped"),
    _test("odd", lambda run, value: number(value, "odd") % 2 == 1, "is an odd number"),
    _test("even", lambda run, value: number(value, "even") % 2 == 0, "is an even number"),
    _test("divisibleby(num)", divisible_by, "can be divided by `num`"),
    _test("lower", lambda run, value: run.text(value).islower(), "is in small letters"),
    _test("upper", lambda run, value: run.text(value).isupper(), "is in capital letters"),
    _test("sameas(other)", same_as, "is the same value of the same kind"),
    _test("contains(member)", contains, "holds `member`: a text, an item or a key"),
    _test("filter", _known("filter"), "is the name of a filter"),
    _test("test", _known("test"), "is the name of a test"),
    _test("search(pattern, ignorecase=false)", _searching("search"), "the pattern is found in it"),
    _test(
        "match(pattern, ignorecase=false)", _searching("match"), "the pattern is found at its start"
    ),
    *_comparisons(),
)
