"""The limits of a loop: when reached, they end it, fail it, or ask a person.

An iteration that a budget stops is suspended, so that it can continue with more money. What it
waits for is moved from the run to the loop; results that were paid for are kept.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl.errors import plural
from whorl.interpreter import budget
from whorl.interpreter.constructs.loops import exploring, loop_results
from whorl.interpreter.constructs.loops.judging import drop_judge
from whorl.interpreter.events import inner
from whorl.interpreter.frames import children_of, error_at
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from typing import Any

    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import LoopFrame, Values
    from whorl.interpreter.state import State

# How many more iterations a loop is taken to need.
MORE_ITERATIONS = 3


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that was reached: the exit reason, its words, and which budget (of the run) it is.

    `more` is how much more that budget needs.
    """

    reason: str
    words: str
    limit: str = ""
    of_run: bool = False
    more: float = 0.0
    also: str = ""


def arm(machine: State, key: str) -> None:
    """Starts the time limit: it interrupts the loop, or only forbids further iterations."""
    frame = machine.loop_frames[key]
    if machine.loop(key).limits.interrupts:
        machine.set_alarm(inner(frame["address"], "time"), key, frame["limits"].get("time_s"))
    else:
        frame["time_from"] = machine.now


def before_iteration(machine: State, key: str) -> Reached | None:
    frame = machine.loop_frames[key]
    limit = frame["limits"]["iterations"]
    if frame["count"] >= limit:
        return Reached("max_iterations", f"its limit of {plural(limit, 'iteration')}")
    if frame["count"] >= frame.get("stop_at", limit):
        return Reached("max_iterations", "the number of iterations that were added")
    began, seconds = frame.get("time_from", frame["started"]), frame["limits"].get("time_s")
    is_over = seconds is not None and machine.now >= began + seconds
    if is_over and not machine.loop(key).limits.interrupts:
        return Reached("timeout", f"its time limit of {seconds:g} s")
    for spent, over in budget.over(frame, {}).items():
        if over >= 0:
            limit = float(frame["limits"][spent])
            words = f"its {budget.NAMES[spent]} budget of {limit:g}"
            # Another iteration may need as much as those before.
            more = max(limit, over + (limit + over) / max(1, frame["count"]))
            return Reached("budget", words, spent, more=more)
    return None


def goes_on(machine: State, key: str, what: Reached) -> bool:
    """Checks whether an exploring loop passes its limit, and keeps what it would have returned."""
    frame = machine.loop_frames[key]
    if "explore" not in frame or what.reason != "max_iterations":
        return False
    if not exploring.has_ended(frame):
        _warn_of_limit(machine, key, what)
        exploring.keep_end(machine, key, what.reason)
    return not exploring.is_done(frame)


def _warn_of_limit(machine: State, key: str, what: Reached) -> None:
    frame = machine.loop_frames[key]
    if loop_results.is_early(machine, key, what.reason):
        message, facts = _words(machine, key, what)
        limits = machine.state["limits"] if what.of_run else frame["limits"]
        once = f"R102 {frame['node']} {what.reason} {what.limit} {json.dumps(limits)}"
        machine.warn(frame["address"], "R102", message, once=once, facts=facts)


def reached(machine: State, key: str, what: Reached) -> None:
    """Handles a reached limit, as `on_limit` and `ask` of the loop say."""
    frame, loop, reason = machine.loop_frames[key], machine.loop(key), what.reason
    if exploring.has_ended(frame):
        loop_results.end_loop(machine, key, reason)
        return
    if reason == "budget":
        frame["short_of_run"] = what.of_run
    message, facts = _words(machine, key, what)
    loop_results.disarm(machine, key)
    frame["phase"] = "limit"
    if loop.on_limit == "pause" or loop.ask == "at_limit":
        frame["limit_reason"] = reason
        number, shown = loop_results.returned(machine, key)
        offer = "what there is" if number in (None, frame.get("last")) else f"iteration {number}"
        question = f"{message}: accept {offer}, continue, or reject?"
        address = inner(frame["address"], "limit")
        machine.ask_person(address, key, "limit", question, show=shown, facts=facts)
    elif loop.on_limit == "finish" and (reason != "timeout" or "last" in frame):
        _warn_of_limit(machine, key, what)
        loop_results.end_loop(machine, key, reason)
    else:
        if loop.on_limit == "finish" and frame["count"]:
            # There is nothing to return; a resumed run repeats the iteration that was cut short.
            frame["phase"] = "body"
        error = error_at(frame["address"], "R102", message, facts=facts)
        status = "timed_out" if loop.on_limit == "time_out" else "failed"
        loop_results.fail_loop(machine, key, error, status=status, reason=reason)


def _words(machine: State, key: str, what: Reached) -> tuple[str, Values]:
    """Returns the message of a limit and its facts; a message that a format prescribes is whole."""
    frame = machine.loop_frames[key]
    words: Any = machine.loop(key).words or {}
    if prescribed := words.get("limits", {}).get(what.reason):
        time_s = float(frame["limits"].get("time_s") or 0)
        prescribed = prescribed.replace("{iterations}", str(frame["limits"]["iterations"]))
        return prescribed.replace("{ms}", f"{time_s * 1_000:g}"), {}
    # A loop inside another one, which continues, cannot be opened again.
    can_continue = what.reason != "timeout" and frame["loop"] is None
    facts: Values = {
        "loop": frame["name"],
        "address": frame["address"],
        "reason": what.reason,
        "limit": what.limit,
        "of_run": what.of_run,
        "fields": loop_results.fields_of(machine, key),
        "iterations": 0 if what.limit else MORE_ITERATIONS,
        "more": {**to_go_on(machine, key, what)} if can_continue else {},
        "continues": can_continue,
    }
    return f"loop {frame['name']!r} reached {what.words} before it was done{what.also}", facts


