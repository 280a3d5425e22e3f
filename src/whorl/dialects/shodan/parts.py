"""The parts of a graph: nodes, their ports, edges between handles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from whorl.errors import Span
    from whorl.ir.values import PortType
    from whorl.language import Json
    from whorl.source import Mapping

# The fields that each type of node has in its data, beside those that all have.
FIELDS: dict[str, frozenset[str]] = {
    "trigger": frozenset({"triggerType", "cron", "idleMinutes"}),
    "shell": frozenset({"script", "commands", "scriptFiles", "path"}),
    "script": frozenset({"scriptFile", "scriptArgs", "path"}),
    "agent": frozenset({"runner", "model", "prompt", "promptFiles", "outputSchema", "path"}),
    "constant": frozenset({"valueType", "value"}),
    "function": frozenset({"code", "file"}),
    "workdir": frozenset({"path"}),
    "wire": frozenset(),
    "component": frozenset({"workflowPath", "componentRef"}),
    "interface-input": frozenset(),
    "interface-output": frozenset(),
    "interface-continue": frozenset(),
    "loop": frozenset(
        {
            "workflowRef",
            "inlineWorkflow",
            "continueWhile",
            "maxIterations",
            "inputMappings",
            "outputMappings",
            "dockSlots",
            "forEach",
            "exitWhen",
        }
    ),
}
SHARED = frozenset({"nodeType", "label", "inputs", "outputs", "continueOnFailure"})
COUNT = "iteration_count"
# Outputs that nodes have without declaring them.
USUAL = {
    "shell": ("output", "stdout", "stderr", "exitCode"),
    "script": ("output", "stdout", "stderr", "exitCode"),
    "agent": ("output", "sessionId", "exitCode"),
    "constant": ("value",),
    "wire": ("value",),
    "workdir": ("path",),
    "trigger": ("timestamp", "type", "text", "params"),
    "loop": (COUNT,),
}

Handle = tuple[Literal["output", "input", "dock"], str, str]


@dataclass(frozen=True, slots=True)
class PortSpec:
    """A port as it is declared."""

    name: str
    type: str = "any"
    required: bool = False
    default: Json = None
    description: str = ""
    extract: tuple[str, str] | None = None
    parent: str = ""
    index: int = 0
    span: Span | None = field(default=None, compare=False)

    def packed(self) -> dict[str, Json]:
        """The port as functions take it."""
        found: dict[str, Json] = {"name": self.name, "type": self.type}
        if self.required:
            found["required"] = True
        if self.default is not None:
            found["default"] = self.default
        if self.extract is not None:
            found["extract"] = {"type": self.extract[0], "pattern": self.extract[1]}
        return found

    @property
    def ir_type(self) -> PortType:
        """The type as inputs of workflows have it; a list of files may come as one file."""
        return "any" if self.type == "files" else cast("PortType", self.type)


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node; `holder` is the loop that it stands in, by `parentId`."""

    id: str
    type: str
    label: str
    fields: Mapping
    span: Span
    inputs: tuple[PortSpec, ...] = ()
    outputs: tuple[PortSpec, ...] = ()
    holder: str = ""

    @property
    def slug(self) -> str:
        """The label as templates spell it."""
        return "_".join(self.label.lower().split())

    def input(self, name: str) -> PortSpec | None:
        """A declared input."""
        return next((port for port in self.inputs if port.name == name), None)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between a handle of one node and a handle of another.

    `out_span` and `into_span` are where the handles stand; None where they are not written.
    """

    source: str
    target: str
    out: Handle
    into: Handle
    span: Span
    out_span: Span | None = None
    into_span: Span | None = None


@dataclass(slots=True)
class Graph:
    """The nodes and edges of one file, component or inline workflow."""

    nodes: dict[str, GraphNode] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    span: Span | None = None
    _leading_to: dict[str, list[Edge]] = field(default_factory=dict)
    _members: dict[str, list[GraphNode]] = field(default_factory=dict)
    # By loop: the edges that lead out of it.
    leaving: dict[str, list[Edge]] = field(default_factory=dict)
    # By loop: the pairs of nodes right inside of it that edges connect, from them or from inside.
    connected: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def settle(self) -> None:
        """Looks all nodes and edges over, once they are known."""
        for node in self.nodes.values():
            self._members.setdefault(node.holder, []).append(node)
        for edge in self.edges:
            self._leading_to.setdefault(edge.target, []).append(edge)
            self._follow(edge)

    def _follow(self, edge: Edge) -> None:
        """Finds the loop that holds both ends of an edge, and those that it leads out of."""
        inner = {"": edge.target}
        name = edge.target
        while name:
            inner[self.nodes[name].holder] = name
            name = self.nodes[name].holder
        name = edge.source
        while self.nodes[name].holder not in inner:
            name = self.nodes[name].holder
            if name != edge.target:
                self.leaving.setdefault(name, []).append(edge)
        holder = self.nodes[name].holder
        if inner[holder] != name:
            self.connected.setdefault(holder, []).append((name, inner[holder]))

    def members(self, holder: str) -> list[GraphNode]:
        """The nodes that stand right inside of a loop, or on the outside for an empty name."""
        return self._members.get(holder, [])

    def holders(self, node: str) -> list[str]:
        """The loops around a node, the innermost first, and the outside last."""
        found: list[str] = []
        while node:
            node = self.nodes[node].holder
            found.append(node)
        return found

    def leading_to(self, node: str) -> list[Edge]:
        """The edges that end at a node."""
        return self._leading_to.get(node, [])
