"""Reads canvas files into the workflow of their nodes, edges and loops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading import ReadContext, in_a_row
from whorl.dialects.reading.fields import Fields, text_of
from whorl.formats.studio import canvas as canvases
from whorl.formats.studio import outside, steps
from whorl.formats.studio.scope import expression, field_of, read_scope, value_of
from whorl.formats.studio.texts import NodeReader
from whorl.source import Mapping, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.reader import Files, Reading
    from whorl.formats.studio.canvas import CanvasNode, Region
    from whorl.formats.studio.scope import Scope
    from whorl.source import Document


_READERS: dict[str, Callable[[NodeReader], list[ir.Node]]] = {
    "input": lambda node: node.compute(value_of(steps.port_name(node.node))),
    "output": lambda node: node.compute(node.value),
    "llm": steps.read_llm,
    "router": steps.read_router,
    "transform": steps.read_transform,
    "tool": outside.read_tool,
    "approval": steps.read_approval,
    "subworkflow": steps.read_subworkflow,
    "http_request": outside.read_http,
    "file_glob": outside.read_file_glob,
    "file_read": outside.read_file_read,
    "file_write": outside.read_file_write,
    "shell_exec": outside.read_shell_exec,
    "validator": steps.read_validator,
    "aggregator": steps.read_end,
    "exit": steps.read_end,
    "knowledge_base": steps.read_provided,
    "email_send": steps.read_provided,
    "webhook_trigger": steps.read_trigger,
    "cron_trigger": steps.read_trigger,
}


class StudioReader:
    name = "studio"
    joined: frozenset[str] | None = None
    editing = "whorl.formats.studio.editing:StudioChanges"

    def claims(self, document: Document) -> bool:
        """Returns whether the file is a canvas whose nodes have the types of this dialect.

        Other canvases name the type of a node inside of its data, as `nodeType`.
        """
        root = document.root
        if not isinstance(root, Mapping) or "whorl" in root:
            return False
        nodes = root.get("nodes")
        is_other = "metadata" in root and "version" in root and "viewport" not in root
        if not isinstance(nodes, Sequence) or is_other:
            return False
        items = [item for item in nodes if isinstance(item, Mapping)]
        inner = [item.get("data") for item in items]
        if any(isinstance(fields, Mapping) and "nodeType" in fields for fields in inner):
            return False
        return not items or any(text_of(item.get("type")) in canvases.TYPES for item in items)

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with all mistakes in it."""
        context = ReadContext(document, files)
        scope = read_scope(context)
        workflow = None if scope is None else _workflow(scope)
        if workflow is not None:
            context.check(workflow)
        return context.finish(workflow)


def _workflow(scope: Scope) -> ir.Workflow:
    context, root, canvas = scope.context, scope.context.root, scope.canvas
    written = root.get("variables")
    entries = written.entries if isinstance(written, Mapping) else ()
    variables = tuple((entry.name, ir.Constant(plain(entry.value))) for entry in entries)
    scope.variables = frozenset(name for name, _ in variables)
    scope.inputs = {steps.port_name(node): node.id for node in reversed(canvas.of_type("input"))}
    limits = Fields(context, root, owner="the workflow", span=root.span)
    scope.timeout_s, budget = map(limits.number, ("timeout", "budget"))
    for name, number in (("timeout", scope.timeout_s), ("budget", budget)):
        if number is not None and number <= 0:
            limits.wrong(name, "a number above 0")
    readers = [NodeReader(scope, node) for node in canvas.of_type("input")]
    triggers = [NodeReader(scope, node) for node in canvas.of_type(*canvases.TRIGGERS)]
    ports: dict[str, ir.Port] = {}
    for port in (*map(steps.read_port, readers), *map(steps.trigger_port, triggers)):
        ports.setdefault(port.name, port)
    time_s = None if canvas.of_type("loop") else scope.timeout_s
    return ir.Workflow(
        name=text_of(root.get("name")).strip() or context.file.rpartition("/")[2].partition(".")[0],
        description=text_of(root.get("description")).strip(),
        body=_block(scope),
        inputs=tuple(ports.values()),
        main_input=next((name for name in ports if name in scope.inputs), ""),
        outputs=_outputs(scope),
        variables=variables,
        limits=ir.RunLimits(cost_usd=budget, time_s=time_s),
        workflows=tuple(context.workflows.items()),
        dialect="studio",
        words=canvases.VOCABULARY,
    )


