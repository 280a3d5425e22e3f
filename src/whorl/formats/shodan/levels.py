"""One level of a graph: the input of each port there, as the source of an expression.

A level is the outside of a file or component, or the inside of a loop; a level sees everything of
the levels around it. Names and texts of the file enter sources as quoted texts, never as code.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading import ReadContext
from whorl.dialects.reading.fields import Fields, reached, text_of
from whorl.dialects.reading.texts import called, quoted
from whorl.errors import InvalidWorkflow, Severity, Span
from whorl.formats.shodan.graph import COUNT, Edge, Graph, GraphNode, Handle, PortSpec, object_of
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json

# A number that is written without sign and exponent.
_PLAIN = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")


def given(name: str) -> str:
    return called("given", quoted(name))


def output(node: str, name: str) -> str:
    return called("port", quoted(node), quoted(name))


def packed(value: Json) -> str:
    """Returns a JSON value as a text, which functions unpack."""
    return quoted(json.dumps(value, ensure_ascii=False))


def literal(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return quoted(value)
    if _PLAIN.fullmatch(json.dumps(value)):
        return json.dumps(value)
    return f"({packed(value)} | fromjson)"


def expression(source: str) -> ir.Expression:
    return ir.Expression("jinja", source, "shodan")


@dataclass(slots=True)
class GraphContext(ReadContext):
    """The data that the readers of the parts of one file share.

    `components` are the inline ones; `opened` are the components that are being read; `called` are
    the keys of the workflows of components, by the places of their nodes. `folder` is where
    commands and agents work, below the project's folder; if empty, in that folder.
    """

    components: dict[str, Mapping] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    called: dict[Span, str] = field(default_factory=dict)
    levels: list[Level] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    folder: str = ""

    def add_components(self, root: Mapping) -> None:
        for entry in object_of(root, "components") or ():
            if isinstance(entry.value, Mapping):
                self.components.setdefault(entry.name, entry.value)

    def reference(self, written: str) -> str:
        """Returns the name that opens a file: from the project's folder, or beside this file."""
        return self.files.find([written]) or written

    def read_file(self, written: Scalar) -> tuple[str, str] | None:
        """Returns the name and the text of a file; reports a file that it cannot read."""
        try:
            return self.files.text(self.reference(written.text), written.span)
        except InvalidWorkflow as fault:
            self.adopt(fault.diagnostics)
            return None


@dataclass(frozen=True, slots=True)
class Reference:
    """A port that the file names; it is looked up after the whole file is read.

    `level` is the level of the node; for a loop as its own nodes see it, the inner level.
    """

    level: Level
    node: GraphNode
    kind: str
    name: str
    span: Span
    severity: Severity = "error"


