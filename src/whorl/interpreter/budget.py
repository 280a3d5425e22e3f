"""Budgets: reserved before a call, settled after it, for every loop around it and for the run.

Usage is counted once, at the call, and added to each scope that it happens in. `reserved` of a
scope also counts the calls that are under way in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import amount_in, charged

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
    """By how much an amount beside what is spent, or also reserved, goes over each limit."""
    amounts: Amounts = {}
    limits = scope["limits"]
    for name in NAMES if limits else ():
        if limits.get(name) is not None:
            amounts[name] = _spent(scope, name) + amount_in(amount.get(name)) - limits[name]
            if reserved:
                amounts[name] += scope["reserved"].get(name, 0)
    return amounts


def lacking(machine: State, loop: str | None, amount: dict[str, Any]) -> dict[str, float]:
    """By how much to raise each limit that an amount does not fit into, in a loop or around it.

    That is at least as much again as the limit was.
    """
    more: dict[str, float] = {}
    for _, scope in keyed_scopes(machine, loop):
        for name, lack in over(scope, amount).items():
            if lack > NOTHING:
                more[name] = max(more.get(name, 0.0), lack, scope["limits"][name])
    return more


def per_iteration(frame: LoopFrame, iterations: int) -> dict[str, float]:
    """What so many iterations of a loop would use if they were like those before."""
    share = iterations / max(1, frame["count"])
    return {name: max(LEAST[name], _spent(frame, name) * share) for name in NAMES}


def is_limited(machine: State, address: str) -> bool:
    """Whether a limit is in force for a call: then it matters what it may use."""
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

    While the call is under way, what it may use at worst is held back from others: so one call at
    most can use money that is not there, whatever a server does with the limit that it is sent.
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
    """How many tokens an answer of open size may have, and what that reserves.

    It is what the money left pays for, divided by the calls that wait or are under way, within
    what the model can write; None where no budget asks for it.
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
    """The cap of an answer that may have just so many tokens, and what that reserves."""
    added = tokens - int(cap["least"])
    more = {"tokens": added, "cost_usd": added * amount_in(cap.get("usd_per_token"))}
    reserved = {name: amount_in(amount.get(name)) + more[name] for name in more if more[name]}
    return cap | {"least": tokens, "most": tokens}, amount | reserved


def release(machine: State, frame: TaskFrame) -> dict[str, Any]:
    """Gives back what is held for a call, which is settled; returns what was reserved for it."""
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
    """Counts a reservation as spent: the call was sent, and nobody will say what it used."""
    usage = charged(release(machine, frame))
    add_usage(machine, frame["loop"], usage)
    return usage


def hold(machine: State, key: str, event: Event) -> None:
    """The provider holds a call back that may go out, or has sent it."""
    machine.task_frames[key]["unsent"] = event.kind == "task.held"


def abandon(machine: State, frame: TaskFrame) -> Values:
    """A call that was sent is no longer wanted: its reservation counts until its reply comes.

    One that its provider holds back is free. Gives what is to be said of that.
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
    """Adds what a call used that nobody waits for any more, instead of its reservation."""
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
    """The loops around a call, the innermost first, and then the run, by key."""
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
