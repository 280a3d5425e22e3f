"""Iterations of a loop: set up, begun, carried on, and what comes of judging one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter import budget
from whorl.interpreter.constructs.block import new_block
from whorl.interpreter.constructs.loops import exploring, judging, loop_limits, loop_results
from whorl.interpreter.evaluation import seconds_of, shown, value_of
from whorl.interpreter.events import attempted, inner, numbered
from whorl.interpreter.outcomes import language_failure
from whorl.interpreter.plan import inner_key
from whorl.ir.loop_rules import ITERATIONS_MAX
from whorl.ir.values import parse_count
from whorl.language import EvaluationError, Expression, LanguageError, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.constructs.loops.rules import Verdict
    from whorl.interpreter.frames import Outcome, Values
    from whorl.interpreter.state import State
    from whorl.ir import Loop
    from whorl.language import Scope


def set_up(machine: State, key: str, loop: Loop) -> None:
    frame = machine.loop_frames[key]
    scope = machine.scope(frame)
    iterations, time = _count(loop.limits.iterations, scope), loop.limits.time_s
    override = machine.state["iterations"]
    limits: Values = {
        "iterations": iterations if override is None else int(override),
        "time_s": seconds_of(evaluate(time, scope)) if isinstance(time, Expression) else time,
    }
    limits |= {name: getattr(loop.limits, name) for name in budget.NAMES}
    past = []
    if loop.memory is not None and loop.memory.across_runs:
        past = machine.state["memory"].get(loop.memory.key, [])
    # First, so that a loop whose input cannot be computed has not begun.
    first = {c.name: value_of(c.first, scope) for c in loop.carry if c.first is not None}
    frame |= {
        "limits": {name: value for name, value in limits.items() if value is not None},
        "usage": {},
        "reserved": {},
        "count": 0,
        "phase": "delay",
        "started": machine.now,
        "carry": first,
        "past": past,
    }
    exploring.begin(machine, key)
    loop_limits.arm(machine, key)


def _count(limit: int | Expression, scope: Scope) -> int:
    """A limit of iterations; one that is written as a number was checked when it was read."""
    if not isinstance(limit, Expression):
        return limit
    value = evaluate(limit, scope)
    try:
        count = parse_count(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        count = -1
    if not 0 <= count <= ITERATIONS_MAX:
        wanted = f"a number of iterations up to {ITERATIONS_MAX:,}"
        raise EvaluationError(f"{wanted} is needed, not {shown(value)}")
    return count


def next_iteration(machine: State, key: str) -> None:
    """Begins an iteration, unless the condition is met before it or a limit is reached."""
    frame = machine.loop_frames[key]
    loop = machine.loop(key)
    machine.drop_body(frame)
    is_due = loop.check == "before" or (loop.check == "between" and frame["count"] > 0)
    if is_due and loop.until is not None and not frame.get("checked"):
        if not _carry(machine, key, loop):
            return
        frame["phase"] = "judging"
        follow(machine, key, judging.judge_ahead)
        return
    frame.pop("checked", None)
    stopped = loop_limits.before_iteration(machine, key)
    if stopped is not None and not loop_limits.goes_on(machine, key, stopped):
        loop_limits.reached(machine, key, stopped)
        return
    if exploring.is_done(frame):
        loop_results.end_loop(machine, key, "condition_met")
        return
    if not _carry(machine, key, loop):
        return
    frame["count"] += 1
    frame.pop("retries", None)
    begin_body(machine, key)


def begin_body(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    loop = machine.loop(key)
    number = frame["count"]
    address = attempted(numbered(frame["address"], number), frame.get("retries", 0) + 1)
    frame["phase"] = "body"
    if loop.session == "fresh":
        loop_results.forget_sessions(machine, key)
    note: Values = {"number": number}
    try:
        facts = loop_results.facts_of(frame, loop, number)
        scope = loop_results.new_inner(machine, key, facts | frame["carry"])
        for name, value in loop.tells:
            note[name] = value_of(value, scope)
    except LanguageError as fault:
        loop_results.fail_loop(machine, key, language_failure(fault, address))
        return
    frame |= {"begun": False, "asks": {}}
    frame["iteration"] = {"address": address, "at": machine.now, "usage": dict(frame["usage"])}
    machine.note("iteration.started", address, note)
    arm_iteration(machine, key, address)
    frame["body"] = new_block(
        machine, inner_key(frame["node"], "body"), parent=key, scope=frame["inner"], address=address
    )


def arm_iteration(machine: State, key: str, address: str) -> None:
    seconds = machine.loop(key).limits.iteration_time_s
    if seconds is not None:
        machine.set_alarm(inner(address, "time"), key, seconds)


def resume_iteration(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    loop_limits.resume_iteration(machine, key)
    if frame["phase"] == "body":
        arm_iteration(machine, key, frame["iteration"]["address"])


def _carry(machine: State, key: str, loop: Loop) -> bool:
    """Computes what the iteration that has ended hands over; false where the loop fails of it.

    Only an iteration that begins, or a check before one, needs it: at a limit there is neither.
    """
    frame = machine.loop_frames[key]
    if not frame.get("fresh") or not frame.get("inner"):
        return True
    try:
        if loop.carry:
            scope = machine.scope_at(frame["inner"])
            later = [(carry.name, carry.later) for carry in loop.carry if carry.later is not None]
            frame["carry"] |= {name: value_of(value, scope) for name, value in later}
    except LanguageError as fault:
        loop_results.fail_loop(machine, key, language_failure(fault, frame["address"]))
        return False
    frame["fresh"] = False
    return True


def follow(
    machine: State, key: str, judge: Callable[..., Verdict | None], *answer: Outcome
) -> None:
    """Does what comes of judging: ends the loop, asks a person, or goes for another iteration."""
    frame = machine.loop_frames[key]
    try:
        verdict = judge(machine, key, *answer)
    except LanguageError as fault:
        loop_results.fail_loop(machine, key, language_failure(fault, frame["address"]))
        return
    if verdict is None:
        frame["phase"] = "judging"
        return
    if verdict.ahead:
        frame["checked"] = True
    if verdict.state == "met" and "explore" in frame:
        exploring.keep_end(machine, key, "condition_met", verdict.by)
        verdict.state = "not_met"
    if verdict.state == "met":
        loop_results.end_loop(machine, key, "condition_met", by=verdict.by)
    elif verdict.ahead:
        next_iteration(machine, key)
    elif machine.loop(key).ask == "each" and "stops" not in frame:
        _ask_person(machine, key)
    else:
        go_on(machine, key)


def _ask_person(machine: State, key: str) -> None:
    frame = machine.loop_frames[key]
    frame["phase"] = "asking"
    address = inner(frame["iteration"]["address"], "ask")
    message = f"iteration {frame['count']} of {frame['name']!r}: take it, or go on?"
    machine.ask_person(address, key, "iteration", message, show=frame.get("previous"))


def go_on(machine: State, key: str) -> None:
    """After an iteration that has not met the rule: the next one, after the pause between them."""
    frame = machine.loop_frames[key]
    loop = machine.loop(key)
    frame["phase"] = "delay"
    if frame.pop("stops", False):
        loop_results.end_loop(machine, key, "accepted", by="person")
        return
    seconds = 0.0
    stopped = loop_limits.before_iteration(machine, key)
    if stopped is not None and stopped.reason == "max_iterations" and exploring.goes_past(frame):
        stopped = None
    if loop.delay is not None and stopped is None:
        try:
            seconds = seconds_of(value_of(loop.delay, machine.scope_at(frame["inner"])))
        except LanguageError as fault:
            loop_results.fail_loop(machine, key, language_failure(fault, frame["address"]))
            return
    if seconds > 0:
        address = inner(frame["address"], "delay")
        machine.expect(address, key, "timer", due=machine.now + seconds)
    else:
        next_iteration(machine, key)
