"""Loops and their iterations: begin one, run the body, judge it, then continue or end.

A loop frame is in one of these phases; `PHASES`, at the end, is the table of what ends each one.

    body      an iteration runs     judging   its body has ended, and a judge is asked     asking
a person is asked what they think of the iteration     delay     the pause before the next iteration
limit     a limit is reached, and a person is asked what to do
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import budget
from whorl.interpreter.constructs.block import new_block, results
from whorl.interpreter.constructs.loops import exploring, judging, loop_limits, loop_results
from whorl.interpreter.evaluation import seconds_of, shown, value_of
from whorl.interpreter.events import attempted, inner, numbered
from whorl.interpreter.frames import error_at, failed, is_failure, language_failure, out_of_time
from whorl.interpreter.plan import inner_key
from whorl.interpreter.state import Behaviour
from whorl.ir.nodes import ITERATIONS_MAX
from whorl.ir.values import parse_count
from whorl.language import EvaluationError, Expression, LanguageError, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.constructs.loops.judging import Verdict
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Error, Outcome, Phase, Values
    from whorl.interpreter.state import State
    from whorl.ir import Loop
    from whorl.language import Scope


# Iterations of a loop: set up, begun, carried on, and what comes of judging one.


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
    """Returns a limit of iterations; one that is written as a number was checked by the reader."""
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
    """Computes the values that the ended iteration hands over; false if that fails the loop.

    Only a new iteration, or a check before one, needs them: at a limit there is neither.
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
    """Acts on a verdict: ends the loop, asks a person, or begins another iteration."""
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
        frame["phase"] = "asking"
        address = inner(frame["iteration"]["address"], "ask")
        message = f"iteration {frame['count']} of {frame['name']!r}: take it, or go on?"
        machine.ask_person(address, key, "iteration", message, show=frame.get("previous"))
    else:
        go_on(machine, key)


def go_on(machine: State, key: str) -> None:
    """Begins the next iteration after one that did not meet the rule, after the pause between."""
    frame = machine.loop_frames[key]
    loop = machine.loop(key)
    frame["phase"] = "delay"
    if frame.pop("stops", False):
        loop_results.end_loop(machine, key, "accepted", by="person")
        return
    seconds = 0.0
    stopped = loop_limits.before_iteration(machine, key)
    most = frame["explore"]["most"] if "explore" in frame else 0
    if stopped is not None and stopped.reason == "max_iterations" and frame["count"] < most:
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


class LoopBehaviour(Behaviour):
    stays = True

    def enter(self, machine: State, key: str) -> None:
        """Sets the loop up and begins the first iteration."""
        frame = machine.loop_frames[key]
        set_up(machine, key, machine.loop(key))
        facts: Values = {
            "path": machine.plan.path_of(frame["node"]),
            "limits": dict(frame["limits"]),
        }
        machine.note("loop.started", frame["address"], facts)
        next_iteration(machine, key)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        frame = machine.loop_frames[key]
        if child != frame.get("body"):
            frame.update({"judge": None, "children": {}})
            # Its own retries are attempts at the same address.
            frame["asks"][frame["asking"]] = machine.frames[child]["attempt"]
            _end_phase(machine, key, "answered", outcome)
        else:
            _end_phase(machine, key, "failed" if is_failure(outcome) else "succeeded", outcome)

    def receive(self, machine: State, key: str, event: Event) -> None:
        """Handles the end of a pause or time limit, or the decision of a person."""
        machine.settle(event.address)
        if event.address == inner(machine.frames[key]["address"], "time"):
            _out_of_time(machine, key)
        else:
            _end_phase(machine, key, event.address.rpartition("/:")[2], event)

    def revive(self, machine: State, key: str) -> None:
        """Tries again at the place of the failure: in the body, at the judge, or at the limit."""
        frame = machine.loop_frames[key]
        frame.pop("reason", None)
        if "limits" not in frame:
            machine.enter(key)
            return
        exploring.take_up(frame)
        loop_limits.arm(machine, key)
        if "suspended" in frame:
            resume_iteration(machine, key)
        elif frame["phase"] == "judging" and frame["judged"]:
            judging.ask_judge(machine, key)
        elif frame["phase"] != "body":
            next_iteration(machine, key)
        else:
            if frame.get("failed", [])[-1:] == [frame["count"]]:
                frame["failed"].pop()
                frame["failures"] -= 1
            if body := frame.get("body"):
                arm_iteration(machine, key, frame["iteration"]["address"])
                machine.revive(body)
            else:
                frame["retries"] = frame.get("retries", 0) + 1
                begin_body(machine, key)

    def abandon(self, machine: State, key: str) -> None:
        frame = machine.loop_frames[key]
        if "reason" in frame:
            return
        frame["reason"] = "cancelled"
        if "limits" in frame:
            if frame["phase"] == "body" and frame.get("body"):
                loop_results.close_iteration(machine, key, status="cancelled")
            loop_results.disarm(machine, key)
            loop_results.note_end(machine, key, "cancelled")

    def fail(self, machine: State, key: str, error: Error) -> None:
        loop_results.fail_loop(machine, key, error)

    def time_out(self, machine: State, key: str) -> None:
        """Ends the node when its time is over, also while a person is asked."""
        frame = machine.loop_frames[key]
        loop_limits.cut_short(machine, key, "timed_out")
        machine.forget_if_pending(inner(frame["address"], "limit"))
        error = out_of_time(frame)
        loop_results.fail_loop(machine, key, error, status="timed_out", reason="timeout")


