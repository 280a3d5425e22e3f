"""The calls of functions that the reader put into expressions, taken apart again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.language import LanguageError, parse, tree

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Called:
    """A function and what it is given: names as trees, all else as plain values."""

    function: str = ""
    arguments: tuple[Any, ...] = ()


def called(value: object) -> Called:
    """The call that an expression is; one without a name if it is none."""
    if not isinstance(value, ir.Expression) or value.syntax != "jinja":
        return Called()
    try:
        found = parse(value).value
    except LanguageError:
        return Called()
    if not isinstance(found, tree.Apply) or found.function.kind != "function":
        return Called()
    return Called(found.function.name, tuple(map(plain, _given(found))))


def _given(found: tree.Apply) -> Sequence[tree.Expr]:
    return (*found.arguments, *found.extra)


def plain(node: tree.Expr) -> Any:
    """The value that a literal stands for; a tree that is none stays one."""
    match node:
        case tree.Literal():
            return node.value
        case tree.Unary(operator="-", operand=tree.Literal(value=int() | float() as number)):
            return -number
        case tree.ListDisplay():
            return [plain(item) for item in node.items]
        case tree.ObjectDisplay():
            return {plain(key): plain(value) for key, value in node.pairs}
        case _:
            return node
