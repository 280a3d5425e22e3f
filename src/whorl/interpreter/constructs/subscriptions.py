"""Addresses that tasks gave away for a call, and how they are taken back when nobody waits for it.

That is a task of its own, right below the run: what gave the address away has ended by then, or was
cancelled. A run ends only after all of its addresses are taken back, or cannot be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.interpreter.events import inner
from whorl.interpreter.frames import discard, is_failure
from whorl.interpreter.plan import unsubscribe_key
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.frames import Outcome, TaskFrame, Values
    from whorl.interpreter.state import State
    from whorl.ir import Task
    from whorl.language import Json

ENDING = "the run is about to end: it removes its webhook subscriptions"
_FAILED = "a webhook subscription was not removed"


def keep(machine: State, frame: TaskFrame, node: Task, reply: Json) -> None:
    """Computes how the address is taken back, now that the other side has said what it made."""
    assert node.unsubscribe is not None
    scope = machine.scope(frame)
    try:
        outputs = reply
        if node.shape is not None:
            outputs = value_of(node.shape, OverlayScope({"it": reply}, scope))
        record: Json = {"name": node.name, "outputs": outputs}
        undo: Any = value_of(node.unsubscribe, OverlayScope({"$action": record}, scope))
    except LanguageError as fault:
        machine.warn(frame["address"], "R116", f"{node.name!r}: {_FAILED}: {fault}")
        return
    if isinstance(undo, dict):
        frame["unsubscribe"] = undo.get("inputs") or {}


def take_back(machine: State, frame: TaskFrame) -> None:
    root = machine.state["root"]
    address = inner(frame["base"], "unsubscribe")
    fields: Values = {"node": unsubscribe_key(frame["node"]), "base": address, "address": address}
    fields |= {"name": frame["name"], "attempt": 1, "extra": frame.pop("unsubscribe")}
    scope = machine.frames[root]["own_scope"]
    child = machine.new_frame("task", parent=root, scope=scope, **fields)
    machine.plain_frames[root].setdefault("unsubscribing", {})[child] = 1
    machine.enter(child)


def taken_back(machine: State, child: str, outcome: Outcome) -> bool:
    """Whether what has ended right below the run was this; a failure is no failure of the run."""
    root = machine.plain_frames[machine.state["root"]]
    if root.get("unsubscribing", {}).pop(child, None) is None:
        return False
    if is_failure(outcome):
        frame = machine.frames[child]
        cause = outcome["error"].get("cause", outcome["error"])["message"]
        machine.warn(frame["address"], "R116", f"{frame['name']!r}: {_FAILED}: {cause}")
    return True


def is_unsubscribing(machine: State) -> bool:
    """Whether addresses are being taken back."""
    root = machine.plain_frames.get(machine.state["root"])
    return root is not None and bool(root.get("unsubscribing"))


def leave(machine: State) -> None:
    """Another run has given the addresses away, and takes them back."""
    for frame in machine.task_frames.values():
        if frame["kind"] == "task":
            discard(frame, "unsubscribe")
    for child in machine.plain_frames[machine.state["root"]].pop("unsubscribing", {}):
        machine.drop(child)
