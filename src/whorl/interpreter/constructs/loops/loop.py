"""Loops: begin an iteration, run the body, judge it, go on or end.

A loop frame is in one of these phases; `PHASES`, at the end, is the table of what ends each one.

    body      an iteration runs
    judging   its body has ended, and a judge is asked
    asking    a person is asked what they think of the iteration
    delay     the pause before the next iteration
    limit     a limit is reached, and a person is asked what to do
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import admission, budget
from whorl.interpreter.constructs.block import results
from whorl.interpreter.constructs.loops import exploring, judging, loop_limits, loop_results
from whorl.interpreter.constructs.loops.iterations import (
    arm_iteration,
    begin_body,
    follow,
    go_on,
    next_iteration,
    resume_iteration,
    set_up,
)
from whorl.interpreter.events import inner
from whorl.interpreter.outcomes import (
    error_at,
    failed,
    is_failure,
    language_failure,
    out_of_time,
)
from whorl.interpreter.state import Behaviour
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Error, Outcome, Phase, Values
    from whorl.interpreter.state import State


class LoopBehaviour(Behaviour):
    stays = True

    def enter(self, machine: State, key: str) -> None:
        """Sets the loop up and goes for the first iteration."""
        frame = machine.loop_frames[key]
        set_up(machine, key, machine.loop(key))
        facts: Values = {"path": frame["node"].partition(":")[2], "limits": dict(frame["limits"])}
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
        """A pause or a time limit is over, or a person has decided."""
        machine.settle(event.address)
        if event.address == inner(machine.frames[key]["address"], "time"):
            _out_of_time(machine, key)
        else:
            _end_phase(machine, key, event.address.rpartition("/:")[2], event)

    def revive(self, machine: State, key: str) -> None:
        """Goes on where it failed: in the body, at the judge, or at the limit."""
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
        """The time of the node is over, also while a person is asked."""
        frame = machine.loop_frames[key]
        loop_limits.cut_short(machine, key, "timed_out")
        machine.forget_if_pending(inner(frame["address"], "limit"))
        error = out_of_time(frame)
        loop_results.fail_loop(machine, key, error, status="timed_out", reason="timeout")


def interrupt(machine: State, key: str, *, breaks: bool) -> None:
    """`break` or `continue`: ends the iteration with what it has so far."""
    frame = machine.loop_frames[key]
    assert frame["body"] is not None
    so_far = results(machine, frame["body"])
    machine.drop_body(frame)
    try:
        loop_results.record_success(machine, key, so_far)
        is_best = judging.measure_early(machine, key)
    except LanguageError as fault:
        loop_results.fail_loop(machine, key, language_failure(fault, frame["iteration"]["address"]))
        return
    loop_results.close_measured(machine, key, best=is_best, by="break" if breaks else "")
    if breaks:
        loop_results.end_loop(machine, key, "condition_met", by="break")
    else:
        go_on(machine, key)


def stop(machine: State, key: str) -> None:
    """A person wants no iteration after the one that is under way; between two, it ends at once."""
    frame = machine.loop_frames[key]
    address = frame["address"]
    if frame["phase"] in ("body", "judging") or inner(address, "retry") in machine.pending:
        frame["stops"] = True
    else:
        loop_limits.cut_short(machine, key, "cut")
        machine.forget_if_pending(inner(address, "limit"))
        loop_results.end_loop(machine, key, "accepted", by="person")
    if machine.status == "paused":
        admission.note_pause(machine)


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
    if failure.action != "continue" or exploring.is_unanswered(frame, outcome["error"]):
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
    """The present phase ends; the detail is an outcome, or the event that has come."""
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
    message = f"iteration {frame['count']} took longer than its time limit"
    error = error_at(frame["iteration"]["address"], "R101", message)
    machine.drop_body(frame)
    _iteration_failed(machine, key, failed(error, status="timed_out"))


def _out_of_time(machine: State, key: str) -> None:
    """The time limit of the loop ends every phase."""
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
