"""Nodes and edges of a canvas, with their places in the file, and the graph that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.errors import Span
    from whorl.source import Mapping


@dataclass(frozen=True, slots=True)
class CanvasNode:
    """A node: `fields` is what its author has set."""

    id: str
    type: str
    fields: Mapping
    span: Span


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge; `branch` is the branch of the router that it leaves by, if it does."""

    source: str
    target: str
    source_handle: str
    target_handle: str
    span: Span
    branch: str | None = None


@dataclass(slots=True)
class Canvas:
    """The nodes by id, and the edges at both ends of each."""

    nodes: dict[str, CanvasNode] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    incoming: dict[str, list[Edge]] = field(default_factory=dict)
    outgoing: dict[str, list[Edge]] = field(default_factory=dict)

    def add_node(self, node: CanvasNode) -> None:
        """Puts a node on the canvas."""
        self.nodes[node.id] = node
        self.incoming[node.id] = []
        self.outgoing[node.id] = []

    def add_edge(self, edge: Edge) -> None:
        """Draws an edge between two nodes."""
        self.edges.append(edge)
        self.incoming[edge.target].append(edge)
        self.outgoing[edge.source].append(edge)

    def without(self, edges: Iterable[Edge]) -> Canvas:
        """The same canvas without some edges."""
        gone = {id(edge) for edge in edges}
        copy = Canvas()
        for node in self.nodes.values():
            copy.add_node(node)
        for edge in self.edges:
            if id(edge) not in gone:
                copy.add_edge(edge)
        return copy

    def of_type(self, *types: str) -> list[CanvasNode]:
        """The nodes of some types, in the order of the file."""
        return [node for node in self.nodes.values() if node.type in types]

    def forward(
        self, start: Iterable[str], may_follow: Callable[[Edge], bool] | None = None
    ) -> set[str]:
        """What is reached from some nodes, themselves included."""
        found = set(start)
        queue = list(found)
        for name in queue:
            for edge in self.outgoing[name]:
                if edge.target not in found and (may_follow is None or may_follow(edge)):
                    found.add(edge.target)
                    queue.append(edge.target)
        return found

    def backward(self, start: str, stop: str = "") -> set[str]:
        """What leads to a node, itself included; nothing before `stop` is looked at."""
        found = {start}
        queue = [start]
        for name in queue:
            for edge in self.incoming[name] if name != stop else ():
                if edge.source not in found:
                    found.add(edge.source)
                    queue.append(edge.source)
        return found

    def circle(self) -> list[str]:
        """The nodes of one circle, if there is any."""
        waiting = {name: len(edges) for name, edges in self.incoming.items()}
        ready = [name for name, count in waiting.items() if not count]
        for name in ready:
            for edge in self.outgoing[name]:
                waiting[edge.target] -= 1
                if not waiting[edge.target]:
                    ready.append(edge.target)
        left = {name for name, count in waiting.items() if count > 0}
        if not left:
            return []
        seen: dict[str, int] = {}
        name = next(name for name in self.nodes if name in left)
        while name not in seen:
            seen[name] = len(seen)
            name = next(edge.source for edge in self.incoming[name] if edge.source in left)
        found = list(reversed(list(seen)[seen[name] :]))
        first = next(found.index(name) for name in self.nodes if name in found)
        return found[first:] + found[:first]

    def order(self) -> list[str]:
        """The nodes, each behind all that lead to it; those in circles are left out."""
        waiting = {name: len(edges) for name, edges in self.incoming.items()}
        ready = [name for name, count in waiting.items() if not count]
        for name in ready:
            for edge in self.outgoing[name]:
                waiting[edge.target] -= 1
                if not waiting[edge.target]:
                    ready.append(edge.target)
        return ready
