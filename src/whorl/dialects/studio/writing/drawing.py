"""A canvas while it is drawn: nodes, edges between their handles, and where each node stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH, HEIGHT = 280, 140


@dataclass(frozen=True, slots=True)
class Wire:
    """An end of an edge: a node, and the handle that it leaves by."""

    source: str
    handle: str = "output"


@dataclass(slots=True)
class Drawing:
    """Nodes by id, each with its type and fields, and edges in the order in which they count."""

    nodes: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    edges: list[tuple[Wire, str, str]] = field(default_factory=list)

    def add(self, name: str, kind: str, data: dict[str, Any]) -> None:
        """Puts a node on the canvas; fields without a value are left out."""
        kept = {key: value for key, value in data.items() if value is not None}
        self.nodes[name] = (kind, kept)

    def connect(self, wire: Wire, target: str, handle: str = "input") -> None:
        """Draws an edge, once."""
        if (wire, target, handle) not in self.edges:
            self.edges.append((wire, target, handle))

    def sources(self, target: str) -> list[str]:
        """The nodes that edges lead from to this one."""
        return [wire.source for wire, end, _ in self.edges if end == target]

    def targets(self, source: str) -> list[str]:
        """The nodes that edges lead to from this one."""
        return [end for wire, end, _ in self.edges if wire.source == source]

    def page(self) -> dict[str, Any]:
        """Nodes and edges as a canvas stores them."""
        places = layered(self.nodes, [(wire.source, end) for wire, end, _ in self.edges])
        nodes = [
            {"id": name, "type": kind, "position": places[name], "data": data}
            for name, (kind, data) in self.nodes.items()
        ]
        edges = [_edge(number, *edge) for number, edge in enumerate(self.edges, start=1)]
        return {"nodes": nodes, "edges": edges, "viewport": {"x": 0, "y": 0, "zoom": 1}}


def _edge(number: int, wire: Wire, target: str, handle: str) -> dict[str, str]:
    edge = {"id": f"e{number}", "source": wire.source, "target": target}
    if wire.handle != "output":
        edge["sourceHandle"] = wire.handle
    if handle != "input":
        edge["targetHandle"] = handle
    return edge


def layered(names: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Each node to the right of all that lead to it, those of one layer below each other."""
    drawn = list(names)
    following: dict[str, list[str]] = {name: [] for name in drawn}
    waiting = dict.fromkeys(drawn, 0)
    for source, target in edges:
        following[source].append(target)
        waiting[target] += 1
    layers = dict.fromkeys(drawn, 0)
    ready = [name for name in drawn if not waiting[name]]
    for name in ready:
        for target in following[name]:
            layers[target] = max(layers[target], layers[name] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    rows: dict[int, int] = {}
    places: dict[str, dict[str, int]] = {}
    for name in drawn:
        row = rows.get(layers[name], 0)
        rows[layers[name]] = row + 1
        places[name] = {"x": layers[name] * WIDTH, "y": row * HEIGHT}
    return places
