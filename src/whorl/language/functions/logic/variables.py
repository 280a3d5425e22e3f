"""Variables have types: functions that readers put around values, under names no author writes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from whorl.language.faults import EvaluationError
from whorl.language.functions.logic.arguments import find_key, is_number, text, type_name
from whorl.language.functions.logic.table import Family

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value

_SHOWN_MAX = 100
# What null becomes when it is put into a variable of a type.
_NULLS: dict[str, Value] = {"string": "", "array": [], "object": None}


def typed(run: Run, name: Value, kind: Value, value: Value) -> Value:
    """Return what a variable of a type holds when it is given a value; raise where it cannot."""
    wanted = text("$typed", 1, kind).lower()
    if value is None and wanted in _NULLS:
        return _NULLS[wanted]
    if wanted == "float" and is_number(value):
        return float(value)  # type: ignore[arg-type]
    if wanted == type_name(value).lower() and not isinstance(value, Decimal):
        return value
    shown = run.text(value) if isinstance(value, str | int | float) else type_name(value)
    only = wanted.capitalize()
    raise EvaluationError(
        f"The variable {name!r} of type {only!r} cannot be initialized or updated with value "
        f"{shown[:_SHOWN_MAX]!r} of type {type_name(value)!r}. The variable {name!r} only "
        f"supports values of types {only!r}"
    )


def typed_or_null(run: Run, name: Value, kind: Value, value: Value) -> Value:
    """Do the same where null is a value of every type."""
    return None if value is None else typed(run, name, kind, value)


def declared(run: Run, name: Value, value: Value) -> Value:
    """Return the value that a variable is set to; raise where nothing has declared it."""
    table = run.lookup("$variables")
    if isinstance(table, dict) and find_key(table, text("$declared", 0, name)) is not None:
        return value
    raise EvaluationError(
        f"The variable {name!r} must be initialized before it can be used",
        help="add an InitializeVariable action before this one",
    )


_internal = Family("internal")

TYPING: tuple[FunctionEntry, ...] = (
    _internal("$typed(name, type, value)", typed, "a value of the variable's type"),
    _internal("$typedOrNull(name, type, value)", typed_or_null, "the same, or null"),
    _internal(
        "$declared(name, value)",
        declared,
        "a value for a variable that is declared",
        reads="$variables",
    ),
)
