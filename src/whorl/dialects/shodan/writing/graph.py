"""Graphs as they are written: nodes with ports, edges between handles, mappings of a loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.dialects.shodan.writing.parts import (
    Arrived,
    Doubled,
    Dug,
    Fixed,
    Gathered,
    Given,
    Mapped,
    Out,
    Source,
)
from whorl.dialects.writing import Inline, Spot
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from whorl import ir
    from whorl.dialects.writing import Ledger

INPUT, OUTPUT, CONTINUE = "interface-input", "interface-output", "interface-continue"
_FEED = "an input is fed by outputs of nodes and by what the loop or the file is given"


@dataclass(frozen=True, slots=True)
class Known:
    """What a name stands for: an input, a slot, the count, an item, or an output of before."""

    kind: str
    name: str = ""
    output: str = ""


@dataclass(slots=True)
class Graph:
    """One graph that is being written: that of a file, a component or the inside of a loop."""

    ledger: Ledger
    names: dict[str, Known]
    owner: str = ""
    around: Graph | None = None
    # Of a for-each: the name that holds what the loop is given.
    held: str = ""
    taken: Collection[str] = ()
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: list[dict[str, Any]] = field(default_factory=list)
    mappings: list[dict[str, Any]] = field(default_factory=list)
    # By node: the ids that it waits for because of what it reads.
    waits: dict[str, set[str]] = field(default_factory=dict)
    # By node: the input that more than one edge ends at.
    doubled: dict[str, str] = field(default_factory=dict)
    interfaces: dict[str, str] = field(default_factory=dict)
    # Files that stand beside the workflow, for all graphs of it.
    files: dict[str, str] = field(default_factory=dict)
    # The inputs of the file or component, as ports.
    ports: dict[str, dict[str, Any]] = field(default_factory=dict)
    spot: Spot = field(default_factory=Spot)

    def chain(self) -> Iterator[Graph]:
        """This graph and those around it."""
        graph: Graph | None = self
        while graph is not None:
            yield graph
            graph = graph.around

    def lose(self, what: str, why: str) -> None:
        """Lists what the dialect cannot say here."""
        self.ledger.lose(self.spot, what, why)

    def lose_unsaid(self, item: Any, said: Collection[str]) -> None:
        """Lists whatever a part of the IR says beside the fields that are written."""
        lose_unsaid(self.ledger, self.spot, item, said, target="shodan")

    def add(self, node: ir.Node, kind: str, **fields: Any) -> dict[str, Any]:
        """Adds a node; returns its fields."""
        found: dict[str, Any] = {"nodeType": kind} | fields
        if node.on_failure == "continue":
            found["continueOnFailure"] = True
        self.nodes[node.name] = found
        return found

    def interface(self, kind: str, wanted: str = "") -> str:
        """The id of the interface node of a kind, which is added when it is first needed."""
        if kind not in self.interfaces:
            name = kind if not self.owner else f"{self.owner}-{kind.partition('-')[2]}"
            name = wanted or name
            used = {one for graph in self.chain() for one in (*graph.taken, *graph.nodes)}
            while name in used:
                name += "-"
            self.interfaces[kind] = name
            self.nodes[name] = {"nodeType": kind}
        return self.interfaces[kind]

    def connect(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """An edge from an output to an input."""
        edge = Inline(
            source=source[0],
            target=target[0],
            sourceHandle=f"output:{source[1]}",
            targetHandle=f"input:{target[1]}",
        )
        if edge not in self.edges:
            self.edges.append(edge)

    def port_of(self, name: str) -> dict[str, Any]:
        """An input of the file or component, as a port."""
        return self.ports.get(name, {"name": name})

    def declare(self, node: str, spec: dict[str, Any]) -> None:
        """A port of a node."""
        ports = self.nodes[node].setdefault("inputs", [])
        if not any(port["name"] == spec["name"] for port in ports):
            ports.append(Inline(spec))

    def wait(self, node: str, other: str) -> None:
        """A node waits for another one of this graph."""
        self.waits.setdefault(node, set()).add(other)

    def feed(self, node: str, name: str, source: Source) -> None:
        """Leads a value to an input of a node; raises CannotSay."""
        match source:
            case Arrived():
                self.declare(node, source.spec)
                self.feed(node, source.spec["name"], source.source)
            case Out() if source.node in self.nodes or source.node in self.taken:
                self.connect((source.node, source.port), (node, name))
                self.wait(node, source.node)
            case Given() | Dug(source=Given()):
                self._feed_given(node, name, source)
            case Mapped():
                for when, one in source.choices:
                    self._map(node, name, one, when)
            case Gathered():
                for index, part in enumerate(source.parts):
                    self.feed(node, f"{name}[{index}]", part)
            case Doubled():
                self.doubled[node] = source.name
            case Fixed(value=None):
                pass
            case _:
                raise CannotSay("a value of another graph, or a part of one", _FEED)

    def _feed_given(self, node: str, name: str, source: Given | Dug) -> None:
        known = self.local(source)
        if known is None:
            raise CannotSay("a value that is given to a loop further out", _FEED)
        if known.kind == "previous":
            self._map(node, name, source, "all")
            return
        handle = f"prev.{known.name}" if known.kind == "slot" else known.name
        self.connect((self.interface(INPUT), handle), (node, name))

    def _map(self, node: str, name: str, source: Source, when: str) -> None:
        target = Inline(node=node, input=name)
        mapping = {"source": Inline(self._mapped(source)), "target": target, "iterations": when}
        if isinstance(source, Out):
            # The only way to a mapping for all iterations from a node beside is an edge.
            self.feed(node, name, source)
        elif mapping not in self.mappings:
            self.mappings.append(mapping)

    def _mapped(self, source: Source) -> dict[str, str]:
        known = self.local(source) if isinstance(source, Given | Dug) else None
        if isinstance(source, Out):
            return {}
        if known is None or known.kind == "slot":
            raise CannotSay("a value of another graph, or a part of one", _FEED)
        match known.kind:
            case "previous":
                return {"type": "previous", "node": known.name, "output": known.output}
            case "count":
                return {"type": "builtin", "name": "iteration_count"}
            case "item":
                return {"type": "item"}
        return {"type": "outer", "name": known.name}

    def local(self, source: Source) -> Known | None:
        """What a name stands for right here; None if it is bound further out."""
        if isinstance(source, Dug):
            is_held = self.held and source.source == Given(self.held) and len(source.path) == 1
            return Known("input", source.path[0]) if is_held else None
        return self.names.get(source.name) if isinstance(source, Given) else None

    def place(self, node: str, source: Source) -> str:
        """What stands for a value in the texts of a node, without braces; raises CannotSay."""
        match source:
            case Arrived():
                self.feed(node, "", source)
                name = str(source.spec["name"])
                return name if name not in _OTHER else f"inputs.{name}"
            case Dug() if self.local(source) is None and not self._is_held(source):
                return ".".join((self.place(node, source.source), *source.path))
            case Out():
                self._wait_for(node, source.node)
                return f"{source.node}.{source.port}"
            case Given() | Dug():
                return self._place_given(node, source)
            case Mapped() | Gathered():
                name = f"input_{len(self.nodes[node].get('inputs', ())) + 1}"
                self.declare(node, {"name": name})
                self.feed(node, name, source)
                return name
        raise CannotSay("a value in a text", _FEED)

    def _is_held(self, source: Dug) -> bool:
        return any(graph.local(source) is not None for graph in self.chain())

    def _place_given(self, node: str, source: Given | Dug) -> str:
        for graph in self.chain():
            known = graph.local(source)
            if known is None:
                continue
            if known.kind == "count" and graph is self:
                return "iteration_count"
            if known.kind == "previous":
                return self._port(node, f"{known.name}_{known.output}", source)
            owner = graph.owner or graph.interface(INPUT)
            return f"{owner}.{'iteration_count' if known.kind == 'count' else known.name}"
        raise CannotSay(f"the name {source!s}", "nothing of that name is given here")

    def _port(self, node: str, name: str, source: Source) -> str:
        self.declare(node, {"name": name})
        self.feed(node, name, source)
        return name

    def _wait_for(self, node: str, other: str) -> None:
        """A node, or the loop around it, waits for a node whose output it reads."""
        for graph in self.chain():
            if other in graph.taken:
                graph.wait(node, other)
                return
            node = graph.owner

    def document(self) -> dict[str, Any]:
        """The graph as an object."""
        nodes: list[dict[str, Any]] = []
        inner = {INPUT: -1, OUTPUT: 1, CONTINUE: 1}
        for name, fields in sorted(
            self.nodes.items(), key=lambda item: inner.get(item[1]["nodeType"], 0)
        ):
            nodes.append({"id": name, "type": fields["nodeType"], "data": fields})
        return {"nodes": nodes, "edges": self.edges}


# Words that mean something else in a text, or in an input of that name.
_OTHER = ("inputs", "prompt", "iteration_count", "iteration")
