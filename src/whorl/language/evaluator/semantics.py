"""What differs between syntaxes when the same tree is evaluated: access and printing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.language.access import item_of, member_of
from whorl.language.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.values import Value


@dataclass(frozen=True, slots=True)
class Semantics:
    """How members and items are read, and how values become text."""

    member: Callable[[Value, str], Value]
    item: Callable[[Value, Value], Value]
    text: Callable[[Run, Value], str]


FORGIVING = Semantics(member_of, item_of, Run.text)

SEMANTICS: dict[str, Semantics] = {
    "jinja": FORGIVING,
    "template": FORGIVING,
    "plain": FORGIVING,
}
