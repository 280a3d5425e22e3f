"""The table of constructs: what each kind of frame does when it is entered, told, and left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter import (
    block,
    branch,
    budget,
    call,
    foreach,
    gate,
    loop,
    loop_limit,
    signals,
    task,
    task_clock,
    wait,
)
from whorl.interpreter.evaluation import OverlayScope, value_of
from whorl.interpreter.frames import children_of
from whorl.interpreter.loop_result import abandon_loop, fail_loop
from whorl.interpreter.outcomes import error, failed, is_failure, language_failure
from whorl.ir import Task
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.frames import Frame, Outcome
    from whorl.interpreter.state import Behaviour, State
    from whorl.language import Json


TABLE: dict[str, Behaviour] = {
    "block": block.BlockBehaviour(),
    "branch": branch.BranchBehaviour(),
    "group": branch.GroupBehaviour(),
    "call": call.CallBehaviour(),
    "run": call.RunBehaviour(),
    "foreach": foreach.ForEachBehaviour(),
    "loop": loop.LoopBehaviour(),
    "task": task.TaskBehaviour(),
    "wait": wait.WaitBehaviour(),
    "gate": gate.GateBehaviour(),
    "signal": signals.SignalBehaviour(),
}

# The frames that stay after their end, so that a loop in them can be reopened and what failed in
# them can be tried again.
_KEPT = frozenset({"branch", "group", "call", "loop", "foreach", "block", "run"})


def abandon(machine: State, key: str) -> None:
    """A frame is taken away: a loop says so, and what is reserved for a call is charged."""
    frame = machine.frames[key]
    if frame["kind"] == "loop" and "reason" not in frame:
        abandon_loop(machine, key)
    if frame["kind"] == "task" and "reserve" in frame:
        budget.abandon(machine, frame)


def leave(machine: State, key: str, outcome: Outcome) -> None:
    """A frame has ended: shapes its value, stops its alarm and tells the frame above."""
    frame = machine.frames[key]
    if "node" in frame:
        outcome = _shaped(machine, frame, outcome)
        if "alarm" in frame and frame["alarm"] in machine.pending:
            machine.forget(frame["alarm"])
    parent = frame["parent"]
    if frame["kind"] in _KEPT:
        frame["ended"] = outcome["status"]
    if parent is None:
        machine.behaviour(frame).child_left(machine, key, key, outcome)
        return
    machine.behaviour(machine.frames[parent]).child_left(machine, parent, key, outcome)
    if key in machine.frames and frame["kind"] not in _KEPT:
        machine.drop(key)


def time_out(machine: State, key: str, address: str) -> None:
    """The time of a node is over: what is under way in it is cancelled."""
    frame = machine.frames[key]
    machine.settle(address)
    if frame["kind"] == "task":
        task_clock.ring(machine, key)
        return
    cause = error("R101", f"{frame['name']!r} took longer than its time", frame["address"])
    if frame["kind"] == "gate":
        gate.timed_out(machine, key)
        return
    if frame["kind"] == "loop":
        loop_limit.cut_short(machine, key, "timed_out")
        loop_limit.forget_question(machine, key)
        fail_loop(machine, key, cause, status="timed_out", reason="timeout")
        return
    for child in children_of(frame):
        machine.drop(child)
    for pending in list(frame.get("waits", ())):
        machine.forget(pending)
    frame |= {"children": {}, "body": None, "out_of_time": True}
    machine.finish(key, failed(cause, status="timed_out"))


def _shaped(machine: State, frame: Frame, outcome: Outcome) -> Outcome:
    node = machine.node(frame)
    shape = node.shape
    if shape is None or (is_failure(outcome) and outcome.get("value") is None):
        return outcome
    known: dict[str, Json] = {"it": outcome.get("value"), "$usage": outcome.get("usage")}
    if frame["kind"] == "loop":
        known["past"] = frame.get("past", [])
    scope = OverlayScope(known, machine.scope(frame))
    try:
        value = value_of(shape, scope)
        if isinstance(node, Task) and node.warns is not None:
            _warn(machine, frame, value_of(node.warns, scope))
    except LanguageError as fault:
        return failed(language_failure(fault, frame["address"]))
    return outcome | {"value": value}


def _warn(machine: State, frame: Frame, words: Json) -> None:
    if isinstance(words, str):
        machine.warn(frame["address"], "R113", words)
