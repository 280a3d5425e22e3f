"""What the functions of a dialect mean in plain Jinja, for writers of other dialects.

Readers put functions of their dialect's library into expressions. A table of a dialect says, for
those that have one, the expression of the core library that gives the same value; a function
without an entry cannot be said anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from whorl.language import tree
from whorl.plugins import load_reference

if TYPE_CHECKING:
    from whorl import ir


@dataclass(frozen=True, slots=True)
class About:
    """What is known around an expression: all workflows by key, and the node whose shape it is."""

    workflows: Mapping[str, ir.Workflow]
    node: ir.Node | None = None


# What a call of a function is elsewhere; its arguments are said already. May raise CannotSay.
Meaning: TypeAlias = Callable[[tree.Apply, About], tree.Expr]

_BUILT_IN: Mapping[str, str] = {}


def meanings(library: str) -> Mapping[str, Meaning]:
    """The meanings of a library's functions, by name."""
    reference = _BUILT_IN.get(library)
    return {} if reference is None else cast("Mapping[str, Meaning]", load_reference(reference))


def with_meanings(library: str, about: About) -> Callable[[tree.Expr], tree.Expr]:
    """Puts plain Jinja in the place of what a library means by its functions."""
    known = meanings(library)

    def change(node: tree.Expr) -> tree.Expr:
        if isinstance(node, tree.Apply) and node.function.name in known:
            return known[node.function.name](node, about)
        return node

    return change
