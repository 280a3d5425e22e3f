"""The subjects of rules: a workflow, the names that each of its expressions sees, their values.

A node sees the nodes that it waits for, directly or through others, then what its loops bind, then
the same around them, then inputs and variables. The shape of a result is what is known of it before
a run.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field, replace
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Literal

from whorl.errors import Span, did_you_mean
from whorl.ir import expressions, nodes
from whorl.ir.nodes import Assign, Block, ForEach, Loop, Node, Workflow
from whorl.ir.values import Expression, Port, Value
from whorl.ir.walk import Places, blocks_of, names_given, node_path, slot_path, walk
from whorl.language import path_in
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from whorl.ir.values import Condition
    from whorl.language import Json


# What is known about results before anything runs: the names in them, as deep as they go.
#
# A shape is a promise that the engine keeps: if it cannot promise, there is no shape.


@dataclass(frozen=True, slots=True)
class Shape:
    """An object with just these names (more if it is `open`), a list, or a plain value.

    A plain value that is certainly a text, such as a model's answer, is a `text`. If the shape of a
    part is None, it is unknown.
    """

    kind: Literal["object", "list", "text", "plain"]
    fields: Mapping[str, Shape | None] = field(default_factory=dict)
    items: Shape | None = None
    open: bool = False


PLAIN = Shape("plain")
TEXT = Shape("text")
_LOOP = Shape("object", dict.fromkeys(nodes.LOOP_FACTS, PLAIN))
_DECISION = Shape("object", {"approved": PLAIN, "feedback": None, "value": None})
_KINDS = {
    "ask": TEXT,
    "agent": TEXT,
    "run": Shape("object", dict.fromkeys(("stdout", "stderr", "exit_code"), PLAIN)),
    "http": Shape("object", {"status": PLAIN, "headers": None, "body": None, "encoding": PLAIN}),
    "file_read": Shape("object", {"path": PLAIN, "size": PLAIN, "content": None}),
    "file_write": Shape("object", dict.fromkeys(("path", "size"), PLAIN)),
}
_PLAIN_TYPES = frozenset({"string", "number", "integer", "boolean"})
_COMBINING = frozenset({"anyOf", "oneOf", "allOf", "$ref", "not", "if", "patternProperties"})
_DEPTH_MAX = 16


class Shapes:
    """The shapes of the results of nodes, each computed once."""

    __slots__ = ("_called", "_known")

    def __init__(self, called: Mapping[str, nodes.Workflow]) -> None:
        self._called = called
        # The node is kept beside its shape, so that its id stays its own.
        self._known: dict[int, tuple[nodes.Node, Shape | None]] = {}

    def of(self, node: nodes.Node) -> Shape | None:
        entry = self._known.get(id(node))
        if entry is None:
            # Workflows that call each other in a circle are reported elsewhere.
            self._known[id(node)] = (node, None)
            entry = (node, None if node.shape is not None else self._of(node))
            self._known[id(node)] = entry
        return entry[1]

    def _of(self, node: nodes.Node) -> Shape | None:
        match node:
            case nodes.Task() if any(name == "whole" for name, _ in node.inputs.entries):
                # The answer of an agent is inside of an object that describes its session.
                return None
            case nodes.Task() if node.returns is not None:
                return shape_of_schema(node.returns)
            case nodes.Task():
                return _KINDS.get(node.kind)
            case nodes.Call() if node.workflow in self._called:
                return self.of_outputs(self._called[node.workflow])
            case nodes.Gate():
                return _DECISION
            case nodes.Loop():
                return self._of_loop(node)
            case nodes.ForEach():
                return Shape("list", items=self.of_block(node.body))
            case nodes.Group() | nodes.Branch():
                inner = [block for _, block in blocks_of(node)]
                if all(block.open for block in inner):
                    fields = {n: s for one in inner for n, s in self.of_block(one).fields.items()}
                    return Shape("object", {"branch": PLAIN} | fields)
        return None

    def of_block(self, block: nodes.Block) -> Shape:
        return Shape("object", {name: self.of(node) for name, node in names_given(block)})

    def of_value(self, value: Value | None, find: Callable[[str], Shape | None]) -> Shape | None:
        """Returns the shape of a value that is only a path, such as `{{ review.notes }}`."""
        if not isinstance(value, Expression):
            return None
        path = path_in(value)
        return None if path is None else reduce(part_of, path[1], find(path[0]))

    def of_fact(self, loop: nodes.Loop, fact: nodes.Fact) -> Shape | None:
        match fact:
            case "previous" | "best":
                return self.of_block(loop.body)
            case "history":
                return Shape("list", items=self.of_block(loop.body))
            case "person":
                return _DECISION
            case "past":
                return None
        return PLAIN

    def _of_loop(self, loop: nodes.Loop) -> Shape:
        results = self.of_block(loop.body).fields
        fields = dict(results)
        if loop.returns == "all":
            fields = {name: Shape("list", items=shape) for name, shape in results.items()}
        for collect in loop.collect:
            shape = self.of_value(collect.value, results.get)
            fields[collect.name] = Shape("list", items=shape) if collect.take == "all" else shape
        return Shape("object", fields | {"loop": _LOOP})

    def of_outputs(self, workflow: nodes.Workflow) -> Shape | None:
        """Returns the shape of a workflow's outputs, or None if it names no outputs."""
        results = self.of_block(workflow.body).fields
        fields = {name: self.of_value(value, results.get) for name, value in workflow.outputs}
        return Shape("object", fields) if fields else None


