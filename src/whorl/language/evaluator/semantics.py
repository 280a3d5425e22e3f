"""What differs between syntaxes when the same tree is evaluated: access, printing, results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.language.access import item_of, member_of
from whorl.language.run import Run
from whorl.language.values import to_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language.values import Json, Limits, Value


@dataclass(frozen=True, slots=True)
class Semantics:
    """How members and items are read, and how values become text and results.

    `forgiving_item` reads an item that may be missing; `pay` charges for what a function is given
    and gives; `names` are computed instead of looked up.
    """

    member: Callable[[Value, str], Value]
    item: Callable[[Value, Value], Value]
    text: Callable[[Run, Value], str]
    forgiving_item: Callable[[Value, Value], Value] = item_of
    pay: Callable[[Run, Value], Value] = Run.pay
    result: Callable[[Value, Limits], Json] = to_result
    names: Mapping[str, Callable[[Run], Value]] = field(default_factory=dict)


FORGIVING = Semantics(member_of, item_of, Run.text)


def _logic(*, lenient: bool = False) -> Semantics:
    from whorl.language.functions.logic.access import forgiving_item, strict_item
    from whorl.language.functions.logic.printing import pay, print_text, to_plain_json

    item = forgiving_item if lenient else strict_item
    return Semantics(item, item, print_text, forgiving_item, pay, to_plain_json)


# What a syntax alone needs is imported when its first source is compiled.
SEMANTICS: dict[str, Callable[[], Semantics]] = {
    "jinja": lambda: FORGIVING,
    "template": lambda: FORGIVING,
    "plain": lambda: FORGIVING,
    "logic": _logic,
    "logic-lenient": lambda: _logic(lenient=True),
}


def _orka() -> Semantics:
    from whorl.language.functions.orka.outputs import item, member, previous_outputs, printed

    names = {"previous_outputs": previous_outputs}
    return Semantics(member, item, printed, forgiving_item=item, names=names)


# A library may have its own way to read and print values, whatever the syntax.
OF_LIBRARIES: dict[str, Callable[[], Semantics]] = {"orka": _orka}


def semantics_of(syntax: str, library: str) -> Semantics:
    """The rules for sources of a syntax that use a library."""
    return (OF_LIBRARIES.get(library) or SEMANTICS[syntax])()
