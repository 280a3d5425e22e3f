"""Budgets: reserve an amount before each call and settle it after, in every scope.

Usage is counted once, at the call, and added to each scope that it happens in. `reserved` of a
scope includes the open calls in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import Send, amount_in, charged
from whorl.interpreter.state import ENDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Amounts, Budgeted, LoopFrame, TaskFrame, Values
    from whorl.interpreter.state import State

# What is limited, in the words of messages and fields.
NAMES = {"cost_usd": "cost", "tokens": "tokens", "calls": "calls"}
# A call needs at least one call and one token; what it costs is not known before.
LEAST = {"calls": 1, "tokens": 1, "cost_usd": 1e-9}
# A reply that comes after this many other calls were given up counts beside its reservation.
_ABANDONED_MAX = 1_000
# Sums of what was spent are exact to this.
NOTHING = 1e-12


def add_usage(machine: State, loop: str | None, usage: dict[str, Any]) -> None:
    """Adds what a call used to every loop around it and to the run."""
    counted = _sane(usage) if usage else {}
    for _, scope in keyed_scopes(machine, loop):
        scope["begun"] = True
        total = scope["usage"]
        for name, amount in counted.items():
            total[name] = total.get(name, 0) + amount


def over(scope: Budgeted, amount: Mapping[str, Any], *, reserved: bool = False) -> Amounts:
    """Returns by how much an amount, added to what is spent or reserved, exceeds each limit."""
    amounts: Amounts = {}
    limits = scope["limits"]
    for name in NAMES if limits else ():
        if limits.get(name) is not None:
            amounts[name] = _spent(scope, name) + amount_in(amount.get(name)) - limits[name]
            if reserved:
                amounts[name] += scope["reserved"].get(name, 0)
    return amounts


def lacking(machine: State, loop: str | None, amount: dict[str, Any]) -> dict[str, float]:
    """Returns by how much to raise each limit that an amount exceeds, in a loop or around it.

    That is at least as much again as the limit was.
    """
    more: dict[str, float] = {}
    for _, scope in keyed_scopes(machine, loop):
        for name, lack in over(scope, amount).items():
            if lack > NOTHING:
                more[name] = max(more.get(name, 0.0), lack, scope["limits"][name])
    return more


def per_iteration(frame: LoopFrame, iterations: int) -> dict[str, float]:
    """Returns the likely usage of this many more iterations, if they are like those before."""
    share = iterations / max(1, frame["count"])
    return {name: max(LEAST[name], _spent(frame, name) * share) for name in NAMES}


def is_limited(machine: State, address: str) -> bool:
    """Checks whether a limit applies to a call: then the most that it may use matters."""
    entry = machine.pending[address]
    scopes = keyed_scopes(machine, machine.task_frames[entry["frame"]]["loop"])
    return any(scope["limits"].get(name) is not None for _, scope in scopes for name in NAMES)


def fits(scope: Budgeted, amount: dict[str, Any]) -> bool:
    if not scope["limits"]:
        return True
    return all(lack <= NOTHING for lack in over(scope, amount, reserved=True).values())


def reserve(
    machine: State, frame: TaskFrame, amount: dict[str, Any], at_worst: dict[str, Any]
) -> bool:
    """Reserves an amount for a call everywhere, if it fits everywhere.

    While the call is open, the most that it may use is held back from others. So at most one call
    can exceed the budget, even if a server ignores the limit that it is sent.
    """
    scopes = [scope for _, scope in keyed_scopes(machine, frame["loop"])]
    for scope in scopes:
        if not fits(scope, amount):
            return False
    frame["reserve"] = amount
    frame["held"] = {}
    for name in NAMES if amount or at_worst else ():
        if number := max(amount_in(amount.get(name)), amount_in(at_worst.get(name))):
            frame["held"][name] = number
    for scope in scopes:
        scope["begun"] = True
        held = scope["reserved"]
        held["sent"] = held.get("sent", 0) + 1
        for name, number in frame["held"].items():
            held[name] = held.get(name, 0) + number
    return True


def allowance(
    machine: State, loop: str | None, amount: dict[str, Any], cap: dict[str, Any] | None
) -> tuple[int | None, dict[str, Any]]:
    """Returns how many tokens an answer of open size may have, and what that reserves.

    It is what the money left pays for, divided by the waiting and open calls, within what the model
    can write; None if no budget needs it.
    """
    if cap is None:
        return None, amount
    least, price = int(cap["least"]), amount_in(cap.get("usd_per_token"))
    paid: list[int] = []
    for key, scope in keyed_scopes(machine, loop):
        calls = machine.open["task"] if key == "run" else max(1, scope.get("open", 0))
        for name, each in (("cost_usd", price), ("tokens", 1)):
            limit = scope["limits"].get(name)
            if each and limit is not None:
                unspent = limit - _spent(scope, name)
                free = unspent - float(scope["reserved"].get(name, 0))
                left = min(unspent / calls, free) - amount_in(amount.get(name))
                paid.append(least + int(left / each))
    if not paid:
        return None, amount
    tokens = max(least, min(*paid, int(cap["most"])))
    return tokens, with_cap(amount, cap, tokens)[1]


def with_cap(
    amount: dict[str, Any], cap: dict[str, Any], tokens: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the cap of an answer of just so many tokens, and what that reserves."""
    added = tokens - int(cap["least"])
    more = {"tokens": added, "cost_usd": added * amount_in(cap.get("usd_per_token"))}
    reserved = {name: amount_in(amount.get(name)) + more[name] for name in more if more[name]}
    return cap | {"least": tokens, "most": tokens}, amount | reserved


