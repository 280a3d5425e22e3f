"""What the readers of single nodes know of the canvas: which value comes in, whether it comes at
all, and what each name stands for at their place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.studio.canvas.kinds import MAIN_FIELDS
from whorl.dialects.studio.texts.sources import called, known, quoted
from whorl.dialects.studio.texts.sources import field as field_of

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import Canvas, CanvasNode, Edge
    from whorl.dialects.studio.canvas.regions import Region, Regions
    from whorl.dialects.studio.draft import Draft

# Handles whose value a node takes bare, when nothing else comes in.
BARE = ("input", "value")
LOOKED_AT_MAX = 500_000


@dataclass(slots=True)
class Scene:
    """The canvas, its stretches, and the names of inputs (by which node) and variables."""

    draft: Draft
    canvas: Canvas
    regions: Regions
    feedback: list[Edge]
    # The router that decides, by the loop that it decides.
    deciders: dict[str, str]
    inputs: dict[str, str] = field(default_factory=dict)
    variables: frozenset[str] = frozenset()
    timeout_s: float | None = None
    # What texts refer to, by the node that holds the text: it waits for these, too.
    references: dict[str, set[str]] = field(default_factory=dict)
    # The names that a stretch binds for its body, beside its input.
    conversations: dict[str, list[Conversation]] = field(default_factory=dict)
    _dead: dict[str, bool] = field(default_factory=dict)
    # The nodes before each one, as bits.
    _before: dict[str, int] = field(default_factory=dict)
    _incoming: dict[str, dict[str, str]] = field(default_factory=dict)
    _bits: dict[str, int] = field(default_factory=dict)
    _referred: dict[str, list[str]] = field(default_factory=dict)
    _looked_at: int = 0

    def __post_init__(self) -> None:
        bits = {name: 1 << index for index, name in enumerate(self.canvas.nodes)}
        for name in self.canvas.order():
            edges = self.canvas.incoming[name]
            self._dead[name] = bool(edges) and all(self._may_be_dead(edge) for edge in edges)
            self._before[name] = bits[name]
            for edge in edges:
                self._before[name] |= self._before[edge.source]
        self._bits = bits

    def helper(self, node: str, word: str) -> str:
        """The name of something that is there for a node and is no node of the canvas."""
        name = f"{node}.{word}"
        while name in self.canvas.nodes:
            name += "_"
        return name

    def member(self, node: str, level: Region | None) -> str | None:
        """The node of a level that gives another node's result there; None: it is further out."""
        ended = self.regions.by_end.get(node)
        if ended is not None and ended is not level and not self._holds(ended, level):
            node = ended.start
        return self.regions.member(node, level)

    def _holds(self, region: Region, level: Region | None) -> bool:
        while level is not None and level is not region:
            level = level.parent
        return level is region

    def is_within(self, viewer: str, region: Region) -> bool:
        """Whether a node stands inside of a stretch; its end does, its start does not."""
        return self.regions.is_inside(viewer, region)

    def output(self, node: str, handle: str, viewer: str) -> str:
        """What a handle of a node carries, as another node sees it."""
        started = self.regions.by_start.get(node)
        if started is not None:
            return self._started(started, handle, viewer)
        ended = self.regions.by_end.get(node)
        if ended is not None:
            if self.is_within(viewer, ended):
                return known(node)
            return self._started(ended, handle if ended.kind == "iterator" else "output", viewer)
        kind = self.canvas.nodes[node].type
        if handle == "output" and kind in MAIN_FIELDS:
            return field_of(node, MAIN_FIELDS[kind])
        return known(node) if handle == "output" or kind == "input" else field_of(node, handle)

    def _started(self, region: Region, handle: str, viewer: str) -> str:
        if self.is_within(viewer, region):
            if region.kind == "iterator" and handle in ("index", "total"):
                return self.counted(region, handle)
            return known(region.start)
        if region.kind == "loop":
            named = handle in ("iterations", "count", "exit_reason")
            return field_of(region.start, handle if named else "output")
        return field_of(region.start, handle) if handle != "output" else known(region.start)

    def counted(self, region: Region, word: str) -> str:
        """Where in its turns a stretch is: index (from 0), total, iteration (from 1)."""
        if word == "total" and region.kind == "iterator":
            return f"({known(self.helper(region.start, 'items'))} | length)"
        if word == "iteration" and region.kind == "iterator":
            return f"({known(self.helper(region.start, 'index'))} + 1)"
        return known(self.helper(region.start, word))

    def carried(self, edge: Edge) -> str:
        """What an edge carries."""
        if edge.branch is not None:
            return field_of(edge.source, "value")
        return self.output(edge.source, edge.source_handle, edge.target)

    def live(self, edge: Edge) -> str:
        """When an edge carries anything; empty where it always does."""
        if edge.branch is not None:
            return called("took", quoted(edge.source), quoted(edge.branch))
        if not self._may_be_dead(edge):
            return ""
        ended = self.regions.by_end.get(edge.source)
        return called("ran", quoted(ended.start if ended else edge.source))

    def when(self, node: str) -> str:
        """When a node runs: when any edge to it carries something; empty means always."""
        if not self._dead.get(node):
            return ""
        return " or ".join(dict.fromkeys(map(self.live, self.canvas.incoming[node])))

    def incoming(self, node: str) -> dict[str, str]:
        """What comes in, by the handle where it ends; of several live edges the last one counts."""
        if node not in self._incoming:
            by_handle: dict[str, list[Edge]] = {}
            for edge in self.canvas.incoming[node]:
                by_handle.setdefault(edge.target_handle, []).append(edge)
            self._incoming[node] = {
                handle: self._picked(edges) for handle, edges in by_handle.items()
            }
        return self._incoming[node]

    def _picked(self, edges: list[Edge]) -> str:
        if len(edges) == 1:
            return self.carried(edges[0])
        choices: list[str] = []
        for edge in edges:
            choices += [self.live(edge) or "true", self.carried(edge)]
        return called("pick", *choices)

    def value(self, node: str) -> str:
        """All that comes in: bare where it is one value, or an object by handle."""
        found = self.incoming(node)
        if not found:
            return "none"
        if len(found) == 1 and next(iter(found)) in BARE:
            return next(iter(found.values()))
        inner = ", ".join(f"{quoted(handle)}: {source}" for handle, source in found.items())
        return f"({{ {inner} }})"

    def _may_be_dead(self, edge: Edge) -> bool:
        if edge.branch is not None:
            return True
        started = self.regions.by_start.get(edge.source)
        if started is not None and self.is_within(edge.target, started):
            return False
        ended = self.regions.by_end.get(edge.source)
        return self._dead.get(ended.start if ended else edge.source, False)

    def leads_to(self, node: str, other: str) -> bool:
        """Whether another node waits for this one, by edges, by texts, or by their stretches.

        When a file asks that too often, the answer is yes: its texts then wait for nothing more.
        """
        if self._before[node] & self._bits[other]:
            return False
        if self._looked_at > LOOKED_AT_MAX:
            return True
        seen = {node}
        queue = [node]
        for name in queue:
            around = self.regions.around(name)
            following = [edge.target for edge in self.canvas.outgoing[name]]
            following += self._referred.get(name, ())
            following += [around.end] if around is not None and name != around.end else []
            self._looked_at += len(following)
            for found in following:
                if found not in seen:
                    seen.add(found)
                    queue.append(found)
        return other in seen

    def refer(self, node: str, other: str) -> None:
        """A text of a node mentions another one."""
        known = self.references.setdefault(node, set())
        if other not in known:
            known.add(other)
            self._referred.setdefault(other, []).append(node)

    def input_nodes(self) -> list[CanvasNode]:
        """The nodes that take what a run is given."""
        return self.canvas.of_type("input")


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a model node of a loop remembers from turn to turn."""

    node: str
    name: str
    prompt: str
    keep: int
