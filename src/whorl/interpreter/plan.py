"""The plan of a workflow: everything about it that can be known before it runs, computed once."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from whorl import ir
from whorl.ir import AllOf, AnyOf, Call, Constant, Fields, ForEach, Items, Judge, Loop, Task
from whorl.ir.expressions import expressions_in, inner_values, outer_values
from whorl.ir.walk import blocks_of, is_hidden, names_given, walk, workflows_of
from whorl.language import is_light
from whorl.language.libraries import open_library
from whorl.lazily import dataclass
from whorl.plugins import load_reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.interpreter.frames import End, Values
    from whorl.ir import Block, Condition, Expression, Node, Value, Workflow
    from whorl.language import Json

# What a model that answers may ask for: a tool of a server, a task of the operator.
TOOL_KINDS = ("tool", "use")
_UNSUBSCRIBE_S = 30.0


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """A block with its order: which nodes wait for which, and the names that it gives outside.

    `given` has these names by node: its own, and those of open blocks inside it.
    """

    key: str
    block: Block
    nodes: dict[str, Node]
    needs: dict[str, frozenset[str]]
    followers: dict[str, tuple[str, ...]]
    starts: tuple[str, ...]
    exports: tuple[str, ...]
    given: dict[str, tuple[str, ...]]

    def downstream(self, name: str) -> list[str]:
        """Returns all nodes of the block that wait for a node, directly or through others."""
        names: dict[str, None] = {}
        queue = list(self.followers[name])
        for follower in queue:
            if follower not in names:
                names[follower] = None
                queue.extend(self.followers[follower])
        return list(names)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A simple condition. Its number, from 1 in the order of writing, tells it from all others."""

    number: int
    condition: Condition

    @property
    def id(self) -> str:
        return str(self.number)


@dataclass(frozen=True, slots=True)
class Combined:
    """Several conditions, of which one must be met, or `every` one."""

    every: bool
    parts: tuple[Rule, ...]


Rule: TypeAlias = Leaf | Combined


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """When a loop ends: its rule, and of its simple conditions those that need something kept.

    `decides` says whether there is anything that can be met; a score may be measured only.
    """

    rule: Rule | None
    scores: dict[str, ir.Score]
    stables: dict[str, ir.Stable]
    plateaus: dict[str, ir.Plateau]
    judges: dict[str, Judge]
    decides: bool


def loop_plan(condition: Condition | None) -> LoopPlan:
    leaves: list[Leaf] = []
    rule = None if condition is None else _rule(condition, leaves)
    return LoopPlan(
        rule=rule,
        scores={x.id: x.condition for x in leaves if isinstance(x.condition, ir.Score)},
        stables={x.id: x.condition for x in leaves if isinstance(x.condition, ir.Stable)},
        plateaus={x.id: x.condition for x in leaves if isinstance(x.condition, ir.Plateau)},
        judges={x.id: x.condition for x in leaves if isinstance(x.condition, Judge)},
        decides=any(getattr(x.condition, "at_least", 0) is not None for x in leaves),
    )


def _rule(condition: Condition, leaves: list[Leaf]) -> Rule:
    if isinstance(condition, AnyOf | AllOf):
        parts = tuple(_rule(part, leaves) for part in condition.conditions)
        return Combined(isinstance(condition, AllOf), parts)
    leaves.append(Leaf(len(leaves) + 1, condition))
    return leaves[-1]


class Recorder(Protocol):
    """Keeps records of the nodes that have ended, in a table that expressions can read.

    A library brings one. The table, the variables of the workflow as one object, and the items of
    the for-eachs around an item are values of these names. The facts of a node that has ended are
    `now`, `started`, `inputs`, `value` and the branch that was `taken`.
    """

    table: str
    variables: str
    items: str

    def begin(self, workflow: Workflow, run: str) -> Values:
        """Returns the names that a workflow begins with."""

    def node_ended(
        self, table: Values, node: Node, end: End, others: dict[str, End], **facts: Json
    ) -> None:
        """Records that a node has ended; `others` are the ends of those in its block."""

    def item_values(self, table: Values, node: ForEach, item: Json, items: Json) -> Values:
        """Returns the names that an item of a for-each begins with, beside its own."""

    def item_ended(self, table: Values, node: ForEach) -> dict[str, Any]:
        """Returns the records of an item's body when the item is done."""

    def items_ended(
        self, table: Values, node: ForEach, rows: list[dict[str, Any]], now: float
    ) -> None:
        """Records that all items are done; the rows are the records of each."""


