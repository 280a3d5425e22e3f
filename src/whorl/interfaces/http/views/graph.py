"""A workflow as nodes and edges, for a page to draw.

The events of a run fall onto its graph: a node's path is its address in a run without the numbers
of iterations and attempts, and workflows that are called lie inside of the node that calls them.
"""

import json
from typing import Any

from whorl.errors import safe
from whorl.interfaces.diagrams.svg import reduced
from whorl.interfaces.diagrams.text import detail_words
from whorl.interfaces.formatting import line
from whorl.interfaces.http.schemas import workflows as schemas
from whorl.interfaces.status_words import condition_words, target_of
from whorl.interpreter.events import join
from whorl.ir import (
    Block,
    Call,
    Compute,
    Constant,
    Expression,
    Fields,
    ForEach,
    Gate,
    Items,
    Loop,
    Node,
    Task,
    Value,
    Workflow,
)
from whorl.ir.walk import blocks_of

NODES_MAX = 5_000
CALLS_MAX = 16
_SETTING_MAX = 20_000
_USUAL = (("passed",), ("succeeded",))
_LIMITS = ("iterations", "time_s", "iteration_time_s", "cost_usd", "tokens", "calls")


def graph_of(workflow: Workflow) -> schemas.Graph:
    drawing = _Drawing(workflow)
    drawing.block(workflow.body, workflow, "", "")
    name, dialect = safe(workflow.name), workflow.dialect
    return schemas.Graph(name=name, dialect=dialect, nodes=drawing.nodes, edges=drawing.edges)


class _Drawing:
    """Nodes and edges as they are found, outermost first."""

    def __init__(self, workflow: Workflow) -> None:
        self.nodes: list[schemas.GraphNode] = []
        self.edges: list[schemas.GraphEdge] = []
        self._workflows = dict(workflow.workflows)
        self._paths: set[str] = set()
        self._calls = 0

    def block(
        self, block: Block, workflow: Workflow, address: str, parent: str, case: str | None = None
    ) -> None:
        paths: list[str] = []
        for node in block.nodes:
            if isinstance(node, Call) and node.unnamed:
                paths.append("")
                self._called(node, address, parent)
                continue
            # Two cases of a branch may have steps of one name, which events cannot tell apart.
            path = location = join(address, node.name)
            number = 2
            while path in self._paths:
                path, number = f"{location}~{number}", number + 1
            self._paths.add(path)
            paths.append(path)
            if len(self.nodes) >= NODES_MAX:
                continue
            self.nodes.append(_node(node, workflow, path, parent, case))
            if isinstance(node, Call):
                self._called(node, location, path)
            for slot, inner in blocks_of(node):
                named = None if slot == "body" else slot.removeprefix("case.")
                self.block(inner, workflow, location, path, named)
            if isinstance(node, Loop) and node.body.nodes:
                self._feedback(node, location)
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
        nodes = node.body.nodes
        followed = {after.node for inner in nodes for after in inner.after}
        first = next((inner for inner in nodes if not inner.after), nodes[0])
        last = [inner for inner in nodes if inner.name not in followed] or [nodes[-1]]
        names = ", ".join(carry.name for carry in node.carry)
        ends = [join(address, inner.name) for inner in (last[-1], first)]
        if all(end in self._paths for end in ends):
            self._edge(ends[0], ends[1], line(names, 60), "feedback")

    def _edge(self, source: str, target: str, label: str, kind: str) -> None:
        edge = {"from": source, "to": target, "label": label, "kind": kind}
        self.edges.append(schemas.GraphEdge.model_validate(edge))


def _node(
    node: Node, workflow: Workflow, path: str, parent: str, case: str | None
) -> schemas.GraphNode:
    return schemas.GraphNode(
        path=path,
        name=safe(node.name),
        kind=type(node).__name__.lower(),
        title=line(node.name, 80),
        detail=safe(detail_words(node)),
        task=node.kind if isinstance(node, Task) else None,
        model=_model(node, workflow) if isinstance(node, Task) else None,
        parent=parent,
        case=case,
        when=line(node.when.source, 200) if node.when is not None else None,
        loop=_loop(node) if isinstance(node, Loop) else None,
        ports=_ports(node) if isinstance(node, Loop | ForEach) else None,
        settings=_settings(node),
    )


def _ports(loop: Loop | ForEach) -> schemas.GraphPorts | None:
    words: Any = loop.words or {}
    ports = words.get("ports")
    if not ports or not any(ports.values()):
        return None
    sides = {side: [line(name, 80) for name in names] for side, names in ports.items()}
    return schemas.GraphPorts.model_validate(sides)


def _settings(node: Node) -> dict[str, str]:
    """What a step is given, as the file writes it."""
    given: list[tuple[str, Value]] = []
    match node:
        case Task() | Call():
            given = [(str(name), value) for name, value in node.inputs.entries]
        case Gate():
            given = [("message", node.message), ("show", node.show)]
        case Compute():
            given = [("value", node.value)]
        case ForEach():
            given = [("items", node.items)]
    return {name: safe(words)[:_SETTING_MAX] for name, value in given if (words := _written(value))}


def _written(value: Value) -> str:
    match value:
        case Constant():
            plain = value.value
            return plain if isinstance(plain, str) else "" if plain is None else json.dumps(plain)
        case Expression():
            return value.source
        case Items():
            return f"[{', '.join(_written(item) for item in value.items)}]"
        case Fields():
            parts = (f"{name}: {_written(part)}" for name, part in value.entries)
            return f"{{{', '.join(parts)}}}"


def _model(task: Task, workflow: Workflow) -> str | None:
    usual = (fields.entries for kind, fields in workflow.defaults if kind == task.kind)
    model = dict(task.inputs.entries).get("model") or dict(next(usual, ())).get("model")
    words = ""
    if isinstance(model, Constant) and model.value is not None:
        plain = model.value
        words = ", ".join(map(str, plain)) if isinstance(plain, list) else str(plain)
    elif isinstance(model, Expression):
        words = model.source
    return line(words, 80) or None


def _loop(loop: Loop) -> schemas.GraphLoop:
    limits = {name: getattr(loop.limits, name) for name in _LIMITS}
    return schemas.GraphLoop(
        until=condition_words(loop.until),
        target=target_of(loop.until),
        limits={
            name: line(limit.source, 80) if isinstance(limit, Expression) else limit
            for name, limit in limits.items()
            if limit is not None
        },
        carry=[carry.name for carry in loop.carry],
        **{name: getattr(loop, name) for name in ("on_limit", "check", "returns", "ask")},
    )
