"""Calls in expressions: what is wrong with one, and what it becomes in the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl.errors import did_you_mean
from whorl.formats.loom.functions import collections
from whorl.language import tree
from whorl.language.faults import EvaluationError, LanguageError
from whorl.language.signatures import FunctionEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language.calls import Run
    from whorl.language.values import Value


_WORDS = ("no", "one", "two", "three", "four", "five")
# Functions that people and models expect, and that Azure does not have.
_INSTEAD = {
    "createobject": "write the object as JSON text in json(...), or use setProperty",
    "encodebase64": "use 'base64'",
    "addtodatetime": "use 'addToTime'",
    "now": "use 'utcNow'",
    "notequals": "use not(equals(...))",
    "tostring": "use 'string'",
    "append": "use union(array, createArray(value))",
}


def problem_of(
    name: str, entry: FunctionEntry | None, count: int, functions: Mapping[str, FunctionEntry]
) -> LanguageError | None:
    if entry is None:
        names = {other.name for other in functions.values()}
        return LanguageError(
            f"The template function {name!r} is not defined or not valid",
            help=_INSTEAD.get(name.lower()) or did_you_mean(name, names),
        )
    least, most = entry.arguments_min, entry.arguments_max
    if least <= count and (most is None or count <= most):
        return None
    return LanguageError(
        f"The template language function {entry.name!r} expects {_counted(least, most)}: "
        f"{entry.signature}. The function was invoked with '{count}' parameter(s)"
    )


def _counted(least: int, most: int | None) -> str:
    plural = "s" * (least != 1)
    if most is None or least == most:
        return f"{'at least ' * (most is None)}{_WORDS[least]} parameter{plural}"
    return f"{_WORDS[least]} {'or' if most == least + 1 else 'to'} {_WORDS[most]} parameters"


def failing(problem: LanguageError) -> FunctionEntry:
    def fail(run: Run) -> Value:
        raise EvaluationError(problem.message, help=problem.help)

    return FunctionEntry("function", "unknown", "unknown", fail, problem.message)


def apply(entry: FunctionEntry, arguments: list[tree.Expr], offset: int) -> tree.Expr:
    named = len(entry.required) + len(entry.optional)
    missing = entry.optional[max(0, len(arguments) - len(entry.required)) :]
    given = (*arguments[:named], *(tree.Literal(default, offset) for _, default in missing))
    return tree.Apply(entry, given, tuple(arguments[named:]), (), offset)


def _checked(operator: str, part: tree.Expr, place: int, offset: int) -> tree.Expr:
    return tree.Apply(collections.condition_check(operator, min(place, 3)), (part,), (), (), offset)


def _all_of(operator: Literal["and", "or"], arguments: list[tree.Expr], offset: int) -> tree.Expr:
    parts = [_checked(operator, part, place, offset) for place, part in enumerate(arguments)]
    return tree.Logic(operator, tuple(parts), offset) if len(parts) > 1 else parts[0]


LAZY: dict[str, Callable[[list[tree.Expr], int], tree.Expr]] = {
    "and": lambda arguments, offset: _all_of("and", arguments, offset),
    "or": lambda arguments, offset: _all_of("or", arguments, offset),
    "if": lambda arguments, offset: tree.Conditional(
        _checked("if", arguments[0], 0, offset), arguments[1], arguments[2], offset
    ),
    "coalesce": lambda arguments, offset: tree.Logic("coalesce", tuple(arguments), offset),
}
