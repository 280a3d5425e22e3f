"""What the compilation of a tree knows besides the node at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from whorl.language.run import Run
from whorl.language.values import Value

if TYPE_CHECKING:
    from whorl.language.libraries import Semantics

Evaluate: TypeAlias = Callable[[Run], Value]


@dataclass(frozen=True, slots=True)
class Context:
    """The rules of the syntax, and the names that the template itself may bind."""

    semantics: Semantics
    bound: frozenset[str]
