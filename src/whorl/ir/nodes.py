"""The nodes of a workflow: control is this closed union, work is any kind of `Task`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from whorl.ir.fields import After, NodeFields
from whorl.ir.loop import Loop
from whorl.ir.values import Constant, Fields

if TYPE_CHECKING:
    from whorl.ir.values import Expression, Value
    from whorl.language import Json

__all__ = [
    "After",
    "Assign",
    "Block",
    "Branch",
    "Break",
    "Call",
    "Case",
    "Compute",
    "Continue",
    "ForEach",
    "Gate",
    "Group",
    "Loop",
    "Node",
    "Stop",
    "Task",
    "Wait",
    "timed_as_a_whole",
]


@dataclass(frozen=True, slots=True)
class Block:
    """A graph of nodes, ordered by `after`; nodes that do not wait for each other run in parallel.

    An open block puts its results into the scope around it, a closed one keeps them. At most
    `concurrency` nodes run at once; None means as many as are ready. When a node has failed, all
    that does not wait for it goes on; with `halt` nothing new begins, and with `cancel` what runs
    is cancelled, too.
    """

    nodes: tuple[Node, ...]
    open: bool = False
    concurrency: int | None = None
    on_failure: Literal["go_on", "halt", "cancel"] = "go_on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(NodeFields):
    """Work that a provider does: ask a model, call HTTP, run a command, call a function.

    `returns` is a JSON Schema that the result is checked against. `defaults` on the workflow fill
    inputs that are absent. The inputs of a secure task are stored nowhere; what it gives is shown
    to nobody where `secure_outputs` says so. `timeout_s` is for one attempt, `total_timeout_s` for
    all attempts together, with the waits between them. `warns` is computed from the result as
    `shape` is: a text is a warning of the run, null is none.
    """

    kind: str
    inputs: Fields = Fields()
    returns: Json = None
    repairs: int = 1
    session: str = ""
    delivery: Literal["at_least_once", "at_most_once", "ask"] = "at_least_once"
    secure: bool = False
    secure_outputs: bool = False
    total_timeout_s: float | None = None
    warns: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEach(NodeFields):
    """Runs its body for each item; its result is the list of the bodies' results, in order.

    It succeeds when at least this part of the items did; a failed item's result is null. With
    `on_item_failure` halt, no further item begins after one has failed.
    """

    items: Value
    body: Block
    item_name: str = "item"
    index_name: str = ""
    concurrency: int = 1
    items_max: int = 100_000
    item_timeout_s: float | None = None
    min_success_rate: float = 1.0
    on_item_failure: Literal["continue", "halt"] = "continue"


@dataclass(frozen=True, slots=True)
class Case:
    """One branch: taken when `when` is true or the subject equals `equals`."""

    name: str
    body: Block
    when: Expression | None = None
    equals: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(NodeFields):
    """Takes the first case that fits, or the default."""

    cases: tuple[Case, ...]
    subject: Value | None = None
    default: Case | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(NodeFields):
    """A block as a node."""

    body: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(NodeFields):
    """Runs another workflow, which sees nothing but these inputs.

    A call that is `unnamed`, alone in its block, lends its nodes the address of the block:
    `outer[1]/inner` and not `outer[1]/call/inner`.
    """

    workflow: str
    inputs: Fields = Fields()
    unnamed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute(NodeFields):
    """Computes a value; with `over`, one for each item of a list that `keep` is true of.

    Each item is visible as `$item` while its value is computed. `warns` is as that of a task.
    """

    value: Value
    over: Value | None = None
    keep: Expression | None = None
    warns: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign(NodeFields):
    """Sets variables of the workflow, in order; or appends to them (lists, texts), or adds."""

    sets: tuple[tuple[str, Value], ...]
    operation: Literal["set", "append", "join", "add"] = "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(NodeFields):
    """Waits durably: for a duration (seconds or text such as 5s, PT5S), or until a time."""

    duration: Value | None = None
    until: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(NodeFields):
    """Waits for a person's decision."""

    message: Value
    show: Value = Constant(None)
    on_timeout: Literal["approve", "reject", "fail"] = "fail"
    on_reject: Literal["result", "fail"] = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(NodeFields):
    """Ends the run."""

    status: Literal["succeeded", "failed", "cancelled"] = "succeeded"
    message: Value = Constant(None)
    output: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Break(NodeFields):
    """Ends the named loop; the iteration counts."""

    loop: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue(NodeFields):
    """Ends this iteration of the named loop; the next one begins unless a limit is reached."""

    loop: str


Node: TypeAlias = (
    Task
    | Loop
    | ForEach
    | Branch
    | Group
    | Call
    | Compute
    | Assign
    | Wait
    | Gate
    | Stop
    | Break
    | Continue
)


def timed_as_a_whole(node: Node) -> Node:
    """The node with its timeout for all attempts together, also where it is a task."""
    if not isinstance(node, Task):
        return node
    return replace(node, timeout_s=None, total_timeout_s=node.timeout_s)