def to_go_on(machine: State, key: str, what: Reached | None = None) -> dict[str, float]:
    """Returns by how much to raise which budgets, in the loop and around it, so that it continues.

    If no call was refused, further iterations are assumed to use as much as those before.
    """
    frame = machine.loop_frames[key]
    iterations = 1 if "budget" in (what and what.reason, frame.get("reason")) else MORE_ITERATIONS
    needs = frame.get("needs") or budget.per_iteration(frame, iterations)
    more = budget.lacking(machine, key, needs)
    if what is not None and what.limit:
        more[what.limit] = max(more.get(what.limit, 0.0), what.more)
    return more


def decided(machine: State, key: str, event: Event) -> None:
    """Handles the decision of a person at the limit: they accept the result, or reject the loop."""
    frame = machine.loop_frames[key]
    if event.body.get("approved") and "value" in event.body:
        shown = loop_results.returned(machine, key)
        loop_results.end_edited(machine, key, "accepted", shown, event.body["value"])
    elif event.body.get("approved"):
        loop_results.end_loop(machine, key, "accepted")
    else:
        why = event.body.get("feedback") or "no reason given"
        error = error_at(frame["address"], "R108", f"loop {frame['name']!r} was rejected: {why}")
        loop_results.fail_loop(machine, key, error, reason="rejected")


def cut_short(machine: State, key: str, status: str) -> None:
    """Ends the present iteration where it is; its partial values are not a result."""
    frame = machine.loop_frames[key]
    if frame["phase"] == "body":
        machine.drop_body(frame)
        loop_results.close_iteration(machine, key, status=status)
    elif frame["phase"] == "judging":
        drop_judge(machine, frame)
        if not frame.pop("before", False):
            loop_results.close_iteration(machine, key, status="succeeded")
    elif frame["phase"] == "asking":
        machine.forget(inner(frame["iteration"]["address"], "ask"))
    address = frame["address"]
    machine.forget_if_pending(inner(address, "delay"), inner(address, "retry"))


def end_out_of_budget(machine: State) -> None:
    """Ends the loops that a call does not fit into, once all their open calls have ended."""
    for key in machine.state.pop("out_of_budget", []):
        frame = machine.loop_frames.get(key)
        if frame is None or "out_of_budget" not in frame:
            continue
        if budget.under_way(frame):
            machine.state.setdefault("out_of_budget", []).append(key)
            continue
        what = Reached(**frame.pop("out_of_budget"))
        if _has_not_begun(frame):
            for inside in _end_loops_inside(machine, key):
                machine.loop_frames[inside]["reason"] = "budget"
            loop_results.close_iteration(machine, key, status="not_begun")
            machine.drop_body(frame)
            frame["count"] -= 1
            # What was checked before it need not be checked again.
            frame["checked"] = True
        else:
            # The iteration is kept without a result, or without a verdict.
            if frame["phase"] == "body":
                _end_loops_inside(machine, key)
                loop_results.close_iteration(machine, key, status="cut")
            else:
                loop_results.close_measured(machine, key, best=loop_results.keep_best(machine, key))
            frame["suspended"] = {"phase": frame["phase"], "at": machine.now, "waits": {}}
            for inside in _inside(machine, key):
                for address in list(machine.frames[inside].get("waits", ())):
                    frame["suspended"]["waits"][address] = machine.pending[address].copy()
                    machine.forget(address)
        reached(machine, key, what)


def _has_not_begun(frame: LoopFrame) -> bool:
    return frame["phase"] == "body" and not frame["begun"] and not frame.get("retries")


def resume_iteration(machine: State, key: str) -> None:
    """Resumes the suspended iteration; its clocks do not count the time in between."""
    frame = machine.loop_frames[key]
    suspended = frame.pop("suspended")
    frame["phase"] = suspended["phase"]
    for address, entry in suspended["waits"].items():
        fields: dict[str, Any] = dict(entry)
        inside = fields.pop("frame")
        if inside in machine.frames and address not in machine.pending:
            if "due" in fields:
                fields["due"] += machine.now - suspended["at"]
            machine.expect(address, inside, **fields)
    machine.ask_again()


def _end_loops_inside(machine: State, key: str) -> list[str]:
    """Ends the loops in the body that are stopped by the same budget, as far as that is known."""
    ended = []
    for inside in _inside(machine, key):
        frame = machine.loop_frames[inside]
        if frame["kind"] == "loop" and "limits" in frame and "reason" not in frame:
            begins = _has_not_begun(frame)
            if frame["phase"] == "body":
                status = "not_begun" if begins else "cut"
                loop_results.close_iteration(machine, inside, status=status)
            loop_results.note_end(machine, inside, "budget", iterations=frame["count"] - begins)
            ended.append(inside)
    return ended


def _inside(machine: State, key: str) -> list[str]:
    keys = children_of(machine.frames[key])
    for inside in keys:
        keys.extend(children_of(machine.frames[inside]))
    return keys
