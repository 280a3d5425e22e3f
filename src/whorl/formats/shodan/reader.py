"""Reads graph files: a file or component is a workflow, each level of it a block of nodes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, cast

from whorl import ir
from whorl.dialects.reading import in_a_row
from whorl.dialects.reading.fields import duration_of, scalar_of, span_of, text_of
from whorl.dialects.reading.texts import called, quoted
from whorl.errors import InvalidWorkflow, Span
from whorl.formats.shodan.graph import COUNT, FIELDS, check_part, object_of, read_graph, read_ports
from whorl.formats.shodan.levels import GraphContext, Level, expression, given, output
from whorl.formats.shodan.loops import read_loop
from whorl.formats.shodan.nodes import NODE_READERS
from whorl.formats.shodan.ports import check_ports, promised_outputs
from whorl.ir.checks.scopes import suggest
from whorl.ir.walk import timed_as_a_whole
from whorl.source import Document, Entry, Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.files import SourceFiles
    from whorl.dialects.reader import Files, Reading
    from whorl.formats.shodan.graph import Graph, GraphNode, PortSpec
    from whorl.ir.values import PortType
    from whorl.language import Json
    from whorl.source import Value

# How many nodes of a graph run at once.
CONCURRENCY = 3
LOOPS_DEEP_MAX = 16
# A list of files may come as one file.
_PORT_TYPES = {"files": "any", "array": "list", "object": "json"}
_CHECKED = ("shell", "agent", "function", "wire")
_EVENTS: dict[str, tuple[str, dict[str, Json]]] = {
    "node_started": ("node-start", {"nodeId": "node"}),
    "node_finished": ("node-complete", {"nodeId": "node", "result": "preview"}),
    "node_failed": ("node-complete", {"nodeId": "node", "error": "error"}),
    "streaming": ("node-output", {"nodeId": "node", "chunk": "text"}),
    "iteration_started": ("iteration-start", {"loopId": "node", "iteration": "number"}),
    "iteration_finished": (
        "iteration-complete",
        {"loopId": "node", "iteration": "number", "success": "succeeded"},
    ),
    "run_succeeded": ("workflow-complete", {"success": "succeeded"}),
    "run_failed": ("workflow-complete", {"success": "succeeded", "error": "error"}),
}
# The dialect's own words for what a run reports, as data that the interfaces can print.
VOCABULARY: dict[str, Json] = {
    "events": {
        name: {"event": event, "fields": fields} for name, (event, fields) in _EVENTS.items()
    },
    "exit_reasons": {"condition_met": "condition", "failed": "error"},
}


class ShodanReader:
    """Reads graph files."""

    name = "shodan"
    joined: frozenset[str] | None = None
    editing = "whorl.formats.shodan.editing:ShodanChanges"

    def claims(self, document: Document) -> bool:
        """Returns whether the file is a graph whose nodes have their type inside of their data."""
        root = _graph_in(document.root)
        nodes = root.get("nodes")
        if "whorl" in root or not isinstance(nodes, Sequence):
            return False
        fields = (object_of(item, "data") for item in nodes if isinstance(item, Mapping))
        if any(data is not None and "nodeType" in data for data in fields):
            return True
        return "version" in root and "metadata" in root and "viewport" not in root

    def read(self, document: Document, files: Files) -> Reading:
        context = GraphContext(document, files)
        root = _graph_in(document.root)
        context.add_components(root)
        header = object_of(root, "metadata") or Mapping((), root.span)
        check_part(context, header, "metadata")
        context.folder = _read_root_folder(context, header)
        stem = context.file.rpartition("/")[2].partition(".")[0]
        name = text_of(header.get("name")) or text_of(root.get("name")) or stem
        workflow = _read_workflow(context, root, name)
        check_ports(context)
        workflow = replace(
            workflow,
            description=text_of(header.get("description")),
            workflows=tuple(context.workflows.items()),
            words=VOCABULARY,
        )
        context.check(workflow)
        return context.finish(workflow)


def _graph_in(root: Value) -> Mapping:
    """Returns the graph of a file, which may also be a single node, or a list of nodes."""
    if isinstance(root, Mapping) and ("nodes" in root or "data" not in root):
        return root
    nodes = root if isinstance(root, Sequence) else Sequence((root,), root.span)
    return Mapping((Entry(Scalar("nodes", root.span), nodes),), root.span)


# The folders in which a short name is searched, in this order.
_FOLDERS = (".robomesh/workflows", "workflows", ".robomesh")


def find_named(name: str, files: SourceFiles, base: str) -> list[str]:
    """Returns the file of a short name: the first with that stem in the folders of workflows."""
    if "/" in name or "\\" in name or name.endswith((".yaml", ".yml")):
        return []
    for path in (f"{folder}/{name}{end}" for folder in _FOLDERS for end in (".yaml", ".yml")):
        with suppress(InvalidWorkflow):
            files.open(base, path, Span(path, 1, 1))
            return [path]
    return []


def _read_root_folder(context: GraphContext, header: Mapping) -> str:
    """Reads `rootDirectory`: the folder of the whole file, below the project's folder.

    It is relative to the file. An absolute one belongs to the machine of its author and is ignored.
    """
    written = scalar_of(header.get("rootDirectory"))
    if written is None or not written.text.strip():
        return ""
    named = f"'rootDirectory' {written.text[:60]!r}"
    if written.text.startswith(("/", "~")) or "\\" in written.text or ":" in written.text:
        message = f"{named} is a folder of another machine; the project's folder is used"
        advice = "write it relative to the file, or leave it out"
        context.warn("W023", message, written.span, label="not used", help=advice)
        return ""
    name = context.file.rpartition("/")[2]
    try:
        path, _ = context.files.text(name, written.span)
    except InvalidWorkflow:
        # A file that came alone, or from outside: the project's folder is all there is.
        path = name
    folder = normpath(join(dirname(path).strip("/"), written.text))
    if folder.partition("/")[0] == "..":
        message, advice = f"{named} leads out of the project", "name a folder of the project"
        context.report("W027", message, written.span, label="this folder", help=advice)
        return ""
    return "" if folder == "." else folder


def _read_workflow(context: GraphContext, root: Mapping, name: str) -> ir.Workflow:
    graph = read_graph(context, root)
    has_interface = any(node.type == "interface-input" for node in graph.nodes.values())
    inputs: dict[str, PortSpec] = {}
    level = Level(context, graph, ports=inputs, has_interface=has_interface)
    # The inputs that an interface names are there in its order, used or not.
    interface = object_of(root, "interface") or Mapping((), root.span)
    check_part(context, interface, "interface")
    ports = [*read_ports(context, interface, "inputs", "interface")]
    for node in level.members:
        ports += node.outputs if node.type == "interface-input" else ()
    for port in ports:
        level.workflow_input(port)
    body = _build_block(level)
    outputs = _outputs(level, interface)
    texts = [port for port in inputs.values() if port.type in ("string", "any")]
    main = next((port.name for port in sorted(texts, key=lambda port: not port.required)), "")
    if any(node.type == "trigger" and not node.holder for node in graph.nodes.values()):
        main = "text"
    return ir.Workflow(
        name=name,
        body=body,
        inputs=tuple(
            ir.Port(
                port.name,
                cast("PortType", _PORT_TYPES.get(port.type, port.type)),
                required=port.required,
                default=port.default,
                description=port.description,
            )
            for port in inputs.values()
        ),
        main_input=main,
        outputs=outputs,
        variables=tuple((other, expression(given(name))) for name, other in level.renamed.items()),
        dialect="shodan",
    )


def _outputs(level: Level, interface: Mapping) -> tuple[tuple[str, ir.Value], ...]:
    """Returns the inputs of the output nodes; without any, the outputs of the last nodes."""
    outputs: dict[str, ir.Value] = {}
    ends = [node for node in level.members if node.type == "interface-output"]
    for node in ends:
        outputs |= {port.name: expression(level.arrived(node, port)) for port in node.inputs}
    for port in read_ports(level.context, interface, "outputs", "interface") if ends else ():
        outputs.setdefault(port.name, ir.Constant(None))
    # The nodes that nothing waits for; a trigger is no end.
    followed = {name for node in level.members for name in level.before(node.id)}
    others = [] if ends else [node for node in level.members if node.id not in followed]
    last = [node for node in others if node.type != "trigger" and not node.is_interface]
    labels = [node.slug for node in last]
    for node in last:
        label = node.slug if node.slug and labels.count(node.slug) == 1 else node.id
        prefix = f"{label}_" if len(last) > 1 else ""
        for name in promised_outputs(level.context, node):
            outputs[f"{prefix}{name}"] = expression(output(node.id, name))
    return tuple(outputs.items())


def _build_block(level: Level, path: str = "") -> ir.Block:
    level.context.levels.append(level)
    built: list[tuple[GraphNode, list[ir.Node]]] = []
    for node in level.members:
        if not node.is_interface:
            inner_path = f"{path}/{node.id}" if path else node.id
            level.context.places.remember_node(inner_path, node.span)
            built.append((node, _read_node(level, node, inner_path)))
    order = {node.id: index for index, node in enumerate(level.members)}
    nodes: list[ir.Node] = []
    for node, own in built:
        nodes += in_a_row(own, sorted(level.before(node.id), key=order.__getitem__))
    # These fail the level at its end, for nodes that failed while the others went on.
    settled: list[ir.Node] = []
    for node in level.tolerated():
        value = expression(called("settled", given(node.id), quoted(node.id)))
        name = level.free_name(f"{node.id}.status")
        settled.append(ir.Compute(name=name, value=value, place=node.place))
    nodes += in_a_row(settled, [own[-1].name for _, own in built])
    return ir.Block(tuple(nodes), concurrency=CONCURRENCY)


def _read_node(level: Level, node: GraphNode, path: str) -> list[ir.Node]:
    """Returns the nodes of the IR for one of the file; the last one has its name."""
    nodes: list[ir.Node] = [ir.Compute(name=node.id, value=ir.Constant(None))]
    if node.type == "loop":
        inside = _open_inside(level, node)
        if inside is not None:
            nodes = read_loop(level, inside, lambda inner: _build_block(inner, path))
    elif node.type == "component":
        nodes = [_read_component(level, node)]
    else:
        nodes = [NODE_READERS[node.type](level, node)]
    check = level.checked(node) if node.type in _CHECKED else ""
    # How many seconds the node may take, with all of its attempts.
    written = level.fields(node).get("timeout") if "timeout" in FIELDS[node.type] else None
    seconds = duration_of(written)
    if written is not None and not seconds:
        level.fields(node).wrong("timeout", "a number of seconds above 0")
    last = replace(
        nodes[-1],
        place=node.place,
        on_failure="continue" if node.is_tolerated else "halt",
        when=expression(check) if check else None,
        timeout_s=seconds or None,
    )
    nodes[-1] = timed_as_a_whole(last)
    return nodes


def _open_inside(level: Level, node: GraphNode) -> Level | None:
    """Returns the level inside of a loop; reports a loop without one and returns None."""
    if sum(1 for _ in level.chain()) > LOOPS_DEEP_MAX:
        message = f"loops can be nested at most {LOOPS_DEEP_MAX} levels deep"
        level.context.report("W002", message, node.span)
        return None
    own = _own_graph(level, node)
    inner = Level(level.context, own or level.graph, "" if own else node.id, level)
    if all(member.is_interface for member in inner.members):
        if not level.context.diagnostics:
            message = f"loop {node.id!r} has nothing inside"
            advice = "add inlineWorkflow, workflowRef, or nodes whose parentId is the loop"
            level.context.report("W006", message, node.span, label="an empty loop", help=advice)
        return None
    inner.loop, inner.number = node, inner.claim(COUNT)
    return inner


def _own_graph(level: Level, node: GraphNode) -> Graph | None:
    """Returns the graph of an inline workflow or a file; None if the nodes are beside the loop."""
    context, inline = level.context, object_of(node.fields, "inlineWorkflow")
    if inline is not None:
        return read_graph(context, inline)
    written = scalar_of(node.fields.get("workflowRef"))
    if written is None:
        return None
    try:
        opened = context.files.open(context.reference(written.text), written.span)
    except InvalidWorkflow as fault:
        context.adopt(fault.diagnostics)
        return None
    around = (home.graph.span for home in level.chain())
    if opened.file in (context.file, *(span.file for span in around if span)):
        message = f"loop {node.id!r} contains the file that it is in"
        advice = "put the inner workflow into a file of its own"
        context.report("W011", message, written.span, label="leads back", help=advice)
        return None
    if not isinstance(opened.root, Mapping):
        context.report("W007", f"{opened.file!r} does not contain a workflow", written.span)
        return None
    context.sources[opened.file] = opened.text
    context.adopt(opened.warnings)
    context.add_components(opened.root)
    return read_graph(context, opened.root)


def _read_component(level: Level, node: GraphNode) -> ir.Node:
    """Calls a workflow of a file or of `components` with the inputs of the node."""
    context, written = level.context, scalar_of(node.fields.get("workflowPath"))
    key = ""
    if scalar_of(node.fields.get("componentRef")) is not None:
        key = _inline(context, node)
    elif written is None:
        advice = "a file, or componentRef: a name under 'components'"
        level.fields(node).missing("workflowPath", advice)
    elif file := context.call(context.reference(written.text), written.span):
        key = file.key
    context.called[node.span] = key
    sources = ((name, level.own(node, name)) for name in level.input_names(node))
    inputs = tuple((name, expression(source)) for name, source in sources if source is not None)
    return ir.Call(name=node.id, workflow=key, inputs=ir.Fields(inputs))


def _inline(context: GraphContext, node: GraphNode) -> str:
    """Returns the key of a component of this file, which is read at its first use."""
    name, span = text_of(node.fields.get("componentRef")), span_of(node.fields, "componentRef")
    key = f"{context.file}#{name}"
    if name not in context.components:
        message = f"component {node.id!r} refers to {name[:60]!r}, which is not in 'components'"
        advice = suggest(name, context.components) or "add it under 'components'"
        context.report("W005", message, span, label="no such component", help=advice)
    elif key in context.opened:
        message = f"component {name!r} contains itself, directly or through others"
        advice = "repeat nodes with a loop, which has limits"
        context.report("W011", message, span, label="leads back", help=advice)
    elif key not in context.workflows:
        context.opened.append(key)
        context.workflows[key] = _read_workflow(context, context.components[name], name)
        context.opened.pop()
    return key if key in context.workflows else ""
