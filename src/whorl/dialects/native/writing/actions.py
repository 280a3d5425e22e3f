"""Steps that the engine does itself: set, value, wait, approve, stop, break and continue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.writing import duration_text
from whorl.ir.durations import parse_duration, parse_time

if TYPE_CHECKING:
    from whorl.dialects.native.writing.here import Here


def write_assign(here: Here, node: ir.Assign) -> dict[str, Any]:
    """The setting of variables."""
    if node.operation != "set":
        here.lose(f"variables that are changed by {node.operation!r}", "a step can only set them")
    return {"set": {here.naming.of(name): here.value(value) for name, value in node.sets}}


def write_compute(here: Here, node: ir.Compute) -> dict[str, Any]:
    """A value that is computed."""
    return {"value": here.value(node.value)}


def write_wait(here: Here, node: ir.Wait) -> dict[str, Any]:
    """A wait for a duration, or until a time."""
    if node.until is not None:
        return {"wait": _time(here, node.until)}
    duration = node.duration if node.duration is not None else ir.Constant(0)
    if isinstance(duration, ir.Constant):
        return {"wait": constant_duration(here, duration)}
    return {"wait": here.text(duration)}


def constant_duration(here: Here, duration: ir.Constant) -> str | float:
    """A duration that is written down."""
    value = duration.value
    try:
        assert isinstance(value, str | int | float)
        return duration_text(parse_duration(value))
    except (ValueError, AssertionError):
        here.lose(f"the duration {value!r}", "it is none that the format can read")
        return "0s"


def _time(here: Here, until: ir.Value) -> str:
    if isinstance(until, ir.Constant) and isinstance(until.value, str):
        try:
            parse_time(until.value)
            return until.value
        except ValueError:
            pass
    here.lose("a time that is computed", "`wait` computes durations only")
    return "0s"


def write_gate(here: Here, node: ir.Gate) -> dict[str, Any]:
    """A question to a person."""
    gate: dict[str, Any] = {"message": here.text(node.message)}
    if node.show != ir.Constant(None):
        gate["show"] = here.value(node.show)
    if node.timeout_s is not None:
        gate["timeout"] = duration_text(node.timeout_s)
    if node.on_timeout != "fail":
        gate["on_timeout"] = node.on_timeout
    if node.on_reject != "result":
        gate["on_reject"] = node.on_reject
    return {"approve": gate["message"] if len(gate) == 1 else gate}


def write_stop(here: Here, node: ir.Stop) -> dict[str, Any]:
    """The end of the run."""
    has_message = node.message != ir.Constant(None)
    if node.status == "succeeded" and node.output is None:
        message = here.text(node.message) if has_message else ""
        return {"stop": message or True}
    stop: dict[str, Any] = {"status": node.status}
    if has_message:
        stop["message"] = here.text(node.message)
    if node.output is not None:
        stop["output"] = here.value(node.output)
    return {"stop": stop}


def write_break(here: Here, node: ir.Break) -> dict[str, Any]:
    """The end of a loop."""
    return {"break": _loop(here, node.loop)}


def write_continue(here: Here, node: ir.Continue) -> dict[str, Any]:
    """The end of an iteration."""
    return {"continue": _loop(here, node.loop)}


def _loop(here: Here, name: str) -> str | bool:
    return True if here.loops and here.loops[-1] == name else here.naming.of(name)
