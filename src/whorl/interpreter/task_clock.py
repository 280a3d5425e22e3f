"""The clock of a task whose time is for all its attempts together, with the waits between them.

It is an alarm like that of any other node, set when the task begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter import budget
from whorl.interpreter.frames import children_of
from whorl.interpreter.outcomes import error, failed

if TYPE_CHECKING:
    from whorl.interpreter.frames import TaskFrame
    from whorl.interpreter.state import State
    from whorl.ir import Task
    from whorl.language import Json

# The alarm ends an attempt, not the provider: that has a little more time than is left.
_MORE_S = 1.0


def attempt_time(machine: State, frame: TaskFrame, node: Task) -> float | None:
    """What a provider may take for an attempt that begins now."""
    left = _left(machine, frame)
    return node.timeout_s if left is None or node.timeout_s is not None else left + _MORE_S


def is_over(machine: State, frame: TaskFrame) -> bool:
    """Whether the alarm is due, though nobody has looked at the clock yet: after a crash."""
    left = _left(machine, frame)
    return left is not None and left <= 0


def has_time(machine: State, frame: TaskFrame, due: float) -> bool:
    """Whether another attempt could begin at that time."""
    left = _left(machine, frame)
    return left is None or due < machine.now + left


def ring(machine: State, key: str) -> None:
    """The time is over: what is under way is cancelled, and counts as far as it was reserved."""
    frame = machine.task_frames[key]
    if machine.status == "paused" and "reserve" not in frame:
        return  # nothing of it may run: the clock begins anew when the run is resumed
    for child in children_of(frame):
        machine.drop(child)
    frame["children"] = {}
    node, address = machine.plan.tasks[frame["node"]], frame["address"]
    message = f"{frame['name']!r} took longer than {node.total_timeout_s:g} s, "
    message += "which is its time for all attempts together"
    cause = error("R101", message, address)
    told: dict[str, Json] = {"status": "failed", "error": cause}
    if "reserve" in frame:
        told["usage"] = _charge(machine, frame)
    for waited in list(frame["waits"]):
        machine.forget(waited)
    machine.note("node.finished", address, told)
    machine.finish(key, failed(cause, status="timed_out") | {"told": True})


def _charge(machine: State, frame: TaskFrame) -> dict[str, Json]:
    """What counts for a call that got no answer in time: its reservation, in doubt."""
    reserve = frame["reserve"]
    names = {"calls": "calls", "output_tokens": "tokens", "cost_usd": "cost_usd"}
    budget.abandon(machine, frame)
    budget.add_late_doubt(machine, frame["address"])
    used: dict[str, Json] = {name: reserve.get(held, 0) for name, held in names.items()}
    return used | {"in_doubt": 1}


def start_anew(machine: State) -> None:
    """A person lets a paused run go on: the time that it stood is no time of its tasks."""
    for key, frame in list(machine.frames.items()):
        if frame["kind"] == "task" and "alarm" in frame:
            if frame["alarm"] in machine.pending:
                machine.settle(frame["alarm"])
            seconds = machine.plan.tasks[frame["node"]].total_timeout_s
            assert seconds is not None
            machine.expect(frame["alarm"], key, "alarm", due=machine.now + seconds)


def _left(machine: State, frame: TaskFrame) -> float | None:
    alarm = machine.pending.get(frame.get("alarm", ""))
    return None if alarm is None else float(alarm["due"]) - machine.now
