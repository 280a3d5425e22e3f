"""Which records tell nothing: what a step is given or gives that comes of something secure.

A secure step says so itself. What is computed of it stands in no journal, and records do not tell
it either, nor inputs that quote it. What a task is given is journaled, unless it is secure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.interpreter.plan import inner_key
from whorl.ir import Assign, Call, Compute, ForEach, Loop, Task
from whorl.ir.expressions import expressions_in, inner_values, outer_values
from whorl.ir.walk import blocks_of, is_hidden
from whorl.language import LanguageError, free_names
from whorl.providers.redaction import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.interpreter.plan import Plan
    from whorl.ir import Node, Value
    from whorl.services.records.record import Record

_NAME = re.compile(r"[.\[]")


class SecureParts:
    """What is hidden of the nodes of a plan, by their keys."""

    def __init__(self, plan: Plan) -> None:
        nodes = plan.nodes
        self.outputs = {key for key, node in nodes.items() if is_hidden(node, plan.workflows)}
        self.inputs = {k for k, node in nodes.items() if isinstance(node, Task) and node.secure}
        self.names = {nodes[key].name.casefold() for key in self.outputs}
        if self.outputs:
            self._follow(plan)
        self.inputs |= self.outputs

    def hide(self, record: Record) -> None:
        """Takes out of a record what it must not tell."""
        computes = record.kind in ("compute", "assign")
        names = record.inputs if computes and isinstance(record.inputs, dict) else ()
        if any(_NAME.split(name)[0].casefold() in self.names for name in names):
            # Some of them only its functions have looked up.
            self.names.add(record.name.casefold())
            self.inputs.add(record.node)
            self.outputs.add(record.node)
        if record.node in self.inputs and record.inputs is not None:
            record.inputs = HIDDEN
        if record.kind not in ("item", "iteration"):
            if record.node in self.outputs and record.output is not None:
                record.output = HIDDEN
        elif isinstance(record.output, dict):
            given = record.output.items()
            record.output = {n: HIDDEN if n.casefold() in self.names else v for n, v in given}

    def _follow(self, plan: Plan) -> None:
        """Adds all that is computed of what is hidden, directly or through others."""
        reads = {key: _reads(node, plan) for key, node in plan.nodes.items()}
        holders, count = _holders(plan), -1
        while count != len(self.names) + len(self.outputs):
            count = len(self.names) + len(self.outputs)
            for key in (key for key, names in reads.items() if names & self.names):
                node = plan.nodes[key]
                if not isinstance(node, Task):
                    self.inputs.add(key)
                if isinstance(node, Compute | Assign | Call):
                    self.outputs.add(key)
                self.names.update(name.casefold() for name in _gives(node))
            around = [holders[key] for key in self.outputs if key in holders]
            self.outputs.update(around)
            self.names.update(plan.nodes[key].name.casefold() for key in around)


def _holders(plan: Plan) -> dict[str, str]:
    """The key of the node that each node lies in, if it lies in one."""
    nodes = plan.nodes.items()
    owners = {inner_key(key, slot): key for key, node in nodes for slot, _ in blocks_of(node)}
    blocks = {key: key.removesuffix(node.name) for key, node in nodes}
    return {key: owners[block] for key, block in blocks.items() if block in owners}


def _gives(node: Node) -> Iterable[str]:
    """The names under which others see what a node makes of what it reads."""
    match node:
        case Compute() | Call():
            return (node.name,)
        case Assign():
            return (node.name, *(name for name, _ in node.sets))
        case ForEach():
            return (node.item_name, "$item", "$items")
        case Loop():
            return [carry.name for carry in node.carry]
        case _:
            return ()


def _reads(node: Node, plan: Plan) -> frozenset[str]:
    """The names that a node reads; of a call, also those that the outputs of the other one read."""
    values: list[Value | None] = [*outer_values(node)]
    if isinstance(node, Loop):
        values += inner_values(node)
    elif isinstance(node, Call) and node.workflow in plan.workflows:
        values += [value for _, value in plan.workflows[node.workflow].outputs]
    names: set[str] = set()
    for value in values:
        for expression in expressions_in(value):
            try:
                uses = free_names(expression)
            except LanguageError:
                continue
            for use in uses:
                names.add(use.name.casefold())
                # A table of the engine's own, and the name that is looked up in it.
                if use.name.startswith("$") and use.path:
                    names.add(str(use.path[0]).casefold())
    return frozenset(names)
