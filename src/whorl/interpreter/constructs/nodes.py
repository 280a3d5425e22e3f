"""The smaller nodes: groups and branches, which hold blocks; waits, gates and jumps."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whorl.interpreter.constructs import run
from whorl.interpreter.constructs.block import new_block, results
from whorl.interpreter.constructs.loops import loop
from whorl.interpreter.evaluation import seconds_of, shown, value_of
from whorl.interpreter.events import inner
from whorl.interpreter.outcomes import error_at, failed, is_failure, succeeded
from whorl.interpreter.plan import inner_key
from whorl.interpreter.state import Behaviour
from whorl.ir import Branch, Break, Gate, Stop, Wait
from whorl.ir.values import parse_time
from whorl.language import EvaluationError, to_text, truth

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, Values
    from whorl.interpreter.state import State
    from whorl.ir import Case
    from whorl.language import Json, Scope

WAIT_MAX_S = 366 * 86_400.0
# Far enough away, as seconds since the epoch, for no sum of it to be too large.
MOMENT_MAX = 1e15


class GroupBehaviour(Behaviour):
    """A block as a node; its value is the results by name."""

    stays = True

    def enter(self, machine: State, key: str) -> None:
        _start_block(machine, key, "body")

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        if not is_failure(outcome):
            taken = machine.plain_frames[key].get("branch")
            branch: Values = {} if taken is None else {"branch": taken}
            outcome = succeeded(branch | results(machine, child))
        machine.finish(key, outcome)


class BranchBehaviour(GroupBehaviour):
    """A branch; its value is the results, and the name of the branch taken."""

    def enter(self, machine: State, key: str) -> None:
        frame = machine.plain_frames[key]
        node: Branch = machine.node(frame)
        scope = machine.scope(frame)
        subject = value_of(node.subject, scope) if node.subject is not None else None
        taken = next((case for case in node.cases if _fits(case, subject, scope)), node.default)
        if taken is None:
            machine.finish(key, succeeded({"branch": None}))
            return
        frame["branch"] = taken.name
        machine.note("node.finished", frame["address"], {"branch": taken.name})
        _start_block(machine, key, "default" if taken is node.default else f"case.{taken.name}")


def _start_block(machine: State, key: str, slot: str) -> None:
    frame = machine.frames[key]
    block, scope = inner_key(frame["node"], slot), frame["scope"]
    if not machine.plan.blocks[block].block.open:
        scope = frame["own_scope"] = machine.new_scope({}, scope)
    frame["body"] = new_block(machine, block, parent=key, scope=scope, address=frame["address"])


def _fits(case: Case, subject: Json, scope: Scope) -> bool:
    if case.when is not None and not truth(case.when, scope):
        return False
    if case.equals is None:
        return case.when is not None
    wanted = value_of(case.equals, scope)
    return wanted == subject and isinstance(wanted, bool) == isinstance(subject, bool)


class WaitBehaviour(Behaviour):
    """Durable pauses, which a restart does not begin anew."""

    def enter(self, machine: State, key: str) -> None:
        frame = machine.plain_frames[key]
        due, is_date = _due(machine.node(frame), machine.scope(frame), machine.now)
        frame["due"] = due
        if due <= machine.now:
            machine.finish(key, succeeded())
        else:
            date: Values = {"date": True} if is_date else {}
            machine.expect(inner(frame["address"], "wait"), key, "timer", due=due, **date)

    def receive(self, machine: State, key: str, event: Event) -> None:
        machine.settle(event.address)
        machine.finish(key, succeeded())


class GateBehaviour(Behaviour):
    def enter(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        node: Gate = machine.node(frame)
        scope = machine.scope(frame)
        message, show = to_text(value_of(node.message, scope)), value_of(node.show, scope)
        machine.ask_person(frame["address"], key, "gate", message, show=show)

    def receive(self, machine: State, key: str, event: Event) -> None:
        machine.settle(event.address)
        edited = {"value": event.body["value"]} if "value" in event.body else {}
        approved = bool(event.body.get("approved"))
        _decide(machine, key, approved, event.body.get("feedback"), **edited)

    def time_out(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        on_timeout = machine.node(frame).on_timeout
        machine.forget(frame["address"])
        if on_timeout == "fail":
            message = f"nobody decided {frame['name']!r} in time"
            machine.fail(key, "R101", message, status="timed_out")
        else:
            _decide(machine, key, on_timeout == "approve", "nobody decided in time")


class SignalBehaviour(Behaviour):
    """Stop, break and continue: they end the run, a loop, or its iteration."""

    def enter(self, machine: State, key: str) -> None:
        node = machine.node(machine.frames[key])
        if isinstance(node, Stop):
            _stop(machine, key, node)
            return
        around = machine.frames[key]["loop"]
        while around is not None and machine.frames[around]["name"] != node.loop:
            around = machine.frames[around]["loop"]
        assert around is not None, f"no loop {node.loop!r} around (the checks refuse this)"
        loop.interrupt(machine, around, breaks=isinstance(node, Break))


def _decide(machine: State, key: str, approved: bool, feedback: Json, **edited: Json) -> None:
    frame = machine.frames[key]
    if not approved and machine.node(frame).on_reject == "fail":
        why = feedback or "no reason given"
        machine.fail(key, "R108", f"{frame['name']!r} was rejected: {why}")
        return
    machine.finish(key, succeeded({"approved": approved, "feedback": feedback or "", **edited}))


def _stop(machine: State, key: str, node: Stop) -> None:
    frame = machine.frames[key]
    scope = machine.scope(frame)
    message, code = (to_text(value_of(value, scope)) for value in (node.message, node.code))
    output = value_of(node.output, scope) if node.output is not None else None
    if node.status == "succeeded":
        outcome = succeeded({"message": message} if output is None else {"output": output})
    else:
        message = message or f"stopped by {frame['name']!r}"
        detail: Json = {"code": code} if code else {}
        error = error_at(frame["address"], "R109", message, detail=detail)
        outcome = failed(error, status=node.status)
    if node.ends == "workflow":
        run.end_around(machine, key, outcome)
    else:
        run.end_now(machine, outcome)


def _due(node: Wait, scope: Scope, now: float) -> tuple[float, bool]:
    """When a wait is over, and whether that is a time of day."""
    if node.until is not None:
        due, is_date = _moment(value_of(node.until, scope)), True
    else:
        assert node.duration is not None
        due, is_date = _due_after(value_of(node.duration, scope), now)
    # What is no number at all is not smaller either.
    if not due - now <= WAIT_MAX_S:
        raise EvaluationError(
            f"a wait of {due - now:g} s is longer than a year, the most that it can be"
        )
    return due, is_date


def _due_after(value: Json, now: float) -> tuple[float, bool]:
    """When a computed wait is over; whether it is a duration or a time, only its value tells."""
    try:
        return now + max(0.0, seconds_of(value)), False
    except EvaluationError:
        if isinstance(value, str):
            with suppress(ValueError):
                return parse_time(value), True
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
