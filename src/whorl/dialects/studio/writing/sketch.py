"""What a writer knows of the workflow that it draws: ports, stretches, and what each node is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.studio.writing.drawing import Drawing
from whorl.dialects.studio.writing.trees import called, text_of, tree_of
from whorl.dialects.writing import Spot
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.ir.walk import blocks_of, walk

if TYPE_CHECKING:
    from collections.abc import Collection

    from whorl.dialects.writing import Ledger

TARGET = "a canvas"


@dataclass(slots=True)
class Sketch:
    """One canvas that is being drawn; `is_own` says that its workflow was read from one."""

    workflow: ir.Workflow
    ledger: Ledger
    files: dict[str, str]
    key: str = ""
    drawing: Drawing = field(default_factory=Drawing)
    # The node that closes each stretch, by the one that opens it.
    ends: dict[str, str] = field(default_factory=dict)
    # The names that texts of each node refer to.
    references: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[str, ir.Node] = field(default_factory=dict)
    # The nodes of the outermost block, and those that may not run.
    top: frozenset[str] = frozenset()
    unsure: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for _, node in walk(self.workflow.body):
            self.nodes.setdefault(node.name, node)
            end = end_of(node)
            if end:
                self.ends[node.name] = end
            if isinstance(node, ir.Branch):
                self.unsure |= {name for name, _ in _held(node)}
        self.top = frozenset(node.name for node in self.workflow.body.nodes)

    @property
    def is_own(self) -> bool:
        """Whether the workflow was read from a canvas."""
        return self.workflow.dialect == "studio"

    @property
    def ports(self) -> dict[str, ir.Port]:
        """The inputs of the workflow by name."""
        return {port.name: port for port in self.workflow.inputs}

    @property
    def variables(self) -> set[str]:
        """The names of the workflow's variables."""
        return {name for name, _ in self.workflow.variables}


@dataclass(frozen=True, slots=True)
class Here:
    """A node of the workflow that is being drawn."""

    sketch: Sketch
    node: ir.Node
    path: str
    # The node that opens the stretch around; empty on the canvas itself.
    around: str = ""

    @property
    def spot(self) -> Spot:
        """Where it stands."""
        return Spot(self.path, self.node.place, self.sketch.key)

    @property
    def drawing(self) -> Drawing:
        """The canvas."""
        return self.sketch.drawing

    def lose(self, what: str, why: str) -> None:
        """Lists what a canvas cannot say here."""
        self.sketch.ledger.lose(self.spot, what, why)

    def lose_unsaid(self, item: Any, said: Collection[str]) -> None:
        """Lists whatever a part of the IR says beside the fields that are written."""
        lose_unsaid(self.sketch.ledger, self.spot, item, said, target=TARGET)


def _held(node: ir.Node) -> list[tuple[str, ir.Node]]:
    return [(inner.name, inner) for _, block in blocks_of(node) for _, inner in walk(block)]


def end_of(node: ir.Node) -> str:
    """The node that closes the stretch that a node opens; empty if it opens none."""
    if not isinstance(node, ir.Loop | ir.ForEach):
        return ""
    if isinstance(node.shape, ir.Expression):
        name, arguments = called(tree_of(node.shape))
        if name in ("ended", "gathered") and len(arguments) > 1:
            return text_of(arguments[1]) or ""
    return f"{node.name}_{'exit' if isinstance(node, ir.Loop) else 'results'}"