def shape_of_port(port: Port) -> Shape | None:
    if port.type in _PLAIN_TYPES:
        return PLAIN
    return Shape("list") if port.type == "list" else None


def shape_of_schema(schema: Json, depth: int = 0) -> Shape | None:
    """Returns the shape of values that fit a JSON Schema, as far as the schema is certain."""
    if not isinstance(schema, dict) or depth > _DEPTH_MAX or not _COMBINING.isdisjoint(schema):
        return None
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _PLAIN_TYPES:
        return TEXT if kind == "string" else PLAIN
    if kind == "array":
        return Shape("list", items=shape_of_schema(schema.get("items"), depth + 1))
    properties = schema.get("properties")
    if kind != "object" or not isinstance(properties, dict):
        return None
    fields = {name: shape_of_schema(part, depth + 1) for name, part in properties.items()}
    required = schema.get("required")
    for name, shape in fields.items():
        if shape is TEXT and not (isinstance(required, list) and name in required):
            # It may be absent, so it is not certainly a text.
            fields[name] = PLAIN
    return Shape("object", fields, open=schema.get("additionalProperties") is not False)


def part_of(shape: Shape | None, key: str | int) -> Shape | None:
    """Returns the shape of a member or an item, as far as it is known."""
    if shape is None or isinstance(key, int):
        return shape and shape.items
    return shape.fields.get(key)


def lacks(shape: Shape, key: str | int) -> bool:
    """Checks whether a value of this shape certainly lacks a member; an index may always exist."""
    return isinstance(key, str) and not shape.open and key not in shape.fields


_LISTED_MAX = 12
# Comparing names costs time, and a hostile file has many of both.
COMPARED_MAX = 500
Bound = dict[str, Shape | None]


@dataclass(frozen=True, slots=True)
class Subject:
    """One workflow of one file; the workflows that it calls were checked when they were read."""

    workflow: Workflow
    places: Places
    names: expressions.Names
    is_budget_needed: bool = False
    facts: tuple[str, ...] = ()
    is_text_suspicious: bool = False

    def nodes(self) -> Iterator[tuple[str, Node]]:
        return walk(self.workflow.body)

    def loops(self) -> Iterator[tuple[str, Loop]]:
        for path, node in self.nodes():
            if isinstance(node, Loop):
                yield path, node

    def conditions(self) -> Iterator[tuple[str, Loop, Condition, Span | None]]:
        """Returns all conditions of loops, each with its loop and its place."""
        for path, loop in self.loops():
            for condition in expressions.conditions_in(loop.until):
                yield path, loop, condition, self.places.part(condition) or self.places.node(path)


def suggest(name: str, choices: Iterable[str]) -> str:
    """Returns a help text: the nearest name, or the possible names."""
    names = list(dict.fromkeys(islice(choices, COMPARED_MAX)))
    question = did_you_mean(name, names)
    if question or not names:
        return question
    listed = ", ".join(names[:_LISTED_MAX])
    return f"known: {listed}" + (", ..." if len(names) > _LISTED_MAX else "")


@dataclass(frozen=True, slots=True)
class Use:
    """An expression, with the names that it sees at its place."""

    expression: Expression
    view: View
    path: str


@dataclass(slots=True)
class _Scope:
    """The names of one block: the nodes that give them, and which node is before which."""

    givers: dict[str, tuple[int, Node]]
    before: list[int]
    all_nodes: int


@dataclass(frozen=True, slots=True)
class View:
    """The names that one place sees: a node of a block, or the end of it.

    `holder` is the node that the block belongs to, which binds its names.
    """

    scope: _Scope
    index: int | None
    shapes: Shapes
    bound: Bound = field(default_factory=dict)
    around: View | None = None
    holder: Node | None = None

    def find(self, name: str) -> tuple[bool, Shape | None]:
        """Returns whether a name is seen, and the shape of its value if that is known."""
        view, giver = self._giver(name)
        if view is None:
            return False, None
        return True, view.shapes.of(giver) if giver is not None else view.bound[name]

    def origin(self, name: str) -> Node | None:
        """Returns the node that gives a name: the node of that name, or the one that binds it."""
        view, giver = self._giver(name)
        return view.holder if giver is None and view is not None else giver

    def _giver(self, name: str) -> tuple[View | None, Node | None]:
        """Returns the view that a name is seen in, and the node of that name in it."""
        for view in self._enclosing():
            giver = view.scope.givers.get(name)
            if giver is not None and view._sees(giver[0]):
                return view, giver[1]
            if name in view.bound:
                return view, None
        return None, None

    def names(self) -> Iterator[str]:
        for view in self._enclosing():
            givers = view.scope.givers.items()
            yield from (name for name, (index, _) in givers if view._sees(index))
            yield from view.bound

    def holders(self) -> Iterator[Node]:
        """Returns the nodes around this place, the innermost first."""
        return (view.holder for view in self._enclosing() if view.holder is not None)

    def is_in_loop(self) -> bool:
        return any(isinstance(holder, Loop) for holder in self.holders())

    def later(self, name: str) -> bool:
        """Checks whether a node around this place has the name, although it is not before it."""
        return any(name in view.scope.givers for view in self._enclosing())

    def _enclosing(self) -> Iterator[View]:
        view: View | None = self
        while view is not None:
            yield view
            view = view.around

    def _sees(self, index: int) -> bool:
        seen = self.scope.all_nodes if self.index is None else self.scope.before[self.index]
        return bool(seen >> index & 1)