class Plan:
    """Nodes and blocks of a workflow, and of all that it calls, by key."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.workflows = dict(workflows_of(workflow))
        self.recorders: dict[str, Recorder] = {
            part.recorder: cast("Recorder", load_reference(open_library(part.recorder).recorder))
            for part in self.workflows.values()
            if part.recorder
        }
        self.nodes: dict[str, Node] = {}
        self.loops: dict[str, Loop] = {}
        self.tasks: dict[str, Task] = {}
        self.blocks: dict[str, BlockPlan] = {}
        self.rules: dict[str, LoopPlan] = {}
        # For-eachs with loops in them: their items are kept, so that a loop can be reopened.
        self.keeping: set[str] = set()
        self.owners: dict[str, Workflow] = {}
        for key, part in self.workflows.items():
            self._add(part.body, f"{key}:", part)
        # Whether it is code that says what is done, and what runs of it have requested so far.
        self.has_program = any(isinstance(node, ir.Program) for node in self.nodes.values())
        self._requested: dict[str, list[tuple[Json, str]]] = {}
        # Whether the state of a run may hold hidden values.
        ports = (port for part in self.workflows.values() for port in part.inputs)
        self.is_confidential = any(port.secret for port in ports) or any(
            node.secure_outputs for node in self.nodes.values()
        )

    @cached_property
    def is_light(self) -> bool:
        """Checks whether all that it computes is cheap as long as the values are small."""
        values = [value for part in self.workflows.values() for _, value in part.variables]
        values += [value for part in self.workflows.values() for _, value in part.outputs]
        for node in self.nodes.values():
            values += [*outer_values(node), node.shape]  # type: ignore[list-item]
            if isinstance(node, Loop):
                values += inner_values(node)  # type: ignore[arg-type]
        return all(is_light(e) for value in values for e in expressions_in(value))

    @cached_property
    def awaits_calls(self) -> bool:
        """Checks whether a task may wait until an address of the run is called."""
        return any(isinstance(node, Task) and node.awaits_call for node in self.nodes.values())

    def path_of(self, key: str) -> str:
        """Returns the path of a node; one that was requested in several ways has several keys."""
        path = key.partition(":")[2]
        return path.partition("?")[0] if self.has_program else path

    def with_requested(self, requested: Mapping[str, Mapping[str, Sequence[Any]]]) -> Plan:
        """Returns a plan for one run, with the nodes that its code has requested, by their keys."""
        plan = copy(self)
        for name in ("nodes", "loops", "tasks", "blocks", "rules", "owners"):
            setattr(plan, name, dict(getattr(self, name)))
        plan._requested = {}
        for block, names in requested.items():
            for name, ways in names.items():
                for encoded in ways:
                    plan.request(block, name, encoded)
        return plan

    def request(self, block: str, name: str, encoded: dict[str, Json]) -> tuple[str, bool]:
        """Adds a node that code has requested; returns its key, and whether it is new."""
        base = block + name
        ways = self._requested.setdefault(base, [])
        for known, key in ways:
            if known == encoded:
                return key, False
        key = base if not ways else f"{base}?{len(ways) + 1}"
        ways.append((encoded, key))
        node = ir.node_from_json({**encoded, "name": name})
        self._add_all_of(node, key, base, self.workflow)
        for slot, _ in blocks_of(node):
            self.blocks[inner_key(key, slot)] = self.blocks[inner_key(base, slot)]
        return key, True

    def recorder(self, node_key: str) -> Recorder | None:
        return self.recorders.get(self.owners[node_key].recorder) if self.recorders else None

    def _add(self, block: Block, key: str, owner: Workflow) -> None:
        nodes = {node.name: node for node in block.nodes}
        given = {n.name: tuple(dict(names_given(ir.Block((n,))))) for n in block.nodes}
        followers: dict[str, list[str]] = {name: [] for name in nodes}
        for node in block.nodes:
            for after in node.after:
                followers[after.node].append(node.name)
        self.blocks[key] = BlockPlan(
            key=key,
            block=block,
            nodes=nodes,
            needs={n.name: frozenset(after.node for after in n.after) for n in block.nodes},
            followers={name: tuple(names) for name, names in followers.items()},
            starts=tuple(node.name for node in block.nodes if not node.after),
            exports=tuple(name for names in given.values() for name in names),
            given=given,
        )
        for node in block.nodes:
            self._add_all_of(node, key + node.name, key + node.name, owner)

    def _add_all_of(self, node: Node, key: str, base: str, owner: Workflow) -> None:
        """Adds a node with what is in it; the keys of that begin with `base`."""
        self._add_node(key, node, owner)
        if isinstance(node, Task) and node.kind == "ask":
            for kind in TOOL_KINDS:
                self._add_node(tool_key(key, kind), _tool_task(node, kind), owner)
        if isinstance(node, Task) and node.unsubscribe is not None:
            self._add_node(unsubscribe_key(key), _unsubscribe_task(node.unsubscribe), owner)
        if isinstance(node, Loop):
            rules = self.rules[key] = loop_plan(node.until)
            hidden = is_hidden(node, self.workflows)
            for index, judge in enumerate(rules.judges.values()):
                self._add_node(judge_key(key, index), _judge_task(judge, hidden=hidden), owner)
        if isinstance(node, ForEach) and self._has_loop(node.body, frozenset()):
            self.keeping.add(key)
        for slot, inner in blocks_of(node):
            self._add(inner, inner_key(base, slot), owner)

    def _has_loop(self, block: Block, seen: frozenset[str]) -> bool:
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
        self.owners[key] = owner


def inner_key(node_key: str, slot: str) -> str:
    return f"{node_key}/" if slot == "body" else f"{node_key}@{slot}/"


def judge_key(loop_key: str, index: int) -> str:
    return f"{loop_key}?judge{index}"


def tool_key(task_key: str, kind: str) -> str:
    return f"{task_key}?{kind}"


def unsubscribe_key(task_key: str) -> str:
    return f"{task_key}?unsubscribe"


def _unsubscribe_task(written: Value) -> Task:
    """Makes the task that removes an address; its inputs may hold keys, and its time is short."""
    kind = dict(written.entries).get("kind") if isinstance(written, Fields) else None
    name = str(kind.value) if isinstance(kind, Constant) else "http"
    return Task(name="unsubscribe", kind=name, secure=True, timeout_s=_UNSUBSCRIBE_S)


def _tool_task(asking: Task, kind: str) -> Task:
    alike = ("timeout_s", "delivery", "secure", "secure_outputs")
    return Task(name=kind, kind=kind, **{name: getattr(asking, name) for name in alike})


def _judge_task(judge: Judge, *, hidden: bool) -> Task:
    """Makes the task of a loop's judge, which sees and quotes the results of its steps."""
    models = Items(tuple(Constant(name) for name in judge.model))
    entries: tuple[tuple[str | Expression, Value], ...] = (
        ("question", judge.question),
        ("text", judge.subject),
        ("model", models if judge.model else Constant(None)),
        *(judge.inputs.entries if isinstance(judge.inputs, Fields) else ()),
    )
    # What is as usual is left out: so the inputs of a call stay what they were.
    if judge.reason is not None:
        entries += (("reason", Constant(judge.reason)),)
    if judge.evidence:
        entries += (("evidence", Constant(True)),)
    asked = Fields(entries)
    return Task(name="judge", kind="judge", inputs=asked, secure=hidden, secure_outputs=hidden)
