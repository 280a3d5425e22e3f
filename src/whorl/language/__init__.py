"""Expressions and templates: several syntaxes, one tree, one bounded evaluator over JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.entry import FunctionEntry
from whorl.language.expression import (
    Expression,
    evaluate,
    evaluate_metered,
    free_names,
    functions,
    parse,
    path_in,
    render,
    truth,
)
from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.libraries import Library, Semantics
from whorl.language.patterns import Match, Pattern, pattern
from whorl.language.values import (
    LIMITS,
    UNDEFINED,
    Json,
    Limits,
    MappingScope,
    Scope,
    Undefined,
    to_text,
)

if TYPE_CHECKING:
    from whorl.language.names import NameUse
    from whorl.language.tree import Tree

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
    "Match",
    "NameUse",
    "Pattern",
    "Scope",
    "Semantics",
    "Tree",
    "Undefined",
    "evaluate",
    "evaluate_metered",
    "free_names",
    "functions",
    "parse",
    "path_in",
    "pattern",
    "render",
    "to_text",
    "truth",
]


def __getattr__(name: str) -> type[Tree | NameUse]:
    # The tree's classes take time to make; only what parses needs them.
    if name == "Tree":
        from whorl.language.tree import Tree

        return Tree
    if name == "NameUse":
        from whorl.language.names import NameUse

        return NameUse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