def release(machine: State, frame: TaskFrame) -> dict[str, Any]:
    """Releases what is held for a settled call, and returns what was reserved for it."""
    amounts: dict[str, float] = frame.pop("held", {})
    for _, scope in keyed_scopes(machine, frame["loop"]):
        held = scope["reserved"]
        held["sent"] = max(0, held.get("sent", 0) - 1)
        for name, number in amounts.items():
            rest = held.get(name, 0) - number
            held[name] = rest if rest > NOTHING else 0
    frame.pop("unsent", None)
    return frame.pop("reserve", {})


def under_way(scope: Budgeted) -> int:
    return int(scope["reserved"].get("sent", 0))


def charge_reserve(machine: State, frame: TaskFrame) -> dict[str, float]:
    """Counts a reservation as spent: the call was sent, but its usage will never be known."""
    usage = charged(release(machine, frame))
    add_usage(machine, frame["loop"], usage)
    return usage


def hold(machine: State, key: str, event: Event) -> None:
    """Notes whether the provider holds a call back, unsent, or has sent it."""
    machine.task_frames[key]["unsent"] = event.kind == "task.held"


def abandon(machine: State, frame: TaskFrame) -> Values:
    """Drops a sent call: its reservation counts until its reply comes.

    If its provider holds it back, it is free. Returns the facts to note about that.
    """
    if frame.get("unsent"):
        release(machine, frame)
        return {}
    usage = charge_reserve(machine, frame)
    abandoned = machine.state["abandoned"]
    loops = [key for key, _ in keyed_scopes(machine, frame["loop"])][:-1]
    abandoned[frame["address"]] = {"loops": loops, "usage": usage}
    if len(abandoned) > _ABANDONED_MAX:
        del abandoned[next(iter(abandoned))]
    return {"usage": {**usage}}


def add_late_usage(machine: State, address: str, usage: dict[str, Any]) -> None:
    """Adds the usage of a late reply to an abandoned call, instead of its reservation."""
    call = machine.state["abandoned"].pop(address, {"loops": [], "usage": {}})
    counted, charge = _sane(usage), _sane(call["usage"])
    loops = [machine.loop_frames[key] for key in call["loops"] if key in machine.frames]
    for scope in (*loops, machine.state):
        total = scope["usage"]
        for name in dict.fromkeys((*counted, *charge)):
            rest = total.get(name, 0) + counted.get(name, 0) - charge.get(name, 0)
            total[name] = max(0, rest)


def _spent(scope: Budgeted, name: str) -> float:
    used = scope["usage"]
    if name == "tokens":
        return float(used.get("input_tokens", 0) + used.get("output_tokens", 0))
    return float(used.get(name, 0))


def keyed_scopes(machine: State, loop: str | None) -> Iterator[tuple[str, Budgeted]]:
    """Returns the loops around a call, the innermost first, and then the run, by key."""
    while loop is not None and loop in machine.frames:
        frame = machine.loop_frames[loop]
        yield loop, frame
        loop = frame["loop"]
    yield "run", machine.state


