"""Checks of arguments that many functions share: a list, a whole number, a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, Value, kind_of

if TYPE_CHECKING:
    from whorl.language.run import Run


def items(value: Value, operation: str) -> list[Value]:
    """Return what can be looped over as a list: items, keys or characters; nothing of nothing.

    The list may be the value itself and must not be changed.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, dict | str):
        return list(value)
    if value is UNDEFINED or value is None:
        return []
    raise EvaluationError(f"{operation} needs a list, not {kind_of(value)}")


def paid_items(run: Run, value: Value, operation: str) -> list[Value]:
    """Return the items of a value that a function will visit one by one, and pay for the visits."""
    found = items(value, operation)
    run.check_items(len(found), operation)
    run.spend(len(found))
    return found


def whole(value: Value, operation: str, argument: str) -> int:
    """Return a whole number."""
    if isinstance(value, int):
        return int(value)
    raise EvaluationError(f"{operation} needs a whole number as {argument!r}, not {kind_of(value)}")


def positive(value: Value, operation: str, argument: str) -> int:
    """Return a whole number above 0."""
    number = whole(value, operation, argument)
    if number < 1:
        raise EvaluationError(f"{operation} needs a number above 0 as {argument!r}, not {number}")
    return number


def number(value: Value, operation: str) -> int | float:
    """Return a number."""
    if isinstance(value, int | float):
        return value
    raise EvaluationError(f"{operation} needs a number, not {kind_of(value)}")


def text(value: Value, operation: str, argument: str) -> str:
    """Return a text."""
    if isinstance(value, str):
        return value
    raise EvaluationError(f"{operation} needs a text as {argument!r}, not {kind_of(value)}")
