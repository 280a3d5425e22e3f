"""A workflow as nodes and edges, named so that the events of a run fall onto them.

A node's path is its address in a run without the numbers of iterations and attempts. Workflows
that are called lie inside of the node that calls them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import safe
from whorl.interfaces.diagram import detail_words
from whorl.interfaces.figures import line
from whorl.interfaces.http.schemas.workflows import Graph, GraphEdge, GraphLoop, GraphNode
from whorl.interfaces.picture.rows import reduced
from whorl.interfaces.wording import condition_words, target_of
from whorl.interpreter.events import join
from whorl.ir import Call, Constant, Expression, Loop, Task
from whorl.ir.walk import blocks_of

if TYPE_CHECKING:
    from whorl.ir import Block, Node, Value, Workflow

NODES_MAX = 5_000
CALLS_MAX = 16
_USUAL = (("passed",), ("succeeded",))


def graph_of(workflow: Workflow) -> Graph:
    """The graph of a workflow with all that it calls."""
    drawing = _Drawing(workflow)
    drawing.block(workflow.body, workflow, "", "")
    return Graph(
        name=safe(workflow.name),
        dialect=workflow.dialect,
        nodes=drawing.nodes,
        edges=drawing.edges,
    )


class _Drawing:
    """Nodes and edges as they are found, outermost first."""

    def __init__(self, workflow: Workflow) -> None:
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self._workflows = dict(workflow.workflows)
        self._paths: set[str] = set()
        self._calls = 0

    def block(
        self, block: Block, workflow: Workflow, address: str, parent: str, case: str | None = None
    ) -> None:
        """Adds the nodes of a block, what lies in them, and the edges between them."""
        paths: list[str] = []
        for node in block.nodes:
            is_unnamed = isinstance(node, Call) and node.unnamed
            here = address if is_unnamed else join(address, node.name)
            if is_unnamed:
                assert isinstance(node, Call)
                paths.append("")
                self._called(node, here, parent)
                continue
            path = self._unique(here)
            paths.append(path)
            if len(self.nodes) >= NODES_MAX:
                continue
            self.nodes.append(_node(node, workflow, path, parent, case))
            if isinstance(node, Call):
                self._called(node, here, path)
            for slot, inner in blocks_of(node):
                named = None if slot == "body" else slot.removeprefix("case.")
                self.block(inner, workflow, here, path, named)
            if isinstance(node, Loop) and node.body.nodes:
                self._feedback(node, here)
        self._order(block, paths)

    def _called(self, node: Call, address: str, parent: str) -> None:
        called = self._workflows.get(node.workflow)
        if called is None or self._calls >= CALLS_MAX:
            return
        self._calls += 1
        self.block(called.body, called, address, parent)
        self._calls -= 1

    def _order(self, block: Block, paths: list[str]) -> None:
        places = {node.name: at for at, node in enumerate(block.nodes)}
        labels: dict[tuple[int, int], str] = {}
        for at, node in enumerate(block.nodes):
            for after in node.after:
                if after.node in places:
                    usual = after.statuses in _USUAL
                    label = "" if usual else line(", ".join(after.statuses), 60)
                    labels[places[after.node], at] = label
        plain = {link for link, label in labels.items() if not label}
        kept = set(reduced(len(block.nodes), sorted(plain))) | (set(labels) - plain)
        for source, target in sorted(kept):
            if paths[source] and paths[target]:
                self._edge(paths[source], paths[target], labels[source, target], "order")

    def _feedback(self, node: Loop, address: str) -> None:
        """What leads from the end of a loop's body to its beginning."""
        nodes = node.body.nodes
        followed = {after.node for one in nodes for after in one.after}
        first = next((one for one in nodes if not one.after), nodes[0])
        last = [one for one in nodes if one.name not in followed] or [nodes[-1]]
        names = ", ".join(carry.name for carry in node.carry)
        ends = [join(address, one.name) for one in (last[-1], first)]
        if all(end in self._paths for end in ends):
            self._edge(ends[0], ends[1], line(names, 60), "feedback")

    def _edge(self, source: str, target: str, label: str, kind: str) -> None:
        self.edges.append(
            GraphEdge.model_validate({"from": source, "to": target, "label": label, "kind": kind})
        )

    def _unique(self, path: str) -> str:
        """Two cases of a branch may have steps of one name, which events cannot tell apart."""
        found, number = path, 2
        while found in self._paths:
            found, number = f"{path}~{number}", number + 1
        self._paths.add(found)
        return found


def _node(node: Node, workflow: Workflow, path: str, parent: str, case: str | None) -> GraphNode:
    return GraphNode(
        path=path,
        name=safe(node.name),
        kind=type(node).__name__.lower(),  # type: ignore[arg-type]
        title=line(node.name, 80),
        detail=safe(detail_words(node)),
        task=node.kind if isinstance(node, Task) else None,
        model=_model(node, workflow) if isinstance(node, Task) else None,
        parent=parent,
        case=case,
        when=line(node.when.source, 200) if node.when is not None else None,
        loop=_loop(node) if isinstance(node, Loop) else None,
    )


def _model(task: Task, workflow: Workflow) -> str | None:
    own = dict(task.inputs.entries).get("model")
    if own is None:
        usual = next((fields for kind, fields in workflow.defaults if kind == task.kind), None)
        own = dict(usual.entries).get("model") if usual is not None else None
    return None if own is None else line(_shown(own), 80) or None


def _shown(value: Value) -> str:
    if isinstance(value, Constant):
        plain = value.value
        if plain is None:
            return ""
        return ", ".join(map(str, plain)) if isinstance(plain, list) else str(plain)
    return value.source if isinstance(value, Expression) else ""


def _loop(loop: Loop) -> GraphLoop:
    limits = loop.limits
    told: dict[str, Any] = {
        "iterations": limits.iterations,
        "time_s": limits.time_s,
        "iteration_time_s": limits.iteration_time_s,
        "cost_usd": limits.cost_usd,
        "tokens": limits.tokens,
        "calls": limits.calls,
    }
    return GraphLoop(
        until=condition_words(loop.until),
        target=target_of(loop.until),
        limits={
            name: line(limit.source, 80) if isinstance(limit, Expression) else limit
            for name, limit in told.items()
            if limit is not None
        },
        on_limit=loop.on_limit,
        check=loop.check,
        carry=[carry.name for carry in loop.carry],
        returns=loop.returns,
        ask=loop.ask,
    )
