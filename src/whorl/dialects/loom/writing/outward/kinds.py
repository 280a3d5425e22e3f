"""The kinds of values that variables have, as far as all that sets them tells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.writing.control import item_kind
from whorl.dialects.loom.writing.outward.results import Place
from whorl.dialects.loom.writing.scope import Said, value_kind

if TYPE_CHECKING:
    from whorl.dialects.loom.writing.outward.expressions import Outward


def kinds_of(outward: Outward) -> dict[str, str]:
    """The kinds of variables that are only ever set to values of one kind."""
    found: dict[str, set[str]] = {}
    kinds: dict[str, str] = {}
    counted = dict(outward.variables) | counts("iteration")
    # What is assumed of a variable's kind must hold wherever it is set.
    while True:
        found = {}
        for held in outward.actions.held.values():
            place = Place(held.around, held.node, held.block)
            each = [one for one in held.around if isinstance(one, ir.ForEach)]
            item = Said("item", item_kind(each[-1].items)) if each else None
            here = replace(outward, place=place, variables=counted, kinds=kinds, item=item)
            for name, value in held.node.sets if isinstance(held.node, ir.Assign) else ():
                is_set = isinstance(held.node, ir.Assign) and held.node.operation == "set"
                kind = value_kind(value, here.kind) if is_set else "any"
                found.setdefault(name.lower(), set()).add(kind)
        if not kinds:
            kinds = {name: _assumed(all_kinds) for name, all_kinds in found.items()}
            if not any(kinds.values()):
                return {}
            continue
        wrong = [name for name, kind in kinds.items() if kind and found[name] != {kind}]
        if not wrong:
            return {name: kind for name, kind in kinds.items() if kind}
        kinds |= dict.fromkeys(wrong, "")


def _assumed(kinds: set[str]) -> str:
    known = kinds - {"any"}
    return known.pop() if len(known) == 1 else ""


def counts(number: str) -> dict[str, Said]:
    """What variables() tells of the innermost loop; those further out have no names elsewhere."""
    return {
        "loopcount": Said(number, "integer"),
        "loopindex": Said(f"({number} - 1)", "integer"),
    }
