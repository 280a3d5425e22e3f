"""How a loop ends: its value, its exit reason, and what it says about both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import conversation
from whorl.interpreter.address import inner
from whorl.interpreter.loop_record import close_iteration, loop_of
from whorl.interpreter.outcomes import error, failed, succeeded
from whorl.interpreter.verdict import can_be_met

if TYPE_CHECKING:
    from whorl.interpreter.frames import LoopFrame
    from whorl.interpreter.state import State
    from whorl.language import Json


def end_loop(
    machine: State, key: str, reason: str, *, by: str = "", iteration: int | None = None
) -> None:
    """The loop has ended well; its value is that of the iteration that it returns."""
    frame = machine.loop_frames[key]
    if frame.get("failures") and "last" not in frame and "failure" not in frame:
        fail_loop(machine, key, all_failed(frame))
        return
    failure = frame.get("failure")
    if failure is not None and failure["number"] == frame["count"] and iteration is None:
        fail_loop(machine, key, failure["error"], reason=reason)
        return
    number, results = returned(machine, key)
    collected = frame.get("collected", {})
    if iteration is not None:
        number, results = iteration, frame["accepted"]
        collected = collected | frame["accepted_collected"]
    summary = _summary(machine, key, reason, by, number)
    told = {name: summary[name] for name in _TOLD}
    value = results | collected | {"loop": told}
    disarm(machine, key)
    machine.note("loop.finished", frame["address"], summary)
    frame["reason"] = reason
    machine.finish(key, succeeded(value))


def all_failed(frame: LoopFrame) -> dict[str, Any]:
    """The error of a loop without a good iteration: that of the last one that failed."""
    last = frame["fault"]
    count = frame["failures"]
    which = "the only iteration" if count == 1 else f"all {count} iterations"
    message = f"{which} of {frame['name']!r} failed: {last['message']}"
    cause = last.get("cause") or {"code": last["code"], "message": last["message"]}
    return error("R112", message, frame["address"], cause=cause)


def fail_loop(
    machine: State,
    key: str,
    cause: dict[str, Any],
    *,
    status: str = "failed",
    reason: str = "failed",
) -> None:
    """The loop has failed; its frame stays, so that what failed can be tried again."""
    frame = machine.loop_frames[key]
    if "limits" in frame:
        disarm(machine, key)
        number, _ = returned(machine, key)
        summary = _summary(machine, key, reason, "", number) | {"error": cause}
        machine.note("loop.finished", frame["address"], summary)
    frame["reason"] = reason
    machine.finish(key, failed(cause, status=status))


def abandon_loop(machine: State, key: str) -> None:
    """Something around a loop ends while it runs."""
    frame = machine.loop_frames[key]
    frame["reason"] = "cancelled"
    if "limits" not in frame:
        return
    if frame["phase"] == "body" and frame.get("body"):
        close_iteration(machine, key, status="cancelled")
    disarm(machine, key)
    tell_end(machine, key, "cancelled")


def tell_end(machine: State, key: str, reason: str, **facts: Json) -> None:
    """Says how a loop ended, which gives no result to anybody."""
    number, _ = returned(machine, key)
    summary = _summary(machine, key, reason, "", number) | facts
    machine.note("loop.finished", machine.loop_frames[key]["address"], summary)


_TOLD = (
    "iterations",
    "exit_reason",
    "stopped_by",
    "score",
    "best_iteration",
    "returned_iteration",
)


def returned(machine: State, key: str) -> tuple[int | None, dict[str, Json]]:
    """The iteration that the loop returns, and its results."""
    frame = machine.loop_frames[key]
    match loop_of(machine, key).returns:
        case "best":
            if "best" in frame:
                return frame["best"]["number"], frame["best"]["results"]
        case "first":
            if "first" in frame:
                return frame["first"]["number"], frame["first"]["results"]
        case "all":
            return None, dict(frame.get("all", {}))
    return frame.get("last"), frame.get("previous", {})


def _summary(machine: State, key: str, reason: str, by: str, number: int | None) -> dict[str, Json]:
    frame = machine.loop_frames[key]
    best = frame.get("best")
    mark = _MARKS.get(reason) if can_be_met(loop_of(machine, key).until) else None
    facts: dict[str, Json] = {"mark": mark} if mark else {}
    return facts | {
        "path": frame["node"].partition(":")[2],
        "iterations": frame["count"],
        "exit_reason": reason,
        "stopped_by": by or None,
        "score": _score_of(frame, number),
        "best_iteration": best["number"] if best else None,
        "returned_iteration": number,
        "failed_iterations": [*frame.get("failed", ())],
        "usage": {**frame["usage"]},
        "seconds": round(machine.now - frame["started"], 3),
    }


# How people are told that a loop stopped before it was done.
_MARKS = {"max_iterations": "limit", "timeout": "limit", "budget": "budget"}


def _score_of(frame: LoopFrame, number: int | None) -> float | None:
    """The score of the iteration that the loop returns, if that is known; else of the last one."""
    best = frame.get("best")
    if best is not None and best["number"] == number and best["score"] is not None:
        return float(best["score"])
    is_accepted = number is not None and number == frame.get("accepted_number")
    return frame.get("accepted_score") if is_accepted else frame.get("score")


def disarm(machine: State, key: str) -> None:
    """Stops the clocks of a loop and forgets the conversations that it continued."""
    address = machine.loop_frames[key]["address"]
    for alarm in ("time", "delay", "retry"):
        if inner(address, alarm) in machine.pending:
            machine.forget(inner(address, alarm))
    forget_sessions(machine, key)


def forget_sessions(machine: State, key: str) -> None:
    """Forgets the conversations in a loop."""
    sessions = machine.state["sessions"]
    if sessions:
        for session in [name for name in sessions if name.startswith(f"{key} ")]:
            del sessions[session]
    conversation.forget(machine, key)