def interrupt(machine: State, key: str, *, breaks: bool) -> None:
    """Handles `break` and `continue`: ends the iteration with what it has so far."""
    frame = machine.loop_frames[key]
    assert frame["body"] is not None
    so_far = results(machine, frame["body"])
    machine.drop_body(frame)
    try:
        loop_results.record_success(machine, key, so_far)
        judging.measure_iteration(machine, key, is_early=True)
        is_best = loop_results.keep_best(machine, key)
    except LanguageError as fault:
        loop_results.fail_loop(machine, key, language_failure(fault, frame["iteration"]["address"]))
        return
    loop_results.close_measured(machine, key, best=is_best, by="break" if breaks else "")
    if breaks:
        loop_results.end_loop(machine, key, "condition_met", by="break")
    else:
        go_on(machine, key)


def stop(machine: State, key: str) -> None:
    """Ends the loop after the running iteration, or at once between two, as a person asked."""
    frame = machine.loop_frames[key]
    address = frame["address"]
    if frame["phase"] in ("body", "judging") or inner(address, "retry") in machine.pending:
        frame["stops"] = True
    else:
        loop_limits.cut_short(machine, key, "cut")
        machine.forget_if_pending(inner(address, "limit"))
        loop_results.end_loop(machine, key, "accepted", by="person")
    if machine.status == "paused":
        budget.note_pause(machine)


def _iteration_failed(machine: State, key: str, outcome: Outcome) -> None:
    frame = machine.loop_frames[key]
    failure = machine.loop(key).on_iteration_failure
    if failure.action == "retry" and frame.get("retries", 0) < failure.times:
        loop_results.close_iteration(machine, key, status="failed", error=outcome["error"])
        machine.drop_body(frame)
        frame["retries"] = frame.get("retries", 0) + 1
        if failure.wait_s <= 0:
            begin_body(machine, key)
            return
        frame["phase"], due = "delay", machine.now + failure.wait_s
        machine.expect(inner(frame["address"], "retry"), key, "timer", due=due)
        return
    numbers = frame.setdefault("failed", [])
    frame["failures"] = frame.get("failures", 0) + 1
    frame["fault"] = outcome["error"]
    if len(numbers) < 1_000:
        numbers.append(frame["count"])
    loop_results.close_iteration(machine, key, status=outcome["status"], error=outcome["error"])
    cause = dict(outcome["error"])
    cause["message"] = f"iteration {frame['count']} of {frame['name']!r}: {cause['message']}"
    if failure.action != "continue":
        loop_results.fail_loop(machine, key, cause, status="failed")
        return
    is_last = frame["count"] >= frame["limits"]["iterations"] and "explore" not in frame
    loop = machine.loop(key)
    if failure.last_counts:
        frame["failure"] = {"number": frame["count"], "error": outcome["error"]}
    elif is_last and "last" not in frame and loop.on_limit == "finish" and loop.ask != "at_limit":
        # The body stays, so that a resumed run tries again only what failed in it.
        loop_results.fail_loop(machine, key, loop_results.all_failed(frame))
        return
    message = f"{cause['message']}; the loop went on without this iteration"
    machine.warn(frame["address"], cause["code"], message, facts=cause.get("facts"))
    machine.drop_body(frame)
    go_on(machine, key)


def _end_phase(machine: State, key: str, ending: str, detail: Any) -> None:
    """Ends the present phase; the detail is an outcome, or the event that has come."""
    PHASES[machine.loop_frames[key]["phase"]][ending](machine, key, detail)


def _judge_answered(machine: State, key: str, outcome: Outcome) -> None:
    is_needed = "rest" not in machine.loop_frames[key]
    goes_on = machine.loop(key).on_iteration_failure.action == "continue"
    if is_failure(outcome) and is_needed and not goes_on:
        loop_results.fail_loop(machine, key, outcome["error"])
        return
    follow(machine, key, judging.take_answer, outcome)


def _person_decided(machine: State, key: str, event: Event) -> None:
    frame = machine.loop_frames[key]
    approved = bool(event.body.get("approved"))
    frame["person"] = {"approved": approved, "feedback": event.body.get("feedback") or ""}
    if approved and "value" in event.body:
        shown = frame["count"], frame["previous"]
        loop_results.end_edited(machine, key, "condition_met", shown, event.body["value"])
    elif approved:
        loop_results.keep_best(machine, key, approved=True)
        loop_results.end_loop(machine, key, "condition_met", by="person")
    else:
        go_on(machine, key)


def _iteration_out_of_time(machine: State, key: str, event: Event) -> None:
    frame = machine.loop_frames[key]
    message = "it took longer than its time limit"
    error = error_at(frame["iteration"]["address"], "R101", message)
    machine.drop_body(frame)
    _iteration_failed(machine, key, failed(error, status="timed_out"))


def _out_of_time(machine: State, key: str) -> None:
    """Ends the loop in any phase when its time limit is over."""
    frame = machine.loop_frames[key]
    words = f"its time limit of {frame['limits'].get('time_s', 0):g} s"
    also = "; running steps were cancelled" if budget.under_way(frame) else ""
    loop_limits.cut_short(machine, key, "timed_out")
    loop_limits.reached(machine, key, loop_limits.Reached("timeout", words, also=also))


# What ends each phase, and what is done then.
PHASES: dict[Phase, dict[str, Callable[[State, str, Any], None]]] = {
    "delay": {
        "delay": lambda machine, key, _: next_iteration(machine, key),
        "retry": lambda machine, key, _: begin_body(machine, key),
    },
    "body": {
        "succeeded": lambda machine, key, _: follow(machine, key, judging.judge_iteration),
        "failed": _iteration_failed,
        "time": _iteration_out_of_time,
    },
    "judging": {"answered": _judge_answered},
    "asking": {"ask": _person_decided},
    "limit": {"limit": loop_limits.decided},
}
