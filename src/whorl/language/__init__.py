"""Expressions and templates: several syntaxes, one tree, one bounded evaluator over JSON values.

An expression is text here, parsed once and evaluated often. The parser and the compiler are
imported for the first expression, so that programs that only pass expressions on start quickly.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, TypeVar

from whorl.language.calls import FunctionEntry, Meter, Run
from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.values import (
    LIMITS,
    UNDEFINED,
    Json,
    Limits,
    MappingScope,
    Scope,
    Undefined,
    Value,
    to_text,
)
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.evaluator import Program
    from whorl.language.libraries import Library, Semantics
    from whorl.language.patterns import pattern
    from whorl.language.tree import NameUse, Path, Tree

__all__ = [
    "LIMITS",
    "UNDEFINED",
    "EvaluationError",
    "Expression",
    "FunctionEntry",
    "Json",
    "LanguageError",
    "Library",
    "LimitExceeded",
    "Limits",
    "MappingScope",
    "Meter",
    "NameUse",
    "Scope",
    "Semantics",
    "Undefined",
    "evaluate",
    "evaluate_metered",
    "free_names",
    "functions",
    "is_light",
    "parse",
    "path_in",
    "pattern",
    "render",
    "to_text",
    "truth",
]

Made = TypeVar("Made")

_SMALL = 4_096
_FALSE_TEXTS = frozenset(("", "false", "no", "0"))


@dataclass(frozen=True, slots=True)
class Expression:
    """The source of an expression or template, with its syntax and its library."""

    syntax: str
    source: str
    library: str = ""


def _cached(function: Callable[[Expression], Made]) -> Callable[[Expression], Made]:
    """Cache the results of a function by expression; large sources have few entries."""
    # Small sources are many, large ones few.
    small: Callable[[Expression], Made] = lru_cache(maxsize=4_096)(function)
    large: Callable[[Expression], Made] = lru_cache(maxsize=32)(function)

    @wraps(function)
    def made(expression: Expression) -> Made:
        return small(expression) if len(expression.source) <= _SMALL else large(expression)

    return made


@_cached
def parse(expression: Expression) -> Tree:
    """Read an expression into its tree; raises LanguageError with the offset of the mistake."""
    if len(expression.source) > LIMITS.source_max:
        raise LimitExceeded(
            f"source has {len(expression.source)} characters, "
            f"more than the limit of {LIMITS.source_max}",
            0,
        )
    from whorl.language.syntaxes import reader

    return reader(expression.syntax)(expression.source, expression.library)


@_cached
def _program(expression: Expression) -> Program:
    from whorl.language.evaluator import compile_tree

    return compile_tree(parse(expression))


def evaluate(expression: Expression, scope: Scope, *, limits: Limits = LIMITS) -> Json:
    """Return the value of an expression; a template gives text unless it is one expression."""
    program = _program(expression)
    return _outcome(program, Run(scope, limits, program.find))


def evaluate_metered(
    expression: Expression, scope: Scope, fuel: int
) -> tuple[Json | LanguageError, int]:
    """Return the value or the error, and the steps that were used of those that are left."""
    limits = replace(LIMITS, fuel=max(0, min(fuel, LIMITS.fuel)))
    try:
        program = _program(expression)
    except LanguageError as error:
        return error, 1
    run = Run(scope, limits, program.find)
    try:
        value: Json | LanguageError = _outcome(program, run)
    except LanguageError as error:
        value = error
    return value, 1 + limits.fuel - max(0, run.fuel)


def render(expression: Expression, scope: Scope, *, limits: Limits = LIMITS) -> str:
    program = _program(expression)
    text = _outcome(program, Run(scope, limits, program.find), as_text=True)
    assert isinstance(text, str)
    return text


def _outcome(program: Program, run: Run, *, as_text: bool = False) -> Json:
    try:
        if program.value is None:
            out: list[str] = []
            program.body(run, out)
            return "".join(out)
        run.spend(program.weight)
        value = program.value(run)
        if as_text:
            return program.semantics.text(run, value)
        if program.is_borrowed:
            return None if value is UNDEFINED else value  # type: ignore[return-value]
        return program.semantics.result(value, run.limits)
    except LanguageError as error:
        raise error.at(program.offset) from None
    except (RecursionError, MemoryError):
        raise LimitExceeded("expression needs too much memory or is nested too deeply") from None
    finally:
        if run.meter is not None:
            run.meter.fuel += run.limits.fuel - run.fuel


def truth(expression: Expression, scope: Scope) -> bool:
    """Tell whether the value counts as true; the texts `false`, `no`, `0` of a template do not."""
    value: Value = evaluate(expression, scope)
    if isinstance(value, str) and expression.syntax != "jinja":
        return value.strip().lower() not in _FALSE_TEXTS
    return bool(value)


@_cached
def free_names(expression: Expression) -> tuple[NameUse, ...]:
    """Return the uses of names that the expression expects its scope to know."""
    from whorl.language.tree import free_names_of

    # What cannot be compiled has no names.
    _program(expression)
    return free_names_of(parse(expression))


@_cached
def is_light(expression: Expression) -> bool:
    """Tell whether an expression is cheap if the values that it reads are small."""
    from whorl.language import tree

    try:
        return tree.is_light(parse(expression))
    except LanguageError:
        return True


def path_in(expression: Expression) -> tuple[str, Path] | None:
    """Return the name and the keys of an expression that only reads them, such as `a.b[0]`.

    One that does not parse has none.
    """
    from whorl.language.tree import whole_path_of

    try:
        value = parse(expression).value
    except LanguageError:
        return None
    path = None if value is None else whole_path_of(value)
    return None if path is None else (path[0].name, path[1])


def functions(library: str = "") -> tuple[FunctionEntry, ...]:
    """Return all functions that an expression with this library may use, for documentation."""
    from whorl.language.core import entries

    return entries(library)


# These take time to make, and only what parses and compiles needs them.
_LAZY = {"NameUse": "tree", "Library": "libraries", "Semantics": "libraries", "pattern": "patterns"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from whorl.plugins import load_reference

    return load_reference(f"{__name__}.{_LAZY[name]}:{name}")
