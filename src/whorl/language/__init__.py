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
    from whorl.language.libraries import Library, Semantics
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


# These classes take time to make, and only what parses and compiles needs them.
_LAZY = {"Tree": "tree", "NameUse": "names", "Library": "libraries", "Semantics": "libraries"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from whorl.plugins import load_reference

    return load_reference(f"{__name__}.{_LAZY[name]}:{name}")
