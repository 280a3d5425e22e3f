"""What a rule looks at: a workflow, the names that each of its expressions sees, their values.

A node sees the nodes that it waits for, directly or through others, then what its loops bind, then
the same around them, then inputs and variables.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

from whorl.errors import Span, did_you_mean
from whorl.ir.checks.shapes import PLAIN, Shape, Shapes, part_of, shape_of_port
from whorl.ir.expressions import (
    Names,
    bound_names,
    conditions_in,
    expressions_in,
    inner_values,
    outer_values,
)
from whorl.ir.nodes import Assign, Block, ForEach, Loop, Node, Workflow
from whorl.ir.walk import Places, blocks_of, names_given, node_path, slot_path, walk
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.ir.values import Condition, Expression, Value

_LISTED_MAX = 12
# Comparing names costs time, and a hostile file has many of both.
_COMPARED_MAX = 500
Bound = dict[str, Shape | None]


@dataclass(frozen=True, slots=True)
class Subject:
    """One workflow of one file; the workflows that it calls were checked when they were read."""

    workflow: Workflow
    places: Places
    names: Names
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
        """All conditions of loops, each with its loop and where it stands."""
        for path, loop in self.loops():
            for condition in conditions_in(loop.until):
                yield path, loop, condition, self.places.part(condition) or self.places.node(path)


def suggest(name: str, choices: Iterable[str]) -> str:
    """Returns a help text: the nearest name, or what there is to choose from."""
    names = list(dict.fromkeys(islice(choices, _COMPARED_MAX)))
    question = did_you_mean(name, names)
    if question or not names:
        return question
    listed = ", ".join(names[:_LISTED_MAX])
    return f"there is {listed}" + (", ..." if len(names) > _LISTED_MAX else "")


@dataclass(frozen=True, slots=True)
class Use:
    """An expression, with what it sees from where it stands."""

    expression: Expression
    view: View
    path: str


@dataclass(slots=True)
class _Scope:
    """The names of one block: who gives them, and who is before whom."""

    givers: dict[str, tuple[int, Node]]
    before: list[int]
    all_nodes: int


@dataclass(frozen=True, slots=True)
class View:
    """What is seen from one place: a node of a block, or the end of it.

    `holder` is the node that the block belongs to, which binds its names.
    """

    scope: _Scope
    index: int | None
    shapes: Shapes
    bound: Bound = field(default_factory=dict)
    around: View | None = None
    holder: Node | None = None

    def find(self, name: str) -> tuple[bool, Shape | None]:
        """Whether a name is seen, and the shape of its value where that is known."""
        view, giver = self._giver(name)
        if view is None:
            return False, None
        return True, view.shapes.of(giver) if giver is not None else view.bound[name]

    def origin(self, name: str) -> Node | None:
        """The node that gives a name: the one that is called so, or the one that binds it."""
        view, giver = self._giver(name)
        return view.holder if giver is None and view is not None else giver

    def _giver(self, name: str) -> tuple[View | None, Node | None]:
        """The view that a name is seen in, and the node beside it that is called so."""
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
        """The nodes around here, the innermost first."""
        return (view.holder for view in self._enclosing() if view.holder is not None)

    def is_in_loop(self) -> bool:
        return any(isinstance(holder, Loop) for holder in self.holders())

    def later(self, name: str) -> bool:
        """Whether a name is that of a node around here which is not before this place."""
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
    """All expressions of a workflow, each with what it sees."""
    view = _top(workflow)
    yield from _uses((*(value for _, value in workflow.outputs), workflow.answer), view, "")
    start = replace(view, scope=_Scope({}, [], 0))
    yield from _uses((value for _, value in workflow.variables), start, "")
    yield from _uses((fields for _, fields in workflow.defaults), start, "")
    if (trigger := workflow.trigger) is not None:
        asked = (trigger.poll, trigger.subscribe, trigger.unsubscribe)
        rules = (*trigger.conditions, trigger.split_on, trigger.tracking, *asked)
        yield from _uses(rules, start, "")
    for path, values, seen in _seen_in(workflow.body, view, ""):
        yield from _uses(values, seen, path)


def views_in(workflow: Workflow) -> Iterator[tuple[str, View]]:
    """What each node sees, by its path without slots; of a loop, what its body sees comes last."""
    view = _top(workflow)
    yield "", view
    for path, _, seen in _seen_in(workflow.body, view, ""):
        yield "/".join(part.partition("@")[0] for part in path.split("/")), seen


def _top(workflow: Workflow) -> View:
    """What is seen at the end of a workflow."""
    top: Bound = {"workspace": PLAIN}
    top.update({port.name: shape_of_port(port) for port in workflow.inputs})
    top.update(dict.fromkeys(name for name, _ in workflow.variables))
    for _, node in walk(workflow.body):
        if isinstance(node, Assign):
            top.update(dict.fromkeys(name for name, _ in node.sets))
    shapes = Shapes(dict(workflow.workflows))
    return View(_scope_of(workflow.body), None, shapes, top)


def _seen_in(
    block: Block, at_end: View, path: str
) -> Iterator[tuple[str, Iterable[Value | None], View]]:
    """The values of the nodes of a block, with what they see."""
    for index, node in enumerate(block.nodes):
        at = node_path(path, node.name)
        view = replace(at_end, index=index)
        yield at, outer_values(node), view
        for slot, inner in blocks_of(node):
            inside = View(_scope_of(inner), None, view.shapes, _bound(node, view), view, node)
            if isinstance(node, Loop):
                yield at, inner_values(node), inside
            yield from _seen_in(inner, inside, slot_path(at, slot))


def _uses(values: Iterable[Value | None], view: View, path: str) -> Iterator[Use]:
    for value in values:
        for expression in expressions_in(value):
            yield Use(expression, view, path)


def _bound(node: Node, view: View) -> Bound:
    """What a node binds for the block inside of it; `view` is what the node itself sees."""
    bound: Bound = dict.fromkeys(bound_names(node))
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
    """For each node the set of nodes before it, as bits; nodes in a circle see less."""
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
