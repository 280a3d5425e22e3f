"""Where the result of an action is read, from where an expression stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.writing.scope import Said, value_kind
from whorl.ir.walk import blocks_of
from whorl.language.printing import CannotSay
from whorl.language.printing.jinja import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

_LAST = re.compile(r'(?:last_of|each_last)\(it, "((?:[^"\\]|\\.)*)"')
_HTTP = {
    "statuscode": ("status", "integer"),
    "headers": ("headers", "object"),
    "body": ("body", "any"),
}


@dataclass(frozen=True, slots=True)
class Held:
    """An action, the actions that it stands in, and those of its block."""

    node: ir.Node
    around: tuple[ir.Node, ...]
    block: ir.Block


@dataclass(slots=True)
class Actions:
    """All actions of a definition, by name in lower case."""

    held: dict[str, Held] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)

    def add(self, block: ir.Block, around: tuple[ir.Node, ...] = ()) -> None:
        """Remembers the actions of a block, and of those in it."""
        for node in block.nodes:
            lowered = node.name.lower()
            if lowered in self.held:
                self.twice.add(lowered)
            self.held[lowered] = Held(node, around, block)
            for _, inner in blocks_of(node):
                self.add(inner, (*around, node))

    def find(self, name: str) -> Held:
        """An action by its name; raises CannotSay."""
        found = self.held.get(name.lower())
        if found is None or name.lower() in self.twice:
            raise CannotSay(f"the action {name!r}", "no single action has this name")
        return found


def waited_for(block: ir.Block, name: str) -> set[str]:
    """The actions of a block that have succeeded whenever this one runs."""
    nodes = {node.name: node for node in block.nodes}
    found: set[str] = set()
    queue = [name]
    for one in queue:
        for after in nodes[one].after if one in nodes else ():
            if after.statuses == ("succeeded",) and after.node not in found:
                found.add(after.node)
                queue.append(after.node)
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands: in which action, and whether it is the condition of that loop."""

    around: tuple[ir.Node, ...] = ()
    node: ir.Node | None = None
    block: ir.Block | None = None
    condition: bool = False

    def path_to(self, held: Held) -> tuple[str, bool]:
        """How the result of an action is read, and whether it is certain to be there."""
        inside = (
            self.around if self.node is None or not self.condition else (*self.around, self.node)
        )
        shared = 0
        while shared < min(len(inside), len(held.around)) and inside[shared] is held.around[shared]:
            shared += 1
        deeper = held.around[shared:]
        if deeper:
            return self._inner(held, deeper)
        return self._beside(held, inside, shared)

    def is_set(self, variable: str, actions: Actions) -> bool:
        """Whether a variable is certain to have been set when the action here runs."""
        for node in (*self.around, *(() if self.node is None else (self.node,))):
            block = actions.held[node.name.lower()].block
            before = waited_for(block, node.name)
            if any(one.name in before and _sets(one, variable) for one in block.nodes):
                return True
        return False

    def _inner(self, held: Held, deeper: tuple[ir.Node, ...]) -> tuple[str, bool]:
        """An action that stands in others: a loop gives the results of its last iteration."""
        names: list[str] = []
        is_sure = self._has_run(deeper[0], held.around[: -len(deeper)])
        for node in deeper:
            if isinstance(node, ir.Loop | ir.Group):
                names.append(node.name)
                is_sure = is_sure and (isinstance(node, ir.Group) or node.check == "between")
            elif isinstance(node, ir.Branch) and not names:
                # The steps of a branch are seen around it.
                is_sure = False
            else:
                raise CannotSay(
                    f"the action {held.node.name!r}", "its result is not seen from here"
                )
        return ".".join([*names, held.node.name]), is_sure

    def _beside(self, held: Held, inside: tuple[ir.Node, ...], shared: int) -> tuple[str, bool]:
        """An action of this block, or of one around it."""
        owner = inside[shared - 1] if shared else None
        own = inside[shared] if shared < len(inside) else self.node
        if self.condition and owner is self.node:
            assert isinstance(owner, ir.Loop)
            if owner.check == "before":
                return f"previous.{held.node.name}", False
            return held.node.name, True
        if own is None:
            return held.node.name, False
        if held.node.name in waited_for(held.block, own.name):
            return held.node.name, True
        raise CannotSay(
            f"the action {held.node.name!r}", "its result is read before it is sure to have run"
        )

    def _has_run(self, node: ir.Node, around: tuple[ir.Node, ...]) -> bool:
        if self.block is None or around != self.around or self.node is None:
            return False
        return node.name in waited_for(self.block, self.node.name)


def _sets(node: ir.Node, variable: str) -> bool:
    if not isinstance(node, ir.Assign) or node.operation != "set":
        return False
    return any(name.lower() == variable for name, _ in node.sets)


def body_of(held: Held, path: str, is_sure: bool, kind: Callable[[ir.Expression], str]) -> Said:
    """The body of what an action gives; raises CannotSay."""
    node = held.node
    match node:
        case ir.Compute(shape=None):
            said = outputs_of(held, path, is_sure, kind)
            if value_kind(node.value, kind) in ("text", "integer", "number", "boolean", "list"):
                return said
        case ir.Task(kind="use"):
            return Said(path)
        case ir.Task(kind="http"):
            return Said(f"{path}.body")
        case ir.Loop() | ir.ForEach():
            return _last_of(node, path)
    raise CannotSay(f"the body of {node.name!r}", "other formats give it another form")


def _last_of(node: ir.Loop | ir.ForEach, path: str) -> Said:
    """The result of the last action: of the last iteration, or for each item."""
    body = dict(node.shape.entries).get("body") if isinstance(node.shape, ir.Fields) else None
    found = _LAST.search(body.source) if isinstance(body, ir.Expression) else None
    last = next((one for one in node.body.nodes if found and one.name == found[1]), None)
    is_bare = isinstance(last, ir.Compute) and last.shape is None
    if last is None or not (is_bare or (isinstance(last, ir.Task) and last.kind == "use")):
        raise CannotSay(f"the body of {node.name!r}", "other formats give it another form")
    if isinstance(node, ir.Loop):
        return Said(f"{path}.{last.name}")
    return Said(f"({path} | map(attribute={quoted(last.name)}) | list)", "list")


def outputs_of(held: Held, path: str, is_sure: bool, kind: Callable[[ir.Expression], str]) -> Said:
    """What an action gives; raises CannotSay."""
    node = held.node
    if isinstance(node, ir.Compute) and node.shape is None:
        said = Said(path, value_kind(node.value, kind))
        return said if is_sure else replace(said, kind="any")
    raise CannotSay(f"the outputs of {node.name!r}", "other formats give them another form")


def part_of(held: Held, path: str, is_sure: bool, part: str) -> Said | None:
    """A part of what an action gives, where it has a name elsewhere."""
    node, lowered = held.node, part.lower()
    if isinstance(node, ir.Task) and node.kind == "http" and lowered in _HTTP:
        name, kind = _HTTP[lowered]
        return Said(f"{path}.{name}", kind if is_sure else "any")
    if isinstance(node, ir.Loop) and lowered == "iterations":
        return Said(f"{path}.loop.iterations", "integer" if is_sure else "any")
    if isinstance(node, ir.Loop) and lowered == "exitreason":
        return Said(f"{path}.loop.exit_reason", "text" if is_sure else "any")
    return None
