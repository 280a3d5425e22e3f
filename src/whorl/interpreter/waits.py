"""Waits, gates and jumps: nodes that wait for a time or a person, or end something around them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from whorl.interpreter import loop, run
from whorl.interpreter.evaluation import seconds_of, shown, text_of, value_of
from whorl.interpreter.events import inner
from whorl.interpreter.frames import error_at, failed, succeeded
from whorl.interpreter.state import Behaviour
from whorl.ir import Break, Continue, Gate, Stop, Wait
from whorl.ir.durations import parse_time
from whorl.language import EvaluationError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import WaitFrame
    from whorl.interpreter.state import State
    from whorl.language import Json, Scope

WAIT_MAX_S = 366 * 86_400.0
# Far enough away, as seconds since the epoch, for no sum of it to be too large.
MOMENT_MAX = 1e15


class WaitBehaviour(Behaviour):
    """Durable pauses, which a restart does not begin anew."""

    def enter(self, machine: State, key: str) -> None:
        """Computes when the wait is over."""
        frame = cast("WaitFrame", machine.frames[key])
        node = machine.node(frame)
        assert isinstance(node, Wait)
        frame["due"] = _due(node, machine.scope(frame), machine.now)
        if frame["due"] <= machine.now:
            machine.finish(key, succeeded())
        else:
            machine.expect(inner(frame["address"], "wait"), key, "timer", due=frame["due"])

    def receive(self, machine: State, key: str, event: Event) -> None:
        """The time has come."""
        machine.settle(event.address)
        machine.finish(key, succeeded())


class GateBehaviour(Behaviour):
    """A person decides."""

    def enter(self, machine: State, key: str) -> None:
        """Asks."""
        frame = machine.frames[key]
        node = _gate(machine, key)
        scope = machine.scope(frame)
        message, show = text_of(node.message, scope), value_of(node.show, scope)
        machine.expect(frame["address"], key, "gate")
        body: dict[str, Json] = {"reason": "gate", "message": message, "show": show}
        machine.note("gate.waiting", frame["address"], body)

    def receive(self, machine: State, key: str, event: Event) -> None:
        """A person has decided."""
        machine.settle(event.address)
        _decide(machine, key, bool(event.body.get("approved")), event.body.get("feedback"))

    def time_out(self, machine: State, key: str) -> None:
        """Nobody has decided in time."""
        frame = machine.frames[key]
        on_timeout = _gate(machine, key).on_timeout
        machine.forget(frame["address"])
        if on_timeout == "fail":
            message = f"nobody decided {frame['name']!r} in time"
            error = error_at(frame["address"], "R101", message)
            machine.finish(key, failed(error, status="timed_out"))
        else:
            _decide(machine, key, on_timeout == "approve", "nobody decided in time")


class SignalBehaviour(Behaviour):
    """Stop, break and continue: they end the run, a loop, or its iteration."""

    def enter(self, machine: State, key: str) -> None:
        """Ends it."""
        node = machine.node(machine.frames[key])
        if isinstance(node, Stop):
            _stop(machine, key, node)
            return
        assert isinstance(node, Break | Continue)
        around = machine.frames[key]["loop"]
        while around is not None and machine.frames[around]["name"] != node.loop:
            around = machine.frames[around]["loop"]
        assert around is not None, f"no loop {node.loop!r} around (the checks refuse this)"
        loop.interrupt(machine, around, breaks=isinstance(node, Break))


def _gate(machine: State, key: str) -> Gate:
    node = machine.node(machine.frames[key])
    assert isinstance(node, Gate)
    return node


def _decide(machine: State, key: str, approved: bool, feedback: Json) -> None:
    """The gate opens, or it does not."""
    frame = machine.frames[key]
    if not approved and _gate(machine, key).on_reject == "fail":
        message = f"{frame['name']!r} was rejected: {feedback or 'no reason given'}"
        machine.finish(key, failed(error_at(frame["address"], "R108", message)))
        return
    machine.finish(key, succeeded({"approved": approved, "feedback": feedback or ""}))


def _stop(machine: State, key: str, node: Stop) -> None:
    frame = machine.frames[key]
    scope = machine.scope(frame)
    message = text_of(node.message, scope)
    output = value_of(node.output, scope) if node.output is not None else None
    if node.status == "succeeded":
        outcome = succeeded({"message": message} if output is None else {"output": output})
    else:
        message = message or f"stopped by {frame['name']!r}"
        outcome = failed(error_at(frame["address"], "R109", message), status=node.status)
    run.end_now(machine, outcome)


def _due(node: Wait, scope: Scope, now: float) -> float:
    if node.until is not None:
        due = _moment(value_of(node.until, scope))
    else:
        assert node.duration is not None
        due = _due_after(value_of(node.duration, scope), now)
    # What is no number at all is not smaller either.
    if not due - now <= WAIT_MAX_S:
        raise EvaluationError(
            f"a wait of {due - now:g} s is longer than a year, the most that it can be"
        )
    return due


def _due_after(value: Json, now: float) -> float:
    """When a computed wait is over; whether it is a duration or a time, only its value tells."""
    try:
        return now + max(0.0, seconds_of(value))
    except EvaluationError:
        if isinstance(value, str):
            with suppress(ValueError):
                return parse_time(value)
        raise


def _moment(value: Json) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(max(min(value, MOMENT_MAX), -MOMENT_MAX))
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        raise EvaluationError(
            f"a time such as '2026-01-31T12:00:00Z' is needed, not {shown(value)}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