@dataclass(slots=True)
class Level:
    """The nodes on the outside of a graph, or right inside of one of its loops."""

    context: GraphContext
    graph: Graph
    holder: str = ""
    around: Level | None = None
    # The loop that this is the inside of, and the names that it binds for what is inside.
    loop: GraphNode | None = None
    number: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    slots: dict[str, str] = field(default_factory=dict)
    slot_types: dict[str, str] = field(default_factory=dict)
    previous: dict[tuple[str, str], str] = field(default_factory=dict)
    # The mappings to an input of a node: the iterations, and the source.
    mappings: dict[tuple[str, str], list[tuple[str, str]]] = field(default_factory=dict)
    # Of a for-each: the name that holds its inputs, those of the item and of its index.
    held: str = ""
    item: tuple[str, str] = ("", "")
    index: str = ""
    # Where the unfed inputs of nodes are given from outside, by name; None where they are not.
    ports: dict[str, PortSpec] | None = None
    # Whether what is given from outside is all that an interface names.
    has_interface: bool = False
    renamed: dict[str, str] = field(default_factory=dict)
    _before: dict[str, set[str]] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for source, target in self.graph.connected[self.holder]:
            self.wait(target, source)

    @property
    def owner(self) -> GraphNode:
        """Returns the loop of an inner level."""
        assert self.loop is not None
        return self.loop

    def fields(self, node: GraphNode) -> Fields:
        """Returns the fields of a node, with the reports of their mistakes."""
        return Fields(self.context, node.fields, owner=f"{node.type} {node.id!r}", span=node.span)

    @property
    def members(self) -> list[GraphNode]:
        return self.graph.members[self.holder]

    @property
    def gives_inputs(self) -> bool:
        """Returns whether an unconnected input becomes an input of the workflow."""
        return self.ports is not None and not self.has_interface

    @property
    def counted(self) -> str:
        return f"({given(self.index)} + 1)" if self.held else given(self.number)

    def value_of(self, handle: Handle) -> str | None:
        """Returns the source of a handle of the loop, for the nodes inside of it."""
        kind, name, side = handle
        if self.held and name == self.item[0]:
            return given(self.item[1])
        if kind != "dock" and name in self.inputs:
            if self.held:
                return called("dig", given(self.held), quoted(name))
            return given(self.inputs[name])
        is_counter = side == "output" if kind == "dock" else name in ("iteration", COUNT)
        if is_counter:
            return self.counted
        slot = self.slots.get(name if kind == "dock" else name.removeprefix("prev."))
        return None if slot is None else given(slot)

    def chain(self) -> Iterator[Level]:
        level: Level | None = self
        while level is not None:
            yield level
            level = level.around

    def tolerated(self) -> list[GraphNode]:
        """Returns the nodes whose failure lets the others continue and fails this level at its end.

        An exit code that the loop's own condition reads is a result.
        """
        loop = self.loop and self.loop.fields
        conditions = (loop and object_of(loop, name) for name in ("continueWhile", "exitWhen"))
        compared = [text_of(condition.get("output")) for condition in conditions if condition]
        end = ".exitCode"
        deciders = [self.named(name.removesuffix(end)) for name in compared if name.endswith(end)]
        tolerated = (node for node in self.members if node.is_tolerated)
        return [node for node in tolerated if not node.is_interface and node not in deciders]

    def named(self, name: str) -> GraphNode | None:
        """Returns the node of this level with that id, or else with that label."""
        by_id = next((node for node in self.members if node.id == name), None)
        return by_id or next((node for node in self.members if node.slug == name != ""), None)

    def free_name(self, wanted: str, *others: set[str]) -> str:
        """Returns a name that no node has which is visible here or further inside."""
        taken = set().union(*others, *(level.graph.nodes for level in self.chain()))
        while wanted in taken:
            wanted += "_"
        return wanted

    def claim(self, wanted: str) -> str:
        """Returns a unique name for something that is bound here."""
        name = self.free_name(wanted, *(level.claimed for level in self.chain()))
        self.claimed.add(name)
        return name

    def workflow_input(self, port: PortSpec) -> str:
        """Returns an input of the workflow; several nodes may share one."""
        assert self.ports is not None
        first = self.ports.setdefault(port.name, port)
        if first != port:
            self.ports[port.name] = PortSpec(
                port.name,
                port.type if port.type == first.type else "any",
                required=port.required or first.required,
                default=first.default if first.default is not None else port.default,
                description=first.description or port.description,
            )
        name = self.free_name(port.name)
        if name != port.name:
            self.renamed[port.name] = name
        return given(name)

    def wait(self, name: str, source: str) -> None:
        self._before.setdefault(name, set()).add(source)

    def before(self, name: str) -> set[str]:
        """Returns the nodes of this level that a node, or anything inside of it, waits for."""
        nodes = self.graph.nodes
        return {other for other in self._before.get(name, ()) if not nodes[other].is_interface}

    def leads_to(self, start: str, end: str) -> bool:
        """Returns whether a node of this level waits for another one, directly or indirectly."""
        return end in reached([start], lambda name: self._before.get(name, ()))

    def refer(self, viewer: str, name: str) -> Level | None:
        """Returns the level of a node that another one reads, and lets the reader wait for it."""
        member = viewer
        for level in self.chain():
            node = level.graph.nodes.get(name)
            if node is not None and node.holder == level.holder:
                if member != name:
                    level.wait(member, name)
                return level
            if level.loop is not None:
                member = level.loop.id
        return None

    def expect(self, node: GraphNode, kind: str, name: str, span: Span) -> None:
        """Registers a port of a node of this level for the check after the whole file is read."""
        self.context.references.append(Reference(self, node, kind, name, span))

    def value_at(self, name: str, handle: Handle, viewer: str) -> str | None:
        """Returns the source of a handle of a node, as another node sees it."""
        inside = next((home for home in self.chain() if home.loop and home.loop.id == name), None)
        if inside is not None and self.graph.nodes.get(name) in (None, inside.loop):
            return inside.value_of(handle)
        home = self.refer(viewer, name)
        if home is None:
            # An output of a node inside of a loop beside this one: the loop hands it out.
            around = (holder for holder in self.graph.holders(name) if holder)
            holder = next((holder for holder in around if self.refer(viewer, holder)), None)
            return None if holder is None else output(holder, f"{name}.{handle[1]}")
        node, port = home.graph.nodes[name], handle[1]
        if node.type != "interface-input":
            return output(name, port)
        # The input node of a loop or component gives what that one is given.
        if home.loop is not None:
            return home.value_of(("input", port, ""))
        spec = next((spec for spec in node.outputs if spec.name == port), PortSpec(port))
        return home.workflow_input(spec) if home.ports is not None else None

    def fed(self, node: GraphNode, name: str) -> str | None:
        """Returns the source of a port from edges and mappings, or None."""
        edges = self.edges_into(node, name)
        if len(edges) > 1:
            message = f"Multiple edges connected to input {name!r} of {node.id!r}"
            return called("refuse", quoted(message))
        choices = [("all", self.value_at(e.source, e.out, node.id) or "none") for e in edges]
        choices += self.mappings.get((node.id, name), [])
        if not choices or [when for when, _ in choices] == ["all"]:
            return choices[0][1] if choices else None
        pairs = [part for when, source in choices for part in (quoted(when), source)]
        return called("mapped", self.counted, *pairs)

    def edges_into(self, node: GraphNode, name: str) -> list[Edge]:
        edges = self.graph.leading_to[node.id]
        return [edge for edge in edges if edge.into[0] == "input" and edge.into[1] == name]

    def arrived(self, node: GraphNode, port: PortSpec) -> str:
        """Returns the source of a declared port; an unconnected one may be a workflow input."""
        source = self.fed(node, port.name)
        if source is None and self.gives_inputs:
            source = self.workflow_input(port)
        source = source or "none"
        if port.type == "any" and not port.required and port.default is None:
            return source
        return called("arrive", source, quoted(node.id), packed(port.packed()))

    def own(self, node: GraphNode, name: str) -> str | None:
        """Returns an input of a node by its name; for an array the sources of `name[0]`, ..."""
        port = node.input(name)
        if port is not None:
            return self.arrived(node, port)
        ports = sorted((p for p in node.inputs if p.parent == name), key=lambda port: port.index)
        parts = [self.arrived(node, p) for p in ports if self.fed(node, p.name) is not None]
        return f"[{', '.join(parts)}]" if parts else self.fed(node, name)

    def input_names(self, node: GraphNode) -> list[str]:
        """Returns all inputs of a node: declared, connected, mapped; arrays by their own name."""
        names = {port.parent or port.name: None for port in node.inputs}
        for edge in self.graph.leading_to[node.id]:
            if edge.into[0] == "input" and edge.into[1].partition("[")[0] not in names:
                names[edge.into[1]] = None
        return list(names | {name: None for owner, name in self.mappings if owner == node.id})

    def checked(self, node: GraphNode) -> str:
        """Returns a condition that fails if a required input is missing, or ""."""
        sources: list[str] = []
        for name in self.input_names(node):
            port = node.input(name)
            is_bound = port is not None and (port.required or port.type in ("number", "boolean"))
            if is_bound or len(self.edges_into(node, name)) > 1:
                sources.append(self.own(node, name) or "none")
        return called("ready", *sources) if sources else ""
