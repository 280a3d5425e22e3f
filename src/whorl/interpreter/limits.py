"""What happens when a budget refuses a call: the loop around it ends, or the run pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter import loop_limit
from whorl.interpreter.loop_result import abandon_loop

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine


def refused(machine: Machine, key: str, refusal: str) -> None:
    """A call does not fit: the refusing loop ends, or the innermost one for the run's budget."""
    scope, _, name = refusal.partition(" ")
    frame = machine.frames[key]
    if scope == "run":
        loop = _last_to_begin(machine, frame["loop"])
    else:
        loop = scope
        _abandon_inside(machine, frame["loop"], scope)
    where = "the run" if scope == "run" else repr(machine.frames[scope]["name"])
    limits = machine.state["limits"] if scope == "run" else machine.frames[scope]["limits"]
    machine.note(
        "budget.reached",
        frame["address"],
        {
            "limit": name,
            "of": limits[name],
            "scope": "run" if scope == "run" else "loop",
            "pauses": loop is None,
        },
    )
    if loop is not None:
        if scope == "run":
            machine.state["refusal"] = name
        limit = loop_limit.NAMES[name]
        words = f"the {limit} budget of {where}"
        what = loop_limit.Reached("budget", words, limit, of_run=scope == "run")
        loop_limit.budget_reached(machine, loop, what)
        return
    machine.state["status"] = "paused"
    machine.state["paused_by"] = "budget"
    machine.note("run.waiting", "", {"status": "paused", "for": "budget"})
    limit = loop_limit.NAMES[name]
    message = f"the {limit} budget of the run does not allow {frame['name']!r}"
    advice = "resume it with more: `whorl resume RUN --budget +AMOUNT`"
    if limit != "cost":
        advice = f"raise `budget.{limit}` and run it again"
    machine.warn(frame["address"], "R103", f"{message}; {advice}")


def _abandon_inside(machine: Machine, loop: str, outer: str) -> None:
    """The loops between a call and the one whose budget refuses it end of that budget, too."""
    while loop != outer:
        abandon_loop(machine, loop, reason="budget")
        loop = machine.frames[loop]["loop"]


def _last_to_begin(machine: Machine, loop: str | None) -> str | None:
    """The innermost loop, or the outermost one whose iteration has done nothing yet."""
    while loop is not None:
        around = machine.frames[loop]["loop"]
        if around is None or machine.frames[around].get("begun"):
            return loop
        abandon_loop(machine, loop, reason="budget")
        loop = around
    return None
