"""The limits of a loop: reached, they end it, fail it, or ask a person."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whorl.interpreter import budget, loop_shelf
from whorl.interpreter.address import inner
from whorl.interpreter.loop_record import close_iteration, loop_of
from whorl.interpreter.loop_result import disarm, end_loop, fail_loop, returned
from whorl.interpreter.outcomes import error
from whorl.interpreter.verdict import can_be_met

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import LoopFrame
    from whorl.interpreter.state import State
    from whorl.ir import Loop

# What is limited, in the words of messages and fields.
NAMES = {"cost_usd": "cost", "tokens": "tokens", "calls": "calls"}
# The flags of the command line that raise a budget.
FLAGS = {"cost": "--budget", "tokens": "--tokens", "calls": "--calls"}


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that is reached: the exit reason, in words, and which one (of the run) it is.

    `more` is how much more a budget needs, for the advice.
    """

    reason: str
    words: str
    limit: str = ""
    of_run: bool = False
    more: float = 0.0
    also: str = ""


def raising(limit: str, more: float) -> str:
    """The flag that raises a budget by a sensible amount: at least by what is missing."""
    if limit != "cost":
        return f"{FLAGS[limit]} +{math.ceil(more)}"
    digits = 1 - math.floor(math.log10(more)) if more > 0 else 2
    step = 10.0**-digits
    amount = f"{math.ceil(more / step - 1e-9) * step:.{max(digits, 1)}f}"
    return f"{FLAGS[limit]} +{amount.rstrip('0').rstrip('.')}"


def arm(machine: State, key: str) -> None:
    """Sets the clock that ends the loop, or lets no iteration begin, where it has a time limit."""
    frame = machine.loop_frames[key]
    seconds = frame["limits"].get("time_s")
    if seconds is None:
        return
    if not loop_of(machine, key).limits.interrupts:
        frame["time_from"] = machine.now
        return
    address = inner(frame["address"], "time")
    if address not in machine.pending:
        machine.expect(address, key, "alarm", due=machine.now + seconds)


def before_iteration(machine: State, key: str) -> Reached | None:
    """The limit that forbids another iteration."""
    frame = machine.loop_frames[key]
    limit = frame["limits"]["iterations"]
    if frame["count"] >= limit:
        return Reached("max_iterations", f"its limit of {limit} iterations")
    if frame["count"] >= frame.get("stop_at", limit):
        return Reached("max_iterations", "the number of iterations that it was continued for")
    seconds = frame["limits"].get("time_s")
    is_over = (
        seconds is not None and machine.now >= frame.get("time_from", frame["started"]) + seconds
    )
    if is_over and not loop_of(machine, key).limits.interrupts:
        return Reached("timeout", f"its time of {seconds:g} s")
    spent = budget.exhausted(machine, key)
    if spent is not None:
        limit = float(frame["limits"][spent])
        over = budget.missing(frame, spent, {})
        words = f"its {NAMES[spent]} budget of {limit:g}"
        # Another iteration may need as much as those before.
        more = max(limit, over + (limit + over) / max(1, frame["count"]))
        return Reached("budget", words, NAMES[spent], more=more)
    return None


def ends_in_vain(machine: State, key: str) -> bool:
    """Whether no iteration may follow and none before has anything to return."""
    frame = machine.loop_frames[key]
    loop = loop_of(machine, key)
    if "last" in frame or loop.on_limit != "finish" or loop.ask == "at_limit":
        return False
    return bool(frame["count"] >= frame["limits"]["iterations"])


def reached(machine: State, key: str, what: Reached) -> None:
    """A limit is reached: the loop does what `on_limit` and `ask` say."""
    frame = machine.loop_frames[key]
    loop = loop_of(machine, key)
    reason = what.reason
    message = f"loop {frame['name']!r} reached {what.words} before it was done{what.also}"
    advice = f"{message}; raise {_raised_by(loop, what, frame)}"
    if reason == "budget":
        frame["short_of_run"] = what.of_run
    own = dict(loop.limit_words).get(reason)
    if own is not None:
        advice = message = _filled(own, frame["limits"])
    disarm(machine, key)
    if loop.on_limit == "pause" or loop.ask == "at_limit":
        frame["phase"] = "limit"
        frame["limit_reason"] = reason
        number, results = returned(machine, key)
        address = inner(frame["address"], "limit")
        machine.expect(address, key, "gate")
        machine.note(
            "gate.waiting",
            address,
            {
                "reason": "limit",
                "message": f"{message}: accept {_offer(frame, number)}, continue, or reject?",
                "show": results,
            },
        )
    elif loop.on_limit == "finish" and reason == "timeout" and "last" not in frame:
        # There is nothing to return; a resumed run makes the iteration anew that was cut short.
        frame["phase"] = "body" if frame["count"] else "limit"
        fail_loop(machine, key, error("R102", advice, frame["address"]), reason=reason)
    elif loop.on_limit in ("fail", "time_out"):
        frame["phase"] = "limit"
        cause = error("R102", advice, frame["address"])
        status = "timed_out" if loop.on_limit == "time_out" else "failed"
        fail_loop(machine, key, cause, status=status, reason=reason)
    else:
        if can_be_met(loop.until):
            limits = machine.state["limits"] if what.of_run else frame["limits"]
            once = f"R102 {frame['node']} {reason} {what.limit} {json.dumps(limits)}"
            machine.warn(frame["address"], "R102", advice, once=once)
        frame["phase"] = "limit"
        end_loop(machine, key, reason)


