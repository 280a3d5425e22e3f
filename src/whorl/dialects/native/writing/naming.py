"""Names that native files can spell: each name of a workflow as it is, or another one for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.names import NAME_MAX, RESERVED
from whorl.dialects.writing import Spot
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from whorl.dialects.writing import Ledger

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DASHED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_OTHER = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(slots=True)
class Naming:
    """The names of one workflow that are called otherwise in the file."""

    others: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """What a name of the workflow is called in the file."""
        return self.others.get(name, name)


def find_names(workflow: ir.Workflow, ledger: Ledger, key: str) -> Naming:
    """Gives another name to whatever native files cannot call by its own; that is a loss."""
    naming = Naming()
    steps = {node.name: path for path, node in walk(workflow.body)}
    inputs = dict.fromkeys((port.name for port in workflow.inputs), "")
    inner = dict.fromkeys(_inner_names(workflow), "")
    taken = {*steps, *inputs, *inner}
    for name, path in (inner | inputs | steps).items():
        if is_name(name, PLAIN if name in inner or name in inputs else _DASHED):
            continue
        naming.others[name] = _free(name, taken)
        taken.add(naming.others[name])
        # Nobody outside sees what a file calls its own values, nor the inputs of called files.
        if name in steps or (name in inputs and not key):
            what = f"the name {name!r}"
            why = f"native names are words of their own; it is {naming.others[name]!r} there"
            ledger.lose(Spot(path, key=key), what, why)
    return naming


def _inner_names(workflow: ir.Workflow) -> list[str]:
    """The names that expressions read and that are neither steps nor inputs."""
    found = [name for name, _ in workflow.variables]
    for _, node in walk(workflow.body):
        if isinstance(node, ir.Loop):
            found += [carry.name for carry in node.carry]
        elif isinstance(node, ir.ForEach):
            found += [name for name in (node.item_name, node.index_name) if name]
        elif isinstance(node, ir.Assign):
            found += [name for name, _ in node.sets]
    return found


def is_name(name: str, pattern: re.Pattern[str] = _DASHED) -> bool:
    """Whether the format can spell a name, and means nothing else by it."""
    return bool(pattern.fullmatch(name)) and name not in RESERVED and len(name) <= NAME_MAX


def word_for(name: str) -> str:
    """A name that looks like another one and can be spelt."""
    word = _OTHER.sub("_", name).strip("_")[:60] or "step"
    return f"my_{word}" if word[0].isdecimal() or word in RESERVED else word


def _free(name: str, taken: set[str]) -> str:
    word = word_for(name)
    found, number = word, 2
    while found in taken or found in RESERVED:
        found, number = f"{word}_{number}", number + 1
    return found
