"""Steps that the engine does itself: set, value, wait, approve, stop, break and continue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from whorl import ir
from whorl.dialects.native.scalars import duration_of, is_template, is_time, text_of, word_of
from whorl.dialects.native.values import read_value
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft, Step
    from whorl.dialects.native.fields import Common

_STATUSES = ("succeeded", "failed", "cancelled")


def read_set(draft: Draft, step: Step, common: Common) -> ir.Assign:
    """Reads the setting of variables."""
    sets = step.get("set")
    entries = sets.entries if isinstance(sets, Mapping) else ()
    return ir.Assign(
        sets=tuple((entry.name, read_value(draft, entry.value)) for entry in entries), **common
    )


def read_computed_value(draft: Draft, step: Step, common: Common) -> ir.Compute:
    """Reads a value that is computed."""
    return ir.Compute(value=read_value(draft, step.get("value")), **common)


def read_wait(draft: Draft, step: Step, common: Common) -> ir.Wait:
    """Reads a wait: for a duration, or until a time."""
    value = step.get("wait")
    seconds = duration_of(value)
    if seconds is not None:
        return ir.Wait(duration=ir.Constant(seconds), **common)
    if isinstance(value, Scalar) and is_time(value):
        return ir.Wait(until=ir.Constant(value.text), **common)
    if is_template(text_of(value) or ""):
        return ir.Wait(duration=read_value(draft, value), **common)
    return ir.Wait(duration=ir.Constant(0.0), **common)


def read_approve(draft: Draft, step: Step, common: Common) -> ir.Gate:
    """Reads a question to a person."""
    gate = step.get("approve")
    if not isinstance(gate, Mapping):
        return ir.Gate(message=read_value(draft, gate), **common)
    timeout = duration_of(gate.get("timeout"))
    if timeout is not None:
        common = {**common, "timeout_s": timeout}
    on_timeout = word_of(gate.get("on_timeout"), ("approve", "reject", "fail"), "fail")
    on_reject = word_of(gate.get("on_reject"), ("result", "fail"), "result")
    return ir.Gate(
        message=read_value(draft, gate.get("message")),
        show=read_value(draft, gate.get("show")),
        on_timeout=cast("Literal['approve', 'reject', 'fail']", on_timeout),
        on_reject=cast("Literal['result', 'fail']", on_reject),
        **common,
    )


def read_stop(draft: Draft, step: Step, common: Common) -> ir.Stop:
    """Reads the end of the run."""
    stop = step.get("stop")
    if not isinstance(stop, Mapping):
        message = text_of(stop)
        return ir.Stop(message=read_value(draft, stop if message else None), **common)
    status = word_of(stop.get("status"), _STATUSES, "succeeded")
    output = stop.get("output")
    return ir.Stop(
        status=cast("Literal['succeeded', 'failed', 'cancelled']", status),
        message=read_value(draft, stop.get("message")),
        output=None if output is None else read_value(draft, output),
        **common,
    )


def read_break(draft: Draft, step: Step, common: Common) -> ir.Break:
    """Reads the end of a loop."""
    return ir.Break(loop=_loop_name(draft, step, "break"), **common)


def read_continue(draft: Draft, step: Step, common: Common) -> ir.Continue:
    """Reads the end of an iteration."""
    return ir.Continue(loop=_loop_name(draft, step, "continue"), **common)


def _loop_name(draft: Draft, step: Step, field: str) -> str:
    value = step.get(field)
    name = text_of(value)
    if name:
        return name
    if step.around.loops:
        return step.around.loops[-1]
    draft.report(
        "W010",
        f"step {step.name!r} stands in no loop that it could {field}",
        step.key.span,
        label="no loop around it",
        help="put it inside of a `repeat`, or use `stop` to end the run",
    )
    return ""
