"""The view of nodes on each other: incoming values, their conditions, and dependencies."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.texts import called, quoted
from whorl.formats.studio import canvas as canvases
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.dialects.reading import ReadContext
    from whorl.formats.studio.canvas import Canvas, Edge


# Handles whose value a node takes bare, when nothing else comes in.
BARE = ("input", "value")
LOOKED_AT_MAX = 500_000


def value_of(name: str) -> str:
    return called("known", quoted(name))


def field_of(name: str, key: str) -> str:
    return called("field", quoted(name), quoted(key))


def expression(source: str) -> ir.Expression:
    return ir.Expression("jinja", source, canvases.LIBRARY)


@dataclass(slots=True)
class Scope:
    """The canvas, its regions, and the names of inputs (by which node) and variables."""

    context: ReadContext
    canvas: Canvas
    regions: canvases.Regions
    feedback: list[Edge]
    # The router that decides, by the loop that it decides.
    deciders: dict[str, str]
    inputs: dict[str, str] = field(default_factory=dict)
    variables: frozenset[str] = frozenset()
    timeout_s: float | None = None
    # The nodes that texts refer to, by the node that holds the text: it also waits for them.
    references: dict[str, set[str]] = field(default_factory=dict)
    # The conversations that model nodes of a loop keep between iterations, beside its input.
    conversations: dict[str, list[ir.Carry]] = field(default_factory=dict)
    _may_skip: dict[str, bool] = field(default_factory=dict)
    # The nodes before each one, as bits.
    _before: dict[str, int] = field(default_factory=dict)
    _incoming: dict[str, dict[str, str]] = field(default_factory=dict)
    _bits: dict[str, int] = field(default_factory=dict)
    _referred: dict[str, list[str]] = field(default_factory=dict)
    _looked_at: int = 0

    def __post_init__(self) -> None:
        self._bits = {name: 1 << index for index, name in enumerate(self.canvas.nodes)}
        for name in self.canvas.order():
            edges = self.canvas.incoming[name]
            self._may_skip[name] = bool(edges) and all(map(self._may_be_dead, edges))
            self._before[name] = self._bits[name]
            for edge in edges:
                self._before[name] |= self._before[edge.source]

    def helper(self, node: str, word: str) -> str:
        """Returns the name of a helper of a node; it differs from all names on the canvas."""
        name = f"{node}.{word}"
        while name in self.canvas.nodes:
            name += "_"
        return name

    def output(self, node: str, handle: str, viewer: str) -> str:
        """Returns the source of a node's handle, as another node sees it."""
        started = self.regions.by_start.get(node)
        if started is not None:
            return self._started(started, handle, viewer)
        ended = self.regions.by_end.get(node)
        if ended is not None:
            if self.regions.is_inside(viewer, ended):
                return value_of(node)
            return self._started(ended, handle if ended.kind == "iterator" else "output", viewer)
        kind = self.canvas.nodes[node].type
        if handle == "output" and kind in canvases.MAIN_FIELDS:
            return field_of(node, canvases.MAIN_FIELDS[kind])
        return value_of(node) if handle == "output" or kind == "input" else field_of(node, handle)

    def _started(self, region: canvases.Region, handle: str, viewer: str) -> str:
        if self.regions.is_inside(viewer, region):
            if region.kind == "iterator" and handle in ("index", "total"):
                return self.counted(region, handle)
            return value_of(region.start)
        if region.kind == "loop" and handle not in canvases.RESULTS["loop"]:
            return field_of(region.start, "output")
        return field_of(region.start, handle) if handle != "output" else value_of(region.start)

    def counted(self, region: canvases.Region, word: str) -> str:
        """Returns the source of a region's counter: index (from 0), total, iteration (from 1)."""
        if word == "total" and region.kind == "iterator":
            return f"({value_of(self.helper(region.start, 'items'))} | length)"
        if word == "iteration" and region.kind == "iterator":
            return f"({value_of(self.helper(region.start, 'index'))} + 1)"
        return value_of(self.helper(region.start, word))

    def choices(self, edges: list[Edge]) -> list[str]:
        """Returns each edge's condition and value; of several that hold, the last one counts."""
        return [part for e in edges for part in (self._live(e) or "true", self._carried(e))]

    def _carried(self, edge: Edge) -> str:
        if edge.branch is not None:
            return field_of(edge.source, "value")
        return self.output(edge.source, edge.source_handle, edge.target)

    def _live(self, edge: Edge) -> str:
        """Returns the condition of an edge; "" if it always carries a value."""
        if edge.branch is not None:
            return called("took", quoted(edge.source), quoted(edge.branch))
        if not self._may_be_dead(edge):
            return ""
        ended = self.regions.by_end.get(edge.source)
        return called("ran", quoted(ended.start if ended else edge.source))

    def _may_be_dead(self, edge: Edge) -> bool:
        if edge.branch is not None:
            return True
        started = self.regions.by_start.get(edge.source)
        if started is not None and self.regions.is_inside(edge.target, started):
            return False
        ended = self.regions.by_end.get(edge.source)
        return self._may_skip.get(ended.start if ended else edge.source, False)

    def when(self, node: str) -> str:
        """Returns the condition of a node: any edge to it has a value; "" means always."""
        if not self._may_skip.get(node):
            return ""
        return " or ".join(dict.fromkeys(map(self._live, self.canvas.incoming[node])))

    def incoming(self, node: str) -> dict[str, str]:
        """Returns the incoming values by handle; of several live edges the last one counts."""
        if node not in self._incoming:
            by_handle: dict[str, list[Edge]] = {}
            for edge in self.canvas.incoming[node]:
                by_handle.setdefault(edge.target_handle, []).append(edge)
            self._incoming[node] = {
                name: called("pick", *self.choices(edges)) if edges[1:] else self._carried(edges[0])
                for name, edges in by_handle.items()
            }
        return self._incoming[node]

    def value(self, node: str) -> str:
        """Returns all incoming values: a single one bare, several as an object by handle."""
        incoming = self.incoming(node)
        if not incoming:
            return "none"
        if len(incoming) == 1 and next(iter(incoming)) in BARE:
            return next(iter(incoming.values()))
        inner = ", ".join(f"{quoted(handle)}: {source}" for handle, source in incoming.items())
        return f"({{ {inner} }})"

    def leads_to(self, node: str, other: str) -> bool:
        """Returns whether another node waits for this one, by edges, by texts, or by their regions.

        After too many calls for a file the answer is yes: its texts then wait for no more nodes.
        """
        if self._before[node] & self._bits[other]:
            return False
        if self._looked_at > LOOKED_AT_MAX:
            return True
        reached = {node}
        queue = [node]
        for name in queue:
            around = self.regions.around.get(name)
            following = [edge.target for edge in self.canvas.outgoing[name]]
            following += self._referred.get(name, ())
            following += [around.end] if around is not None and name != around.end else []
            self._looked_at += len(following)
            queue.extend(set(following) - reached)
            reached.update(following)
        return other in reached

    def refer(self, node: str, other: str, handle: str = "output") -> str:
        """Returns the source of another node's result for a text of a node, which waits for it."""
        references = self.references.setdefault(node, set())
        if other not in references:
            references.add(other)
            self._referred.setdefault(other, []).append(node)
        return self.output(other, handle, node)


def read_scope(context: ReadContext) -> Scope | None:
    """Returns the canvas of a file with its regions; None if it is empty or not valid."""
    drawn = canvases.read_canvas(context, context.root)
    feedback = canvases.find_feedback(drawn)
    canvas = drawn.without(feedback)
    canvases.check_canvas(context, canvas)
    if canvas.circle() or not canvas.nodes:
        return None
    regions = canvases.find_regions(context, canvas)
    deciders = canvases.find_deciders(context, canvas, regions)
    if any(diagnostic.code == "W002" for diagnostic in context.diagnostics):
        return None
    return Scope(context, canvas, regions, feedback, deciders)
