"""What the names of a workflow are in a definition: functions that read parameters and actions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.texts import quote
from whorl.ir.walk import blocks_of
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Kind = Callable[[ir.Expression], str]
    KindOf = Callable[[ir.Expression, "Scope"], str]

_KINDS = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
_HTTP = {"status": ("statusCode", "integer"), "headers": ("headers", "object"), "body": ("", "any")}


@dataclass(frozen=True, slots=True)
class Said:
    """A part of an expression, and the kind of its values: text, integer, number, boolean, list,
    object, null, or any where it is not known.
    """

    source: str
    kind: str = "any"
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The names at a place; `members` are parts of results that stand elsewhere there."""

    names: Mapping[str, Said] = field(default_factory=dict)
    members: Mapping[tuple[str, str], Said] = field(default_factory=dict)

    def name(self, name: str) -> Said:
        """What a name is; raises CannotSay."""
        found = self.names.get(name)
        if found is None:
            raise CannotSay(f"the name {name!r}", "a definition has nothing that is the same")
        return found

    def member(self, name: str, part: str) -> Said | None:
        """A part of what a name means, where it has a place of its own."""
        return self.members.get((name, part))

    def with_names(self, names: Mapping[str, Said]) -> Scope:
        """The same with more names."""
        return replace(self, names={**self.names, **names})

    def without(self, *names: str) -> Scope:
        """The same without some names."""
        kept = {name: said for name, said in self.names.items() if name not in names}
        parts = {key: said for key, said in self.members.items() if key[0] not in names}
        return Scope(kept, parts)

    def with_block(self, block: ir.Block, kind: KindOf) -> Scope:
        """The same with the results of the steps of a block."""
        names, members = dict(self.names), dict(self.members)
        for node in block.nodes:
            names.pop(node.name, None)
            around = Scope(names, members)
            found = _results(node, lambda one, around=around: kind(one, around))  # type: ignore[misc]
            if node.when is not None or node.on_failure != "halt":
                # It may give nothing.
                found = found.unsure()
            names |= found.names
            members |= found.members
        return Scope(names, members)

    def unsure(self) -> Scope:
        """The same where any value may be missing."""
        names = {name: replace(said, kind="any") for name, said in self.names.items()}
        return Scope(names, {key: replace(said, kind="any") for key, said in self.members.items()})


NO_SCOPE = Scope()


def inputs_scope(workflow: ir.Workflow) -> Scope:
    """The inputs of a workflow, and its variables."""
    names = {
        port.name: Said(f"parameters({quote(port.name)})", _port_kind(port))
        for port in workflow.inputs
    }
    return Scope(names)


def _port_kind(port: ir.Port) -> str:
    is_sure = port.required or port.default is not None
    return _KINDS.get(port.type, "any") if is_sure else "any"


def variables_in(block: ir.Block) -> dict[str, Said]:
    """The variables that steps set, anywhere in a block."""
    found: dict[str, Said] = {}
    for node in block.nodes:
        if isinstance(node, ir.Assign):
            found |= {name: Said(f"variables({quote(name)})") for name, _ in node.sets}
        for _, inner in blocks_of(node):
            found |= variables_in(inner)
    return found


def _results(node: ir.Node, kind: Kind) -> Scope:
    """The names that a step gives to those behind it."""
    read = quote(node.name)
    match node:
        case ir.Task(kind="ask"):
            found = Said(f"body({read})", "text" if node.returns is None else "any")
            return Scope({node.name: found})
        case ir.Task(kind="use"):
            return Scope({node.name: Said(f"body({read})")})
        case ir.Task(kind="http"):
            parts = {(node.name, part): _reply(read, *said) for part, said in _HTTP.items()}
            return Scope({}, parts)
        case ir.Compute():
            return Scope({node.name: Said(f"outputs({read})", value_kind(node.value, kind))})
        case ir.Loop() | ir.Group():
            return _inner(node, kind)
        case ir.Branch():
            return _branches(node, kind)
        case _:
            return NO_SCOPE


def _reply(read: str, theirs: str, kind: str) -> Said:
    return Said(f"outputs({read})?['{theirs}']" if theirs else f"body({read})", kind)


def _inner(node: ir.Loop | ir.Group, kind: Kind) -> Scope:
    """The results of the steps inside: those of the last iteration, where it is a loop."""
    members: dict[tuple[str, str], Said] = {}
    inner = NO_SCOPE.with_block(node.body, lambda one, _: kind(one))
    if isinstance(node, ir.Group) or node.returns == "last":
        # A loop that is checked before may never run.
        may_never_run = isinstance(node, ir.Loop) and node.check != "after"
        found = inner.unsure() if may_never_run else inner
        members = {(node.name, name): said for name, said in found.names.items()}
    if isinstance(node, ir.Loop):
        read = quote(node.name)
        members[node.name, "loop.iterations"] = Said(f"outputs({read})?['iterations']", "integer")
        members[node.name, "loop.exit_reason"] = Said(f"outputs({read})?['exitReason']", "text")
    return Scope({}, members)


def _branches(node: ir.Branch, kind: Kind) -> Scope:
    """What stands in a branch may not have run, so that nothing is sure of it."""
    found = NO_SCOPE
    for _, block in blocks_of(node):
        inner = NO_SCOPE.with_block(block, lambda one, _: kind(one)).unsure()
        found = Scope({**found.names, **inner.names}, {**found.members, **inner.members})
    return found


def value_kind(value: ir.Value, kind: Kind) -> str:
    """The kind of a value that is written down."""
    match value:
        case ir.Items():
            return "list"
        case ir.Fields():
            return "object"
        case ir.Expression():
            return kind(value)
        case ir.Constant(value=bool()):
            return "boolean"
        case ir.Constant(value=str()):
            return "text"
        case ir.Constant(value=int()):
            return "integer"
        case ir.Constant(value=list()):
            return "list"
        case ir.Constant(value=dict()):
            return "object"
        case _:
            return "any"
