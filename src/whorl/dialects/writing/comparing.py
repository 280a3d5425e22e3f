"""Two readings of a workflow: where they differ, for a writer that looks at what it has written."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.writing.losses import Spot
from whorl.dialects.writing.unsaid import WORDS_ONLY
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.writing.losses import Ledger

_LEFT_OUT = WORDS_ONLY | {"tells_after", "workflows", "name"}
_TOP = ("inputs", "main_input", "outputs", "variables", "limits", "defaults", "open_inputs")
_WHY = "what is written down is read in another way"


def lose_differences(
    ledger: Ledger, before: ir.Workflow, after: ir.Workflow, *, key: str = ""
) -> None:
    """Lists as losses all that another reading of a workflow makes of it otherwise."""
    for spot, what in differences(before, after):
        ledger.lose(Spot(spot.path, spot.place, key), what, _WHY)


def differences(before: ir.Workflow, after: ir.Workflow) -> Iterator[tuple[Spot, str]]:
    """The nodes and the fields that differ, words for people aside."""
    for name in _TOP:
        if _plain(getattr(before, name)) != _plain(getattr(after, name)):
            yield Spot(), f"{name!r} of the workflow"
    ours, theirs = dict(walk(before.body)), dict(walk(after.body))
    for path, node in ours.items():
        other = theirs.get(path)
        spot = Spot(path, node.place)
        if other is None:
            yield spot, "a node that is there no more"
        elif type(other) is not type(node):
            yield spot, f"a {type(node).__name__.lower()}"
        else:
            for name in _different(node, other):
                yield spot, f"{name!r} of a {type(node).__name__.lower()}"
    for path in theirs.keys() - ours.keys():
        yield Spot(path), "a node that was not there before"


def _different(node: Any, other: Any) -> Iterator[str]:
    for field in fields(node):
        if field.name in _LEFT_OUT:
            continue
        ours, theirs = getattr(node, field.name), getattr(other, field.name)
        if field.name == "after":
            ours, theirs = (tuple(sorted(one, key=repr)) for one in (ours, theirs))
        if _plain(ours) != _plain(theirs):
            yield field.name


def _plain(part: Any) -> Any:
    """A part of the IR without words and without the nodes inside, which are compared by path."""
    if isinstance(part, tuple):
        return tuple(_plain(item) for item in part)
    if isinstance(part, ir.Constant):
        # Numbers of JSON are told apart by their kind, too.
        return ("Constant", repr(part.value))
    if isinstance(part, ir.Block):
        return (part.open, part.concurrency, part.on_failure, _order(part))
    if not is_dataclass(part) or isinstance(part, type):
        return part
    kept = [field.name for field in fields(part) if field.name not in WORDS_ONLY]
    return (type(part).__name__, *((name, _plain(getattr(part, name))) for name in kept))


def _order(block: ir.Block) -> tuple[str, ...]:
    return tuple(sorted(node.name for node in block.nodes))
