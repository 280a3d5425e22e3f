"""Functions that make objects: plain ones, namespaces, cyclers and joiners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.access import Cycler, Joiner, Namespace
from whorl.language.entry import FunctionEntry
from whorl.language.faults import EvaluationError
from whorl.language.values import Value, key_text, kind_of

if TYPE_CHECKING:
    from whorl.language.run import Run


def make_object(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> dict[str, Value]:
    result: dict[str, Value] = {}
    if len(values) > 1:
        raise EvaluationError("dict takes one object or list of pairs, and named values")
    for value in values:
        result.update(_pairs(value))
    run.check_items(len(result) + len(named), "dict")
    return result | named


def _pairs(value: Value) -> dict[str, Value]:
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return {key_text(pair[0]): pair[1] for pair in value}
    raise EvaluationError(f"dict needs an object or a list of pairs, not {kind_of(value)}")


def make_namespace(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> Namespace:
    return Namespace(make_object(run, values, named))


def make_cycler(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> Cycler:
    if named or not values:
        raise EvaluationError("cycler needs at least one value")
    return Cycler(list(values))


def make_joiner(run: Run, separator: Value) -> Joiner:
    return Joiner(run.text(separator))


OBJECTS: tuple[FunctionEntry, ...] = (
    FunctionEntry(
        "function",
        "objects",
        "dict",
        make_object,
        "an object of the named values",
        extra="**values",
    ),
    FunctionEntry(
        "function",
        "objects",
        "namespace",
        make_namespace,
        "an object whose members can be set from inside a loop",
        extra="**values",
    ),
    FunctionEntry(
        "function",
        "objects",
        "cycler",
        make_cycler,
        "gives its values in turn with `next()`",
        extra="*values",
    ),
    FunctionEntry(
        "function",
        "objects",
        "joiner",
        make_joiner,
        "nothing when first called, then the separator",
        optional=(("separator", ", "),),
    ),
)
