"""Whole workflows: their steps in order, what goes in, and what comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.block import CONCURRENCY
from whorl.dialects.shodan.sources import expression, given, output
from whorl.dialects.shodan.writing.adopting.loops import adopt_loop
from whorl.dialects.shodan.writing.adopting.scope import Here, Path, Ref, path_of
from whorl.dialects.shodan.writing.adopting.work import adopt_compute, adopt_task, held
from whorl.dialects.writing import Spot
from whorl.ir.expressions import expressions_in, inner_values, outer_values
from whorl.ir.walk import walk
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay
from whorl.language.printing.rebuilding import rebuild

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.writing import Ledger

_SAID = ("name", "description", "body", "inputs", "main_input", "outputs", "defaults", "workflows")
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
# What a typed port of the dialect takes for what other files declare.
_PORTS = {"integer": "number", "list": "json"}
_SHARED = ("name", "after", "place")


def adopt(ledger: Ledger, workflow: ir.Workflow) -> ir.Workflow:
    """The workflow as if it were of this dialect; what it says beside that is lost."""
    called = tuple((key, _adopt(ledger, one, workflow, key)) for key, one in workflow.workflows)
    return replace(_adopt(ledger, workflow, workflow), workflows=called)


def _adopt(
    ledger: Ledger, workflow: ir.Workflow, outermost: ir.Workflow, key: str = ""
) -> ir.Workflow:
    here = Here(ledger, _inputs(workflow), set(_reads(workflow)), Spot(key=key))
    here.lose_unsaid(workflow, _SAID)
    here.lose_unsaid(workflow.limits, ())
    adopter = _Adopter(workflow, dict(outermost.workflows))
    body, found = adopter.block(here, workflow.body)
    outputs: list[tuple[str, ir.Value]] = []
    nodes = list(body.nodes)
    end = here.knowing(found)
    for name, value in workflow.outputs:
        try:
            outputs.append((name, _output(end, name, value, nodes)))
        except CannotSay as loss:
            end.lose(f"the output {name!r}: {loss.what}", loss.why)
    return ir.Workflow(
        name=workflow.name,
        description=workflow.description,
        body=replace(body, nodes=tuple(nodes)),
        inputs=tuple(_port(here, port) for port in workflow.inputs),
        main_input=workflow.main_input,
        outputs=tuple(outputs),
        dialect="shodan",
    )


def _inputs(workflow: ir.Workflow) -> dict[Path, Ref]:
    found: dict[Path, Ref] = {}
    for port in workflow.inputs:
        is_there = port.required or port.default is not None
        found[port.name,] = Ref(
            given(port.name), _TYPES.get(port.type, "any") if is_there else "any"
        )
    return found


def _port(here: Here, port: ir.Port) -> ir.Port:
    if port.type in _PORTS:
        here.lose(f"the type {port.type!r} of the input {port.name!r}", "there is no such type")
    here.lose_unsaid(port, ("name", "type", "required", "default", "description"))
    return replace(port, type=_PORTS.get(port.type, port.type), aliases=())  # type: ignore[arg-type]


def _reads(workflow: ir.Workflow) -> Iterator[Path]:
    """All that is read by its name, or as a part of what has that name."""
    values = [value for _, value in workflow.outputs]
    for _, node in walk(workflow.body):
        values += [value for value in outer_values(node) if value is not None]
        if isinstance(node, ir.Loop):
            values += [value for value in inner_values(node) if value is not None]
    found: list[Path] = []

    def note(node: tree.Expr) -> tree.Expr:
        path = path_of(node)
        if path is not None:
            found.append(path)
        return node

    for value in values:
        for one in expressions_in(value):
            try:
                rebuild(parse(one), note)
            except LanguageError:
                continue
    yield from found


def _output(here: Here, name: str, value: ir.Value, nodes: list[ir.Node]) -> ir.Expression:
    """What reads an output; one that is no output of a node gets a node that holds it."""
    try:
        return expression(here.ref(value).source)
    except CannotSay:
        wanted = f"{name}_output"
        while any(node.name == wanted for node in nodes):
            wanted += "_"
        here.used.clear()
        fields, ref = held(here, wanted, value)
    names = [node.name for node in nodes if node.name in here.used]
    nodes.append(ir.Compute(name=wanted, value=fields, after=tuple(map(ir.After, names))))
    return expression(ref.source)


class _Adopter:
    """Adopts the blocks of one workflow."""

    def __init__(self, workflow: ir.Workflow, workflows: dict[str, ir.Workflow]) -> None:
        self._workflows = workflows
        self._defaults = {
            kind: {str(key): value for key, value in fields.entries}
            for kind, fields in workflow.defaults
        }

    def block(self, here: Here, block: ir.Block) -> tuple[ir.Block, dict[Path, Ref]]:
        """The steps of a block that can be said, and what reads their results."""
        here.lose_unsaid(block, ("nodes",))
        if len(block.nodes) > CONCURRENCY and not _is_chain(block):
            here.lose(f"more than {CONCURRENCY} steps at once", "no more run at once there")
        found: dict[Path, Ref] = {}
        nodes: list[ir.Node] = []
        for node in block.nodes:
            at = here.at(node).knowing(found)
            try:
                adopted, refs = self._node(at, node)
            except CannotSay as loss:
                at.lose(loss.what, loss.why)
                continue
            found |= refs
            here.used |= at.used
            nodes.extend(_behind(at, node, adopted, nodes))
        return ir.Block(tuple(nodes), concurrency=CONCURRENCY), found

    def _node(self, here: Here, node: ir.Node) -> tuple[list[ir.Node], dict[Path, Ref]]:
        match node:
            case ir.Task():
                return adopt_task(here, node, self._defaults)
            case ir.Compute():
                return adopt_compute(here, node)
            case ir.Loop():
                return adopt_loop(here, node, self.block)
            case ir.Call():
                return self._call(here, node)
        kind = type(node).__name__.lower()
        raise CannotSay(f"a step of kind {kind!r}", "there is no node of that kind; it is left out")

    def _call(self, here: Here, node: ir.Call) -> tuple[list[ir.Node], dict[Path, Ref]]:
        here.lose_unsaid(node, (*_SHARED, "workflow", "inputs", "unnamed"))
        entries: list[tuple[str | ir.Expression, ir.Value]] = []
        for key, value in node.inputs.entries:
            entries.append((str(key), expression(here.ref(value).source)))
        call = ir.Call(
            name=node.name,
            place=node.place,
            workflow=node.workflow,
            inputs=ir.Fields(tuple(entries)),
        )
        called = self._workflows.get(node.workflow)
        names = [name for name, _ in called.outputs] if called is not None else []
        return [call], {(node.name, name): Ref(output(node.name, name)) for name in names}


def _behind(
    here: Here, node: ir.Node, adopted: list[ir.Node], before: list[ir.Node]
) -> list[ir.Node]:
    """The nodes behind all that the step waits for, and all that it reads."""
    if any(one.statuses != ("passed",) for one in node.after):
        here.lose("a step that runs after a failure", "a node runs after what has succeeded")
    names = {one.node for one in node.after} | here.used
    after = tuple(ir.After(one.name) for one in before if one.name in names)
    return [replace(one, after=after) for one in adopted]


def _is_chain(block: ir.Block) -> bool:
    pairs = zip(block.nodes, block.nodes[1:], strict=False)
    return all(ir.After(before.name) in node.after for before, node in pairs)