def uses_in(workflow: Workflow) -> Iterator[Use]:
    """Returns all expressions of a workflow, each with the names that it sees."""
    view = _top(workflow)
    yield from _uses((*(value for _, value in workflow.outputs), workflow.answer), view, "")
    start = replace(view, scope=_Scope({}, [], 0))
    yield from _uses((value for _, value in workflow.variables), start, "")
    yield from _uses((fields for _, fields in workflow.defaults), start, "")
    if (trigger := workflow.trigger) is not None:
        rules = (*trigger.conditions, trigger.split_on, trigger.tracking, trigger.poll)
        yield from _uses(rules, start, "")
    for path, values, seen in _seen_in(workflow.body, view, ""):
        yield from _uses(values, seen, path)


def views_in(workflow: Workflow) -> Iterator[tuple[str, View]]:
    """Returns the view of each node, by path without slots; that of a loop's body comes last."""
    view = _top(workflow)
    yield "", view
    for path, _, seen in _seen_in(workflow.body, view, ""):
        yield "/".join(part.partition("@")[0] for part in path.split("/")), seen


def _top(workflow: Workflow) -> View:
    """Returns the view at the end of a workflow."""
    top: Bound = {"workspace": PLAIN}
    top.update({port.name: shape_of_port(port) for port in workflow.inputs})
    top.update(dict.fromkeys(name for name, _ in workflow.variables))
    for _, node in walk(workflow.body):
        if isinstance(node, Assign):
            top.update(dict.fromkeys(name for name, _ in node.sets))
    return View(_scope_of(workflow.body), None, Shapes(dict(workflow.workflows)), top)


def _seen_in(
    block: Block, at_end: View, path: str
) -> Iterator[tuple[str, Iterable[Value | None], View]]:
    """Returns the values of the nodes of a block, with their views."""
    for index, node in enumerate(block.nodes):
        at = node_path(path, node.name)
        view = replace(at_end, index=index)
        yield at, expressions.outer_values(node), view
        for slot, inner in blocks_of(node):
            inside = View(_scope_of(inner), None, view.shapes, _bound(node, view), view, node)
            if isinstance(node, Loop):
                yield at, expressions.inner_values(node), inside
            yield from _seen_in(inner, inside, slot_path(at, slot))


def _uses(values: Iterable[Value | None], view: View, path: str) -> Iterator[Use]:
    for value in values:
        for expression in expressions.expressions_in(value):
            yield Use(expression, view, path)


def _bound(node: Node, view: View) -> Bound:
    """Returns the names that a node binds for the block inside it; `view` is that of the node."""
    bound: Bound = dict.fromkeys(expressions.bound_names(node))
    if isinstance(node, Loop):
        bound.update({name: view.shapes.of_fact(node, fact) for name, fact in node.facts})
        bound.update(dict.fromkeys(name for name, _ in node.bind))
    elif isinstance(node, ForEach):
        items = view.shapes.of_value(node.items, lambda name: view.find(name)[1])
        bound[node.item_name] = part_of(items, 0)
        if node.index_name:
            bound[node.index_name] = PLAIN
    return bound


def _scope_of(block: Block) -> _Scope:
    givers: dict[str, tuple[int, Node]] = {}
    for index, node in enumerate(block.nodes):
        givers.setdefault(node.name, (index, node))
        for _, inner in blocks_of(node):
            if inner.open:
                for name, giver in names_given(inner):
                    givers.setdefault(name, (index, giver))
    return _Scope(givers, _before(block), (1 << len(block.nodes)) - 1)


def _before(block: Block) -> list[int]:
    """Returns for each node the set of nodes before it, as bits; nodes in a circle see less."""
    places = {node.name: index for index, node in enumerate(block.nodes)}
    followers: list[list[int]] = [[] for _ in block.nodes]
    waiting = [0] * len(block.nodes)
    for index, node in enumerate(block.nodes):
        for name in {after.node for after in node.after} & places.keys():
            followers[places[name]].append(index)
            waiting[index] += 1
    before = [0] * len(block.nodes)
    ready = deque(index for index, count in enumerate(waiting) if count == 0)
    while ready:
        done = ready.popleft()
        for follower in followers[done]:
            before[follower] |= before[done] | 1 << done
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return before
