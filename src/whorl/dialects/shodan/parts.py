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
# Outputs that nodes have without declaring them.
USUAL = {
    "shell": ("output", "stdout", "stderr", "exitCode"),
    "agent": ("output", "sessionId", "exitCode"),
    "constant": ("value",),
    "wire": ("value",),
    "workdir": ("path",),
    "trigger": ("timestamp", "type", "text", "params"),
    "loop": ("iteration_count",),
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

    @property
    def output_names(self) -> tuple[str, ...]:
        """The outputs that are declared, or those that such nodes have without."""
        return tuple(port.name for port in self.outputs) or USUAL.get(self.type, ())


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between a handle of one node and a handle of another."""

    source: str
    target: str
    out: Handle
    into: Handle
    span: Span


@dataclass(slots=True)
class Graph:
    """The nodes and edges of one file, component or inline workflow."""

    nodes: dict[str, GraphNode] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    span: Span | None = None

    def members(self, holder: str) -> list[GraphNode]:
        """The nodes that stand right inside of a loop, or on the outside for an empty name."""
        return [node for node in self.nodes.values() if node.holder == holder]

    def holders(self, node: str) -> list[str]:
        """The loops around a node, the innermost first, and the outside last."""
        found: list[str] = []
        while node:
            node = self.nodes[node].holder
            found.append(node)
        return found

    def leading_to(self, node: str) -> list[Edge]:
        """The edges that end at a node."""
        return [edge for edge in self.edges if edge.target == node]