def _sane(usage: dict[str, Any]) -> dict[str, float]:
    names = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt", "unpriced")
    counted = {name: amount_in(usage.get(name)) for name in names if usage.get(name)}
    if usage.get("calls") and usage.get("cost_usd", 0) is None:
        counted["unpriced"] = counted.get("unpriced", 0) + amount_in(usage["calls"])
    return counted


# Calls before they go out: each is sent, waits, or is refused, by what the budgets leave.
#
# It waits while the money that it lacks is only reserved by others, since they may use less; it is
# refused when the money that is spent leaves too little. Then the loop around it ends, once the
# open calls in it are answered, or the run pauses if there is nothing to return.


def admit(machine: State, key: str, event: Event) -> None:
    """Handles the intent of a call: sends the call, makes it wait, or refuses it."""
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
    """Sends, after an event, the waiting calls that now fit.

    For the budget of the run, calls wait in the order in which they came.
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
    """Returns the first call that stops waiting: it is sent, refused, or no longer wanted."""
    for address in queue:
        entry = machine.pending.get(address)
        if entry is None or "sent" in entry or _send_or_refuse(machine, entry["frame"]):
            return address
        frame = machine.task_frames[entry["frame"]]
        if not fits(machine.state, frame["intent"]["reserve"]):
            return None
    return None


def _send_or_refuse(machine: State, key: str) -> bool:
    """Decides on a call and returns true; returns false if it waits for others to settle."""
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
    """Refuses a call that does not fit into the budget of a loop, or (`run`) of the run."""
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
        _pause(machine, frame, name, amount, None if is_run else scope)
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
    """Returns the innermost loop, or the outermost whose iteration has done nothing yet."""
    while loop is not None:
        around = machine.frames[loop]["loop"]
        if around is None or machine.loop_frames[around].get("begun"):
            return loop
        loop = around
    return None


def _pause(
    machine: State, call: TaskFrame, limit: str, amount: dict[str, Any], scope: str | None
) -> None:
    """Pauses the run with all that it has: it has nothing to return and waits for more money."""
    state = machine.state
    machine.pause("budget")
    state.pop("queue", None)
    note_pause(machine)
    whose, loop = "the run", None if scope is None else machine.loop_frames[scope]
    facts: Values = {"limit": limit, "more": {**lacking(machine, scope, amount)}}
    if loop is not None:
        whose = f"loop {loop['name']!r}"
        state["short_loop"] = facts["loop"] = loop["address"]
        loop["short_of_run"] = False
    most, of = amount_in(amount.get(limit)), f"of the {NAMES[limit]} budget of {whose} is left"
    left = max(0.0, -over(machine.state if loop is None else loop, {})[limit])
    message = f"nothing {of} for {call['name']!r}"
    if NOTHING < left < most:
        verb, form = ("cost", "${:.6f}") if limit == "cost_usd" else ("use", "{:.1f}")
        high, low = (form.format(each).rstrip("0").rstrip(".") for each in (most, left))
        message = f"{call['name']!r} may {verb} up to {high}, but only {low} {of}"
    machine.warn(call["address"], "R103", message, facts=facts)


def note_pause(machine: State) -> None:
    """Notes that the run is paused; for a budget, also which iterations have not begun."""
    body: Values = {"status": "paused"}
    if machine.state.get("paused_by") == "budget":
        loops = [f for f in machine.frames.values() if f["kind"] == "loop"]
        held = [f for f in loops if f.get("phase") == "body" and not f["begun"]]
        addresses = [f["iteration"]["address"] for f in held if not f.get("retries")]
        body |= {"for": "budget", "not_begun": [*addresses]}
    machine.note("run.waiting", "", body)


def note_excess(machine: State, loop: str | None) -> None:
    """Remembers which budgets a paid call has exceeded, to report it once all calls are in."""
    for key, scope in keyed_scopes(machine, loop):
        if any(lack > NOTHING for lack in over(scope, {}).values()):
            machine.state.setdefault("over", {})[key] = True


def _warn_of_excess(machine: State) -> None:
    """Warns by how much calls exceeded a budget because their providers ignored the cap."""
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
