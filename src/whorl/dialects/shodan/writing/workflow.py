"""Whole files: the graph, what goes in and out of it, and the workflows that it holds as nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.shodan.writing.graph import INPUT, OUTPUT, Graph, Known
from whorl.dialects.shodan.writing.loops import SAID, write_each, write_loop
from whorl.dialects.shodan.writing.nodes import take_in, write_compute, write_task
from whorl.dialects.shodan.writing.parts import Arrived, Given, called, source_of, tree_of
from whorl.dialects.writing import Inline, Spot
from whorl.dialects.writing.writer import file_name
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.dialects.writing import Ledger

_SHARED = ("name", "after", "when", "on_failure", "place")
_TASK = ("kind", "inputs", "returns", "shape")
_TOP = ("name", "description", "body", "inputs", "main_input", "outputs", "variables", "workflows")


class Components:
    """The workflows that a file holds, by key, each with the name that it has there."""

    def __init__(self, workflows: Mapping[str, ir.Workflow]) -> None:
        self.workflows = workflows
        self.names: dict[str, str] = {}
        self.files: dict[str, str] = {}
        for key in workflows:
            stem = file_name(key.rpartition("#")[2].rpartition("/")[2].partition(".")[0])
            name, number = stem, 2
            while name in self.names.values():
                name, number = f"{stem}-{number}", number + 1
            self.names[key] = name


def write_file(ledger: Ledger, workflow: ir.Workflow, components: Components) -> dict[str, Any]:
    """A whole file as an object; files beside it are kept with the components."""
    header: dict[str, Any] = {"name": workflow.name}
    if workflow.description:
        header["description"] = workflow.description
    found: dict[str, Any] = {"version": 3, "metadata": header}
    if components.names:
        found["components"] = {
            name: _graph(ledger, components.workflows[key], components, key)
            for key, name in components.names.items()
        }
    return found | _graph(ledger, workflow, components)


def _graph(
    ledger: Ledger, workflow: ir.Workflow, components: Components, key: str = ""
) -> dict[str, Any]:
    names = {port.name: Known("input", port.name) for port in workflow.inputs}
    for name, value in workflow.variables:
        given = source_of(tree_of(value))
        assert isinstance(given, Given)
        names[name] = Known("input", given.name)
    graph = Graph(ledger, names, taken=[node.name for node in workflow.body.nodes])
    graph.ports = {port.name: _port(port) for port in workflow.inputs}
    graph.spot, graph.files = Spot(key=key), components.files
    graph.lose_unsaid(workflow, _TOP)
    _Weaver(components).write_block(graph, workflow.body)
    graph.spot = Spot(key=key)
    for name, value in workflow.outputs:
        try:
            source = source_of(tree_of(value))
            wanted = source.node if isinstance(source, Arrived) else ""
            take_in(graph, graph.interface(OUTPUT, wanted), name, source)
        except CannotSay as loss:
            graph.lose(f"the output {name!r}: {loss.what}", loss.why)
    if INPUT in graph.interfaces or set(graph.ports) - _triggered(workflow.body):
        ports = [Inline(port) for port in graph.ports.values()]
        graph.nodes[graph.interface(INPUT)]["outputs"] = ports
    return graph.document()


def _triggered(body: ir.Block) -> set[str]:
    """The inputs that triggers hand on."""
    found: set[str] = set()
    for node in body.nodes:
        if isinstance(node, ir.Compute) and isinstance(node.value, ir.Fields):
            entries = dict(node.value.entries)
            if called(entries.get("timestamp")).function == "timestamp":
                found |= {str(name) for name in entries}
    return found


def _port(port: ir.Port) -> dict[str, Any]:
    found: dict[str, Any] = {"name": port.name}
    if port.type != "any":
        found["type"] = port.type
    if port.required:
        found["required"] = True
    if port.default is not None:
        found["default"] = port.default
    if port.description:
        found["description"] = port.description
    return found


class _Weaver:
    """Writes the nodes of blocks, each behind all that it waits for."""

    def __init__(self, components: Components) -> None:
        self._components = components

    def write_block(self, graph: Graph, block: ir.Block) -> None:
        """All nodes of a block, and edges for what they wait for and do not read."""
        spot = graph.spot
        held = {node.name: node for node in block.nodes if isinstance(node, ir.Compute)}
        each = {f"{node.name}.inputs" for node in block.nodes if isinstance(node, ir.ForEach)}
        for node in block.nodes:
            is_status = called(getattr(node, "value", None)).function == "settled"
            if is_status or node.name.rstrip("_") in each:
                continue
            path = f"{spot.path}/{node.name}" if spot.path else node.name
            graph.spot = replace(spot, path=path, place=node.place)
            try:
                self._write(graph, node, held)
            except CannotSay as loss:
                graph.lose(loss.what, loss.why)
                graph.nodes.setdefault(node.name, {"nodeType": "wire"})
            self._order(graph, node, held)
        graph.spot = spot

    def _write(self, graph: Graph, node: ir.Node, held: Mapping[str, ir.Compute]) -> None:
        match node:
            case ir.Task():
                graph.lose_unsaid(node, (*_SHARED, *_TASK))
                write_task(graph, node)
            case ir.Compute():
                graph.lose_unsaid(node, (*_SHARED, "value"))
                write_compute(graph, node)
            case ir.Loop():
                graph.lose_unsaid(node, (*_SHARED, *SAID))
                write_loop(graph, node, self.write_block)
            case ir.ForEach():
                write_each(graph, node, held[_held(node)], self.write_block)
            case ir.Call():
                graph.lose_unsaid(node, (*_SHARED, "workflow", "inputs"))
                self._component(graph, node)
            case _:
                kind = type(node).__name__.lower()
                raise CannotSay(f"a step of kind {kind!r}", "there is no node of that kind")
        self._ports(graph, node)

    def _ports(self, graph: Graph, node: ir.Node) -> None:
        """Ports that nothing reads and that must take something in all the same."""
        ready = called(node.when)
        if ready.function != "ready":
            return
        for argument in ready.arguments:
            graph.feed(node.name, "", source_of(argument))

    def _component(self, graph: Graph, node: ir.Call) -> None:
        name = self._components.names.get(node.workflow, node.workflow)
        graph.add(node, "component", componentRef=name)
        for key, value in node.inputs.entries:
            take_in(graph, node.name, str(key), source_of(tree_of(value)))

    def _order(self, graph: Graph, node: ir.Node, held: Mapping[str, ir.Compute]) -> None:
        after = node.after
        if isinstance(node, ir.ForEach):
            after = held[_held(node)].after
        known = graph.waits.get(node.name, set())
        known |= {edge["source"] for edge in graph.edges if edge["target"] == node.name}
        left = [one.node for one in after if one.node not in known and one.node in graph.nodes]
        doubled = graph.doubled.get(node.name)
        for number, name in enumerate(left, start=1):
            handle = doubled or ("after" if number == 1 else f"after_{number}")
            graph.connect((name, "output"), (node.name, handle))


def _held(node: ir.ForEach) -> str:
    return str(called(node.items).arguments and called(called(node.items).arguments[0]).text(0))