def _raised_by(loop: Loop, what: Reached, frame: LoopFrame) -> str:
    """The field that raises a limit, and the command where there is one."""
    fields = dict(loop.limit_fields)
    if what.of_run:
        # A dialect without a field for it has the flag of the command line.
        field = fields.get("run", "--budget")
        if "run" in fields and what.limit != "cost":
            field = f"{field}.{what.limit}"
    else:
        field = fields.get(what.limit) or fields.get(what.reason, "the limit")
    address = frame["address"]
    if what.reason == "timeout" or frame["loop"] is not None:
        # The loop around it goes on: it cannot be opened again.
        return f"`{field}`"
    flag = raising(what.limit, what.more) if what.limit else "--iterations 3"
    # More money alone is for all loops that lack it: one of many need not be named.
    at = "" if what.limit and "[" in address else f"--at '{address}' "
    return f"`{field}`, or `whorl continue RUN {at}{flag}`"


def _offer(frame: LoopFrame, number: int | None) -> str:
    """What is taken where a person accepts at a limit."""
    return "what there is" if number in (None, frame.get("last")) else f"iteration {number}"


def _filled(words: str, limits: dict[str, Any]) -> str:
    milliseconds = f"{float(limits.get('time_s') or 0) * 1_000:g}"
    return words.replace("{iterations}", str(limits["iterations"])).replace("{ms}", milliseconds)


def budget_reached(machine: State, key: str, what: Reached) -> None:
    """A call inside the loop does not fit into a budget, and none is under way in it any more."""
    frame = machine.loop_frames[key]
    if frame["phase"] == "body" and not frame["begun"] and not frame.get("retries"):
        for inside in loop_shelf.tell_inner_loops(machine, frame):
            machine.loop_frames[inside]["reason"] = "budget"
        close_iteration(machine, key, status="not_begun")
        machine.drop_body(frame)
        frame["count"] -= 1
        # What was checked before it need not be checked again.
        frame["checked"] = True
    else:
        loop_shelf.put_aside(machine, key)
    reached(machine, key, what)


def cut_short(machine: State, key: str, status: str) -> None:
    """Ends the present iteration where it stands; what it has so far is not a result."""
    frame = machine.loop_frames[key]
    if frame["phase"] == "body":
        close_iteration(machine, key, status=status)
        machine.drop_body(frame)
    elif frame["phase"] == "judging":
        judge = frame.get("judge")
        if judge:
            del frame["judge"]
            frame["asks"][str(frame["asking"])] = machine.frames[judge]["attempt"]
            machine.drop(judge)
            frame |= {"children": {}, "judged": {}}
        if not frame.pop("before", False):
            close_iteration(machine, key, status="succeeded")
    for word in ("delay", "retry"):
        address = inner(frame["address"], word)
        if address in machine.pending:
            machine.forget(address)
    if frame["phase"] == "asking":
        machine.forget(inner(frame["iteration"]["address"], "ask"))


def forget_question(machine: State, key: str) -> None:
    """What a person is asked at the limit is no longer of interest."""
    address = inner(machine.loop_frames[key]["address"], "limit")
    if address in machine.pending:
        machine.forget(address)


def decided(machine: State, key: str, event: Event) -> None:
    """A person was asked at the limit: they accept what there is, or reject the loop."""
    frame = machine.loop_frames[key]
    if event.body.get("approved"):
        end_loop(machine, key, "accepted")
    else:
        words = event.body.get("feedback") or "no reason given"
        cause = error("R108", f"loop {frame['name']!r} was rejected: {words}", frame["address"])
        fail_loop(machine, key, cause, reason="rejected")
