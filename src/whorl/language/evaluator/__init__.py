"""A tree compiled: how to get its value, its text and its free names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from whorl.language.evaluator.expressions import Context, Evaluate, compile_expression
from whorl.language.evaluator.statements import Execute, compile_body
from whorl.language.libraries import semantics_of
from whorl.language.names import free_names_of, is_borrowed
from whorl.language.tree import weight_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.entry import FunctionEntry, Kind
    from whorl.language.libraries import Semantics
    from whorl.language.names import NameUse
    from whorl.language.run import FindFunction
    from whorl.language.tree import Tree


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression or template; `value` is None unless it is one expression."""

    value: Evaluate | None
    body: Execute
    offset: int
    weight: int
    is_borrowed: bool
    find: FindFunction
    semantics: Semantics
    free_names: Callable[[], tuple[NameUse, ...]]


def compile_tree(tree: Tree) -> Program:
    """Turn a tree into closures."""
    context = Context(semantics_of(tree.syntax, tree.library), tree.bound)
    value = None if tree.value is None else compile_expression(tree.value, context)
    return Program(
        value,
        compile_body(tree.body, context),
        0 if tree.value is None else tree.value.offset,
        0 if tree.value is None else weight_of(tree.value),
        tree.value is not None and is_borrowed(tree.value),
        partial(_find, tree.library),
        context.semantics,
        lru_cache(maxsize=1)(partial(free_names_of, tree)),
    )


def _find(library: str, kind: Kind, name: str) -> FunctionEntry:
    # The functions are imported when an expression first looks one up by name.
    from whorl.language.core import find

    return find(library, kind, name)
