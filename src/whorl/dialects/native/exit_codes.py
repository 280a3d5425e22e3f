"""Commands whose exit code the file reads: such a command does not fail by it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.names import RESULTS
from whorl.ir.checks.scopes import uses_in
from whorl.ir.walk import blocks_of, names_given, walk, with_nodes
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.scopes import View
    from whorl.ir.expressions import Names
    from whorl.language.names import NameUse, Path

_CODE = "exit_code"
# The facts of a loop that are results of an iteration, or a list of them.
_ITERATIONS = ("previous", "best", "history")


def let_read_codes_pass(workflow: ir.Workflow, names: Names) -> ir.Workflow:
    """The workflow with `check: false` at each command whose exit code an expression reads."""
    if not any(_decides(node) for _, node in walk(workflow.body)):
        return workflow
    read = {id(node) for node in _read_commands(workflow, names)}

    def change(node: ir.Node) -> ir.Node:
        if id(node) not in read:
            return node
        assert isinstance(node, ir.Task)
        check = ("check", ir.Constant(False))
        return replace(node, inputs=ir.Fields((*node.inputs.entries, check)))

    return replace(workflow, body=with_nodes(workflow.body, change)) if read else workflow


def _decides(node: ir.Node) -> bool:
    """Whether a node is a command whose author leaves it to the file what its code means."""
    return (
        isinstance(node, ir.Task)
        and node.kind == "run"
        and "check" not in dict(node.inputs.entries)
    )


def _read_commands(workflow: ir.Workflow, names: Names) -> Iterator[ir.Node]:
    for use in uses_in(workflow):
        try:
            found = names.uses(use.expression)
        except LanguageError:
            continue
        for name in found:
            node = _command(use.view, name) if _CODE in name.path else None
            if node is not None and _decides(node):
                yield node


def _command(view: View, use: NameUse) -> ir.Node | None:
    """The node whose exit code a name and its path read, if they do."""
    name, path = use.name, use.path
    if name == RESULTS:
        name, path = str(path[0]), path[1:]
    node = view.origin(name)
    if isinstance(node, ir.Loop) and name != node.name:
        fact = dict(node.facts).get(name)
        if fact not in _ITERATIONS:
            return None
        path = path[1:] if fact == "history" else path
    return _inside(node, path)


def _inside(node: ir.Node | None, path: Path) -> ir.Node | None:
    """The node inside of another one's result whose exit code a path reads."""
    while node is not None and path != (_CODE,):
        if isinstance(node, ir.ForEach):
            path = path[1:]
        given = {name: inner for _, block in blocks_of(node) for name, inner in names_given(block)}
        node, path = (given.get(str(path[0])), path[1:]) if path else (None, ())
    return node
