"""The plan of a workflow: everything about it that can be known before it runs, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.interpreter.verdict import measures_of
from whorl.ir import AllOf, AnyOf, Call, Constant, Fields, ForEach, Items, Judge, Loop, Task
from whorl.ir.hidden import is_hidden
from whorl.ir.walk import blocks_of, walk, workflows_of

if TYPE_CHECKING:
    from whorl.interpreter.verdict import Measures
    from whorl.ir import Block, Condition, Expression, Node, Value, Workflow
    from whorl.ir.fields import After


# What a model that answers may ask for: a tool of a server, a task of the operator.
TOOL_KINDS = ("tool", "use")


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """A block with its order: who waits for whom, and which names it gives to the outside.

    `given` has these names by node: its own, and those of open blocks inside it.
    """

    key: str
    block: Block
    nodes: dict[str, Node]
    waits: dict[str, tuple[After, ...]]
    needs: dict[str, frozenset[str]]
    followers: dict[str, tuple[str, ...]]
    starts: tuple[str, ...]
    exports: tuple[str, ...]
    given: dict[str, tuple[str, ...]]

    def node_key(self, name: str) -> str:
        """The key under which the plan knows a node of this block."""
        return self.key + name

    def downstream(self, name: str) -> list[str]:
        """All nodes of the block that wait for a node, directly or through others."""
        found: list[str] = []
        queue = list(self.followers[name])
        while queue:
            follower = queue.pop(0)
            if follower not in found:
                found.append(follower)
                queue.extend(self.followers[follower])
        return found


class Plan:
    """Nodes and blocks of a workflow, and of all that it calls, by key."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.workflows = dict(workflows_of(workflow))
        self.records = any(part.statuses for part in self.workflows.values())
        self.nodes: dict[str, Node] = {}
        self.loops: dict[str, Loop] = {}
        self.tasks: dict[str, Task] = {}
        self.blocks: dict[str, BlockPlan] = {}
        self.measures: dict[str, Measures | None] = {}
        # For-eachs with loops in them: their items are kept, so that a loop can be reopened.
        self.keeping: set[str] = set()
        self._owners: dict[str, Workflow] = {}
        for key, part in self.workflows.items():
            self._add(part.body, f"{key}:", part)

    def workflow_of(self, node_key: str) -> Workflow:
        """The workflow that a node belongs to."""
        return self._owners[node_key]

    def _add(self, block: Block, key: str, owner: Workflow) -> None:
        nodes = {node.name: node for node in block.nodes}
        given = {node.name: tuple(_given(node)) for node in block.nodes}
        followers: dict[str, list[str]] = {name: [] for name in nodes}
        for node in block.nodes:
            for after in node.after:
                followers[after.node].append(node.name)
        self.blocks[key] = BlockPlan(
            key=key,
            block=block,
            nodes=nodes,
            waits={node.name: node.after for node in block.nodes},
            needs={n.name: frozenset(after.node for after in n.after) for n in block.nodes},
            followers={name: tuple(found) for name, found in followers.items()},
            starts=tuple(node.name for node in block.nodes if not node.after),
            exports=tuple(name for names in given.values() for name in names),
            given=given,
        )
        for node in block.nodes:
            self._add_node(key + node.name, node, owner)
            if isinstance(node, Task) and node.kind == "ask":
                for kind in TOOL_KINDS:
                    self._add_node(tool_key(key + node.name, kind), _tool_task(node, kind), owner)
            if isinstance(node, Loop):
                self.measures[key + node.name] = measures_of(node.until)
                hidden = is_hidden(node, self.workflows)
                for index, judge in enumerate(judges_of(node.until)):
                    asked = _judge_task(judge, hidden=hidden)
                    self._add_node(judge_key(key + node.name, index), asked, owner)
            if isinstance(node, ForEach) and self._has_loop(node.body, frozenset()):
                self.keeping.add(key + node.name)
            for slot, inner in blocks_of(node):
                self._add(inner, inner_key(key + node.name, slot), owner)

    def _has_loop(self, block: Block, seen: frozenset[str]) -> bool:
        """Whether there is a loop in a block, or in a workflow that it calls."""
        for _, node in walk(block):
            if isinstance(node, Loop):
                return True
            if isinstance(node, Call) and node.workflow not in seen:
                called = self.workflows.get(node.workflow)
                if called and self._has_loop(called.body, seen | {node.workflow}):
                    return True
        return False

    def _add_node(self, key: str, node: Node, owner: Workflow) -> None:
        self.nodes[key] = node
        if isinstance(node, Loop):
            self.loops[key] = node
        elif isinstance(node, Task):
            self.tasks[key] = node
        self._owners[key] = owner


def inner_key(node_key: str, slot: str) -> str:
    """The key of a block inside a node."""
    return f"{node_key}/" if slot == "body" else f"{node_key}@{slot}/"


def judge_key(loop_key: str, index: int) -> str:
    """The key of the task that asks a loop's judge."""
    return f"{loop_key}?judge{index}"


def tool_key(task_key: str, kind: str) -> str:
    """The key of the task that does what a model asks for while it answers."""
    return f"{task_key}?{kind}"


def judges_of(condition: Condition | None) -> list[Judge]:
    """The judges in a condition, in the order in which they are written."""
    if isinstance(condition, Judge):
        return [condition]
    if isinstance(condition, AnyOf | AllOf):
        return [judge for part in condition.conditions for judge in judges_of(part)]
    return []


def _tool_task(asking: Task, kind: str) -> Task:
    return Task(
        name=kind,
        kind=kind,
        timeout_s=asking.timeout_s,
        delivery=asking.delivery,
        secure=asking.secure,
        secure_outputs=asking.secure_outputs,
    )


def _judge_task(judge: Judge, *, hidden: bool) -> Task:
    """The judge of a loop sees what its steps gave, and quotes it."""
    model = Items(tuple(Constant(name) for name in judge.model))
    entries: list[tuple[str | Expression, Value]] = [
        ("question", judge.question),
        ("text", judge.subject),
        ("model", model if judge.model else Constant(None)),
    ]
    if isinstance(judge.inputs, Fields):
        entries.extend(judge.inputs.entries)
    return Task(
        name="judge",
        kind="judge",
        inputs=Fields(tuple(entries)),
        secure=hidden,
        secure_outputs=hidden,
    )


def _given(node: Node) -> list[str]:
    names = [node.name]
    for _, inner in blocks_of(node):
        if inner.open:
            names.extend(name for one in inner.nodes for name in _given(one))
    return names
