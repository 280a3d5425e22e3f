"""A whole file: its graph, its components, what it takes in and gives out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.block import build_block
from whorl.dialects.shodan.fields import table_of, text_of
from whorl.dialects.shodan.level import Level
from whorl.dialects.shodan.nodes.files import root_folder
from whorl.dialects.shodan.ports import check_ports, promised_outputs
from whorl.dialects.shodan.reading import read_graph, read_ports
from whorl.dialects.shodan.sources import expression, given, output
from whorl.dialects.shodan.vocabulary import VOCABULARY
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.shodan.draft import Draft
    from whorl.dialects.shodan.parts import Graph, GraphNode, PortSpec


def read_file(draft: Draft, root: Mapping) -> ir.Workflow:
    """The workflow of a file."""
    take_components(draft, root)
    header = table_of(root, "metadata") or Mapping((), root.span)
    draft.folder = root_folder(draft, header)
    usual = draft.document.file.rpartition("/")[2].partition(".")[0]
    workflow = _workflow(draft, root, text_of(header, "name") or usual)
    check_ports(draft)
    return replace(
        workflow,
        description=text_of(header, "description"),
        workflows=tuple(draft.workflows.items()),
        vocabulary=VOCABULARY,
    )


def take_components(draft: Draft, root: Mapping) -> None:
    """Keeps the inline components of a file, which are read when they are used."""
    for entry in table_of(root, "components") or ():
        if isinstance(entry.value, Mapping):
            draft.components.setdefault(entry.name, entry.value)


def _read_inline(draft: Draft, name: str) -> ir.Workflow:
    return _workflow(draft, draft.components[name], name)


def _workflow(draft: Draft, root: Mapping, name: str) -> ir.Workflow:
    graph = read_graph(draft, root)
    has_interface = any(node.type == "interface-input" for node in graph.nodes.values())
    level = Level(draft, graph, ports={}, has_interface=has_interface)
    _take_interface(level, root)
    body = build_block(level, _read_inline)
    outputs = _outputs(level, root)
    assert level.ports is not None
    ports = list(level.ports.values())
    return ir.Workflow(
        name=name,
        body=body,
        inputs=tuple(map(_port, ports)),
        main_input=_main_input(graph, ports),
        outputs=outputs,
        variables=tuple((other, expression(given(name))) for name, other in level.renamed.items()),
        dialect="shodan",
    )


def _take_interface(level: Level, root: Mapping) -> None:
    """The inputs that an interface names are there in its order, used or not."""
    interface = table_of(root, "interface")
    if interface is not None:
        for port in read_ports(level.draft, interface, "inputs", "interface"):
            level.workflow_input(port)
    for node in level.members:
        if node.type == "interface-input":
            for port in node.outputs:
                level.workflow_input(port)


def _port(port: PortSpec) -> ir.Port:
    return ir.Port(
        port.name,
        port.ir_type,
        required=port.required,
        default=port.default,
        description=port.description,
    )


def _main_input(graph: Graph, ports: list[PortSpec]) -> str:
    if any(node.type == "trigger" and not node.holder for node in graph.nodes.values()):
        return "text"
    texts = [port for port in ports if port.type in ("string", "any")]
    needed = [port for port in texts if port.required]
    return next((port.name for port in (*needed, *texts)), "")


def _outputs(level: Level, root: Mapping) -> tuple[tuple[str, ir.Value], ...]:
    """What the output nodes are fed; without any, the outputs of the last nodes."""
    found: dict[str, ir.Value] = {}
    ends = [node for node in level.members if node.type == "interface-output"]
    for node in ends:
        for port in node.inputs:
            found[port.name] = expression(level.arrived(node, port))
            if not level.gives_inputs and port.default is None and not level.fed(node, port.name):
                _warn_unfed(level, port)
    if ends:
        interface = table_of(root, "interface") or Mapping((), root.span)
        for port in read_ports(level.draft, interface, "outputs", "interface"):
            if port.name not in found:
                found[port.name] = ir.Constant(None)
                _warn_unfed(level, port)
        return tuple(found.items())
    last = _last(level)
    for node in last:
        prefix = f"{_label(node, last)}_" if len(last) > 1 else ""
        for name in promised_outputs(level.draft, node):
            found[f"{prefix}{name}"] = expression(output(node.id, name))
    return tuple(found.items())


def _warn_unfed(level: Level, port: PortSpec) -> None:
    level.draft.warn(
        "W023",
        f"output {port.name[:60]!r} comes from nowhere and will be null",
        port.span,
        label="no source",
        help="connect an output of a node to it",
    )


def _last(level: Level) -> list[GraphNode]:
    """The nodes that nothing waits for; a trigger is no end."""
    followed = {name for node in level.members for name in level.before(node.id)}
    ends = [node for node in level.members if node.id not in followed]
    return [node for node in ends if node.type != "trigger" and "interface" not in node.type]


def _label(node: GraphNode, others: list[GraphNode]) -> str:
    is_shared = sum(other.slug == node.slug for other in others) > 1
    return node.id if is_shared or not node.slug else node.slug
