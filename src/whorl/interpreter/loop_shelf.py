"""An iteration that a budget stops is put aside as it stands, so that it can go on with more money.

What is waited for in it is taken out of the run and kept with the loop; what was paid for stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter.frames import children_of
from whorl.interpreter.loop_record import close_iteration, keep_best
from whorl.interpreter.loop_result import tell_end

if TYPE_CHECKING:
    from whorl.interpreter.frames import LoopFrame
    from whorl.interpreter.state import State


def put_aside(machine: State, key: str) -> None:
    """Closes the present iteration without a result, or without a verdict, and keeps it."""
    frame = machine.loop_frames[key]
    if frame["phase"] == "body":
        tell_inner_loops(machine, frame)
        close_iteration(machine, key, status="cut")
    else:
        close_iteration(
            machine,
            key,
            status="succeeded",
            score=frame.get("score"),
            outside=frame.get("outside"),
            best=keep_best(machine, key) or None,
        )
    frame["shelf"] = {"phase": frame["phase"], "at": machine.now, "waits": {}}
    for inside in _inside(machine, key):
        for address in list(machine.frames[inside].get("waits", ())):
            frame["shelf"]["waits"][address] = machine.pending[address].copy()
            machine.forget(address)


def take_up(machine: State, key: str) -> None:
    """Goes on with the iteration that was put aside; the time in between counts for no clock."""
    frame = machine.loop_frames[key]
    shelf = frame.pop("shelf")
    frame["phase"] = shelf["phase"]
    for address, entry in shelf["waits"].items():
        inside, fields = entry["frame"], {k: v for k, v in entry.items() if k != "frame"}
        if inside in machine.frames and address not in machine.pending:
            if "due" in entry:
                fields["due"] = entry["due"] + machine.now - shelf["at"]
            machine.expect(address, inside, **fields)  # type: ignore[arg-type]
    machine.ask_again()


def discard(machine: State, key: str) -> None:
    """Forgets what was put aside: the loop goes another way."""
    frame = machine.loop_frames[key]
    if frame.pop("shelf", None) is not None:
        for child in children_of(frame):
            machine.drop(child)
        frame |= {"body": None, "judge": None, "children": {}}


def tell_inner_loops(machine: State, loop: LoopFrame) -> list[str]:
    """The loops that stand still inside end of the same budget, as far as anybody sees."""
    found = []
    body = loop.get("body")
    for inside in [body, *_inside(machine, body)] if body else ():
        frame = machine.frames[inside]
        if frame["kind"] == "loop" and "limits" in frame and "reason" not in frame:
            begins = frame["phase"] == "body" and not frame["begun"] and not frame.get("retries")
            if frame["phase"] == "body":
                close_iteration(machine, inside, status="not_begun" if begins else "cut")
            tell_end(machine, inside, "budget", iterations=frame["count"] - begins)
            found.append(inside)
    return found


def _inside(machine: State, key: str) -> list[str]:
    found = children_of(machine.loop_frames[key])
    for inside in found:
        found.extend(children_of(machine.frames[inside]))
    return found
