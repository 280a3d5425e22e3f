"""Calls before they go out: each is sent, waits, or is refused, by what the budgets leave.

It waits while the money that it lacks is only reserved by others, since they may use less; it is
refused when the money that is spent leaves too little. Then the loop around it ends, once the calls
that are under way in it are answered, or the run pauses where nothing can be returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.budget import (
    NAMES,
    NOTHING,
    allowance,
    fits,
    keyed_scopes,
    lacking,
    over,
    reserve,
    under_way,
    with_cap,
)
from whorl.interpreter.events import Send
from whorl.interpreter.state_index import ENDED

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Amounts, Budgeted, LoopFrame, TaskFrame, Values
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
        cap, reserve = with_cap(reserve, cap, frame["cap"])
    at_worst: Any = event.body.get("at_worst") or {}
    frame["intent"] = {"reserve": reserve, "cap": cap, "at_worst": at_worst}
    if machine.state.get("queue") or not _send_or_refuse(machine, key):
        queue = machine.state.setdefault("queue", [])
        if address not in queue:
            queue.append(address)


def review(machine: State) -> None:
    """After an event: sends what was waiting and fits now.

    The calls wait in the order in which they came, as far as the budget of the run is concerned.
    """
    state = machine.state
    if "over" in state:
        _warn_of_excess(machine)
    queue: list[str] = state.get("queue", [])
    while queue and machine.status != "paused" and machine.status not in ENDED:
        waiting = _first_that_moves(machine, queue)
        if waiting is None:
            break
        queue.remove(waiting)
    if not queue:
        state.pop("queue", None)


def _first_that_moves(machine: State, queue: list[str]) -> str | None:
    """The first call that waits no longer: it is sent, refused, or nobody wants it any more."""
    for address in queue:
        entry = machine.pending.get(address)
        if entry is None or "sent" in entry or _send_or_refuse(machine, entry["frame"]):
            return address
        frame = machine.task_frames[entry["frame"]]
        if not fits(machine.state, frame["intent"]["reserve"]):
            return None
    return None


def _send_or_refuse(machine: State, key: str) -> bool:
    """Whether that is decided; else the call waits for others to settle."""
    frame = machine.task_frames[key]
    intent = frame["intent"]
    loop: str | None = frame["loop"]
    # The innermost scope counts; what others have reserved does not, since they may use less.
    scopes = list(keyed_scopes(machine, loop))
    if any("out_of_budget" in budgeted for _, budgeted in scopes[:-1]):
        # Asked for again, should the loop be continued.
        return True
    for scope, budgeted in scopes:
        if not budgeted["limits"]:
            continue
        for name, lack in over(budgeted, intent["reserve"]).items():
            if lack > NOTHING:
                del frame["intent"]
                _refuse(machine, key, scope, name, intent["reserve"])
                return True
    cap, amount = allowance(machine, loop, intent["reserve"], intent["cap"])
    if not reserve(machine, frame, amount, intent["at_worst"]):
        return False
    del frame["intent"]
    if cap is not None:
        frame["cap"] = cap
    machine.pending[frame["address"]]["sent"] = True
    machine.command(Send(frame["address"], cap))
    return True


def _refuse(machine: State, key: str, scope: str, name: str, amount: dict[str, Any]) -> None:
    """A call does not fit into the budget of a loop, or (`run`) of the run."""
    frame = machine.task_frames[key]
    is_run = scope == "run"
    budgeted: Budgeted = machine.state if is_run else machine.loop_frames[scope]
    limits = budgeted["limits"]
    loop = _outermost_to_begin(machine, frame["loop"]) if is_run else scope
    ends = loop is not None and "last" in machine.loop_frames[loop]
    if is_run and name == "cost_usd" and machine.state.get("pauses"):
        ends = False
    facts: Values = {"limit": name, "of": limits[name], "scope": "run" if is_run else "loop"}
    machine.note("budget.reached", frame["address"], facts | {"pauses": not ends})
    if loop is None or not ends:
        more = lacking(machine, None if is_run else scope, amount)
        _pause(machine, frame, name, more, None if is_run else machine.loop_frames[scope])
        return
    machine.loop_frames[loop]["needs"] = {name: amount[name] for name in amount}
    whose = "the run" if is_run else repr(machine.loop_frames[scope]["name"])
    machine.loop_frames[loop]["out_of_budget"] = {
        "reason": "budget",
        "words": f"the {NAMES[name]} budget of {whose}",
        "limit": name,
        "of_run": is_run,
        "more": max(over(budgeted, amount)[name], float(limits[name])),
    }
    machine.state.setdefault("out_of_budget", []).append(loop)


def _outermost_to_begin(machine: State, loop: str | None) -> str | None:
    """The innermost loop, or the outermost one whose iteration has done nothing yet."""
    while loop is not None:
        around = machine.frames[loop]["loop"]
        if around is None or machine.loop_frames[around].get("begun"):
            return loop
        loop = around
    return None


def _pause(
    machine: State, call: TaskFrame, limit: str, more: Amounts, loop: LoopFrame | None
) -> None:
    """There is nothing to return: the run waits for more money, with all that it has."""
    state = machine.state
    machine.pause("budget")
    state.pop("queue", None)
    note_pause(machine)
    whose = "the run"
    facts: Values = {"limit": limit, "more": {**more}}
    if loop is not None:
        whose = f"loop {loop['name']!r}"
        state["short_loop"] = facts["loop"] = loop["address"]
        loop["short_of_run"] = False
    message = f"the {NAMES[limit]} budget of {whose} does not allow {call['name']!r}"
    machine.warn(call["address"], "R103", message, facts=facts)


def note_pause(machine: State) -> None:
    """Says that the run is paused; for a budget, also which iterations have not begun."""
    body: Values = {"status": "paused"}
    if machine.state.get("paused_by") == "budget":
        loops = [f for f in machine.frames.values() if f["kind"] == "loop"]
        held = [f for f in loops if f.get("phase") == "body" and not f["begun"]]
        addresses = [f["iteration"]["address"] for f in held if not f.get("retries")]
        body |= {"for": "budget", "not_begun": [*addresses]}
    machine.note("run.waiting", "", body)


def note_excess(machine: State, loop: str | None) -> None:
    """A call is paid for: remembers which budgets it has gone over, to say so once all are in."""
    for key, scope in keyed_scopes(machine, loop):
        if any(lack > NOTHING for lack in over(scope, {}).values()):
            machine.state.setdefault("over", {})[key] = True


def _warn_of_excess(machine: State) -> None:
    """Says by how much calls have gone over a budget: their providers kept to no cap."""
    noted = machine.state["over"]
    for key in list(noted):
        loop = machine.loop_frames.get(key)
        scope: Budgeted | None = machine.state if key == "run" else loop
        if scope is not None and under_way(scope):
            continue
        del noted[key]
        if scope is None:
            continue
        address = loop["address"] if loop else ""
        whose = f"loop {address!r}" if loop else "the run"
        for name, amount in over(scope, {}).items():
            if amount <= NOTHING:
                continue
            limit = NAMES[name]
            shown = f"${amount:.4g}" if name == "cost_usd" else f"{amount:g}"
            message = f"{whose} is over its {limit} budget by {shown}; nothing more is sent"
            # The loops of a list have one name, and each its own amount.
            machine.warn(address, "R103", message, once=f"R103 {address} {message}")
    if not noted:
        del machine.state["over"]