def _outputs(scope: Scope) -> tuple[tuple[str, ir.Value], ...]:
    """Returns the output nodes by their names; without any, the nodes that end the canvas."""
    outputs: dict[str, ir.Value] = {}
    for node in scope.canvas.of_type("output"):
        name = steps.port_name(node)
        outputs[node.id if name in outputs else name] = expression(value_of(node.id))
    if outputs:
        return tuple(outputs.items())
    for node in scope.canvas.of_type(*canvases.ENDINGS):
        if scope.regions.level(node.id) is None and not scope.canvas.outgoing[node.id]:
            region = scope.regions.by_end.get(node.id)
            viewer = region.start if region else node.id
            outputs[node.id] = expression(scope.output(node.id, "output", viewer))
    return tuple(outputs.items())


def _block(scope: Scope, level: Region | None = None, path: str = "") -> ir.Block:
    """Returns the block of the canvas, or of a region, with each node after its dependencies."""
    built: dict[str, list[ir.Node]] = {}
    for node in scope.canvas.nodes.values():
        if node.type != "note" and scope.regions.around.get(node.id) is level:
            built[node.id] = _read_node(scope, node, f"{path}/{node.id}" if path else node.id)
    nodes: list[ir.Node] = []
    for name, group in built.items():
        # An end always gives something, so that an iteration has a result.
        when = "" if level is not None and name == level.end else scope.when(name)
        guarded = [replace(part, when=expression(when) if when else None) for part in group]
        nodes += in_a_row(guarded, _waits(scope, name, level))
    return ir.Block(tuple(nodes))


def _read_node(scope: Scope, node: CanvasNode, path: str) -> list[ir.Node]:
    places = scope.context.places
    places.remember_node(path, node.span)
    region = scope.regions.by_start.get(node.id)
    if region is not None:
        body = _block(scope, region, path)
        limit = node.fields.entry("maxIterations")
        places.remember_field(path, "at_most", node.span if limit is None else limit.value.span)
        read = steps.read_loop if region.kind == "loop" else steps.read_iterator
        return read(scope, region, body)
    is_paired = node.type in canvases.CLOSED_BY or node.type in canvases.CLOSED_BY.values()
    if is_paired and node.id not in scope.regions.by_end:
        # One without a partner was reported; its fields have no use.
        return [ir.Compute(name=node.id, value=ir.Constant(None))]
    nodes = list(map(ir.timed_as_a_whole, _READERS[node.type](NodeReader(scope, node))))
    if node.id in scope.deciders.values():
        # It passes the decision of a router to its loop.
        cases = (
            ir.Case(n, ir.Block(()), equals=ir.Constant(n))
            for n in (canvases.DONE, canvases.CONTINUE)
        )
        subject = expression(field_of(node.id, "selectedBranch"))
        name = scope.helper(node.id, "branch")
        nodes.append(ir.Branch(name=name, cases=tuple(cases), subject=subject, place=node.place))
    return nodes


def _waits(scope: Scope, name: str, level: Region | None) -> list[str]:
    """Returns the nodes from which a node, or anything in the region that it opens, gets values."""
    region = scope.regions.by_start.get(name)
    held = [name]
    if region is not None:
        held += [node for node in scope.canvas.nodes if scope.regions.is_inside(node, region)]
    members: list[str | None] = []
    for node in held:
        named = [edge.source for edge in scope.canvas.incoming[node]]
        referred = sorted(scope.references.get(node, ()))
        members += [scope.regions.member(source, level) for source in (*named, *referred)]
    return [member for member in dict.fromkeys(members) if member not in (None, name)]
