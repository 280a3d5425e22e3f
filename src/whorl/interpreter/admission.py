"""Which calls may be sent under a budget: each is sent, waits, or is refused.

A call waits while the money that it lacks is only reserved by others, since they may use less; it
is refused when the money that is spent leaves too little. Then the loop around it ends, once the
calls that are under way in it are answered, or the run pauses where nothing can be returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import budget, loop_limit
from whorl.interpreter.commands import Send

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Budgeted, LoopFrame, TaskFrame
    from whorl.interpreter.state import State


def admit(machine: State, key: str, event: Event) -> None:
    """The intent of a call has come: sends it, has it wait, or refuses it."""
    address = event.address
    if machine.status == "paused" or "sent" in machine.pending[address]:
        return
    frame = machine.task_frames[key]
    reserve: Any = event.body.get("reserve") or {}
    cap: Any = event.body.get("cap")
    if cap is not None and frame.get("cap"):
        # It may be the same call as an attempt that was not answered, so it says the same.
        cap, reserve = budget.with_cap(reserve, cap, frame["cap"])
    at_worst: Any = event.body.get("at_worst") or {}
    frame["intent"] = {"reserve": reserve, "cap": cap, "at_worst": at_worst}
    queue = machine.state.get("queue")
    if queue:
        if address not in queue:
            queue.append(address)
        return
    if not _send_or_refuse(machine, key):
        machine.state.setdefault("queue", []).append(address)


def review(machine: State) -> None:
    """After an event: sends what was waiting and fits now, and ends loops that wait for nothing.

    The calls wait in the order in which they came, as far as the budget of the run is concerned.
    """
    state = machine.state
    if "over" in state:
        _tell_excess(machine)
    queue: list[str] = state.get("queue", [])
    while queue and machine.status not in ("paused", *_ENDED):
        waiting = _first_that_moves(machine, queue)
        if waiting is None:
            break
        queue.remove(waiting)
    if not queue:
        state.pop("queue", None)
    for key in state.pop("starved", []):
        frame = machine.loop_frames.get(key)
        if frame is None or "starved" not in frame:
            continue
        if budget.under_way(frame):
            state.setdefault("starved", []).append(key)
        else:
            loop_limit.budget_reached(machine, key, loop_limit.Reached(**frame.pop("starved")))


_ENDED = ("succeeded", "failed", "cancelled")


def _first_that_moves(machine: State, queue: list[str]) -> str | None:
    """The first call that waits no longer: it is sent, refused, or nobody wants it any more."""
    for address in queue:
        entry = machine.pending.get(address)
        if entry is None or "sent" in entry or _send_or_refuse(machine, entry["frame"]):
            return address
        frame = machine.task_frames[entry["frame"]]
        if not budget.fits(machine.state, frame["intent"]["reserve"]):
            return None
    return None


def _send_or_refuse(machine: State, key: str) -> bool:
    """Whether that is decided; else the call waits for others to settle."""
    frame = machine.task_frames[key]
    intent = frame["intent"]
    loop: str | None = frame["loop"]
    if _is_starved(machine, loop):
        # Asked for again, should the loop be continued.
        return True
    refusal = budget.shortage(machine, loop, intent["reserve"])
    if refusal is not None:
        del frame["intent"]
        _refuse(machine, key, *refusal, intent["reserve"])
        return True
    cap, amount = budget.allowance(machine, loop, intent["reserve"], intent["cap"])
    if not budget.reserve(machine, frame, amount, intent["at_worst"]):
        return False
    del frame["intent"]
    if cap is not None:
        frame["cap"] = cap
    machine.pending[frame["address"]]["sent"] = True
    machine.command(Send(frame["address"], cap))
    return True


def _is_starved(machine: State, loop: str | None) -> bool:
    while loop is not None:
        if "starved" in machine.loop_frames[loop]:
            return True
        loop = machine.frames[loop]["loop"]
    return False


def _refuse(machine: State, key: str, scope: str, name: str, amount: dict[str, Any]) -> None:
    """A call does not fit into the budget of a loop, or (`run`) of the run."""
    frame = machine.task_frames[key]
    is_run = scope == "run"
    budgeted: Budgeted = machine.state if is_run else machine.loop_frames[scope]
    limits = budgeted["limits"]
    loop = _outermost_to_begin(machine, frame["loop"]) if is_run else scope
    ends = loop is not None and "last" in machine.loop_frames[loop]
    machine.note(
        "budget.reached",
        frame["address"],
        {
            "limit": name,
            "of": limits[name],
            "scope": "run" if is_run else "loop",
            "pauses": not ends,
        },
    )
    limit = loop_limit.NAMES[name]
    missing = budget.missing(budgeted, name, amount)
    more = max(missing, float(limits[name]))
    if loop is None or not ends:
        flag = loop_limit.raising(limit, more)
        _pause(machine, frame, limit, flag, None if is_run else machine.loop_frames[scope])
        return
    machine.loop_frames[loop]["needs"] = {name: amount[name] for name in amount}
    whose = "the run" if is_run else repr(machine.loop_frames[scope]["name"])
    machine.loop_frames[loop]["starved"] = {
        "reason": "budget",
        "words": f"the {limit} budget of {whose}",
        "limit": limit,
        "of_run": is_run,
        "more": more,
    }
    machine.state.setdefault("starved", []).append(loop)


def _outermost_to_begin(machine: State, loop: str | None) -> str | None:
    """The innermost loop, or the outermost one whose iteration has done nothing yet."""
    while loop is not None:
        around = machine.frames[loop]["loop"]
        if around is None or machine.loop_frames[around].get("begun"):
            return loop
        loop = around
    return None


def _pause(machine: State, call: TaskFrame, limit: str, flag: str, loop: LoopFrame | None) -> None:
    """There is nothing to return: the run waits for more money, with all that it has."""
    state = machine.state
    state["status"] = "paused"
    state["paused_by"] = "budget"
    state.pop("queue", None)
    machine.note("run.waiting", "", {"status": "paused", "for": "budget"})
    whose = "the run"
    advice = f"`whorl resume RUN {flag}`"
    if loop is not None:
        whose = f"loop {loop['name']!r}"
        state["short_loop"] = loop["address"]
        loop["short_of_run"] = False
        advice = f"`whorl continue RUN --at '{loop['address']}' {flag}`"
    message = f"the {limit} budget of {whose} does not allow {call['name']!r}; give it more: "
    machine.warn(call["address"], "R103", message + advice)


def note_excess(machine: State, loop: str | None) -> None:
    """A call is paid for: remembers which budgets it has gone over, to say so once all are in."""
    for key, scope in budget.keyed_scopes(machine, loop):
        if budget.excess(scope):
            machine.state.setdefault("over", {})[key] = True


def _tell_excess(machine: State) -> None:
    """Says by how much calls have gone over a budget: their providers kept to no cap."""
    over = machine.state["over"]
    for key in list(over):
        loop = machine.loop_frames.get(key)
        scope: Budgeted | None = machine.state if key == "run" else loop
        if scope is not None and budget.under_way(scope):
            continue
        del over[key]
        if scope is None:
            continue
        whose = "the run" if loop is None else f"loop {loop['name']!r}"
        for name, amount in budget.excess(scope).items():
            limit = loop_limit.NAMES[name]
            shown = f"${amount:.4g}" if name == "cost_usd" else f"{amount:g}"
            message = f"{whose} is over its {limit} budget by {shown}; nothing more is sent"
            machine.warn(loop["address"] if loop else "", "R103", message)
    if not over:
        del machine.state["over"]
