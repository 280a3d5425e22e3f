"""Budgets: reserved before a call, settled after it, for every loop around it and for the run.

Usage is counted once, at the call, and added to each scope that it happens in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.frames import Frame
    from whorl.interpreter.machine import Machine

_LIMITED = ("cost_usd", "tokens", "calls")
# A reply that comes after this many other calls were given up counts beside its reservation.
_ABANDONED_MAX = 1_000


def add_usage(machine: Machine, loop: str | None, usage: dict[str, Any]) -> None:
    """Adds what a call used to every loop around it and to the run."""
    counted = _sane(usage) if usage else {}
    for _, scope in _keyed_scopes(machine, loop):
        scope["begun"] = True
        if not counted:
            continue
        total = scope["usage"]
        for name, amount in counted.items():
            total[name] = total.get(name, 0) + amount


def reserve(machine: Machine, loop: str | None, amount: dict[str, Any]) -> str | None:
    """Reserves an amount everywhere; gives the scope that refuses, and why, or None.

    The answer is `loop-frame-key limit` or `run limit`. The innermost scope refuses first.
    """
    wanted = {name: _number(amount.get(name)) for name in _LIMITED}
    for key, scope in _keyed_scopes(machine, loop):
        for name in _LIMITED:
            limit = scope["limits"].get(name)
            if limit is not None and _taken(scope, name) + wanted[name] > limit + 1e-12:
                return f"{key} {name}"
    for scope in _scopes(machine, loop):
        scope["begun"] = True
        held = scope["reserved"]
        for name, number in wanted.items():
            if number:
                held[name] = held.get(name, 0) + number
    return None


def release(machine: Machine, loop: str | None, amount: dict[str, Any]) -> None:
    """Gives a reservation back: the call is settled, or was never sent."""
    for scope in _scopes(machine, loop):
        held = scope["reserved"]
        for name in _LIMITED:
            number = _number(amount.get(name))
            if number:
                rest = held.get(name, 0) - number
                held[name] = rest if rest > 1e-12 else 0


def charge_reserve(
    machine: Machine, loop: str | None, amount: dict[str, Any], *, in_doubt: bool
) -> None:
    """Counts a reservation as spent: the call was sent, and nobody will say what it used."""
    release(machine, loop, amount)
    add_usage(machine, loop, _used(amount) | {"in_doubt": int(in_doubt)})


def abandon(machine: Machine, frame: Frame) -> None:
    """A call that was sent is no longer wanted: its reservation counts until its reply comes."""
    amount = frame.pop("reserve")
    charge_reserve(machine, frame["loop"], amount, in_doubt=False)
    abandoned = machine.state["abandoned"]
    loops = [key for key, _ in _keyed_scopes(machine, frame["loop"])][:-1]
    abandoned[frame["address"]] = {"loops": loops, "amount": amount}
    if len(abandoned) > _ABANDONED_MAX:
        del abandoned[next(iter(abandoned))]


def add_late_usage(machine: Machine, address: str, usage: dict[str, Any]) -> None:
    """Adds what a call used that nobody waits for any more, instead of its reservation."""
    known = machine.state["abandoned"].pop(address, {"loops": [], "amount": {}})
    counted, charged = _sane(usage), _sane(_used(known["amount"]))
    for scope in (*_loops(machine, known["loops"]), machine.state):
        total = scope["usage"]
        for name in dict.fromkeys((*counted, *charged)):
            rest = total.get(name, 0) + counted.get(name, 0) - charged.get(name, 0)
            total[name] = max(0, rest)


def add_late_doubt(machine: Machine, address: str) -> None:
    """A call that is no longer wanted turns out to be in doubt; its reservation is charged."""
    known = machine.state["abandoned"].get(address)
    if known is not None:
        for scope in (*_loops(machine, known["loops"]), machine.state):
            scope["usage"]["in_doubt"] = scope["usage"].get("in_doubt", 0) + 1


def exhausted(machine: Machine, key: str) -> str | None:
    """The limit of a loop that is used up already, if there is one."""
    scope = machine.frames[key]
    limits = scope["limits"]
    for name in _LIMITED:
        limit = limits.get(name)
        if limit is not None and _taken(scope, name) >= limit:
            return name
    return None


def _loops(machine: Machine, keys: list[str]) -> list[Frame]:
    return [machine.frames[key] for key in keys if key in machine.frames]


def _used(amount: dict[str, Any]) -> dict[str, float]:
    return {
        "calls": _number(amount.get("calls")),
        "output_tokens": _number(amount.get("tokens")),
        "cost_usd": _number(amount.get("cost_usd")),
    }


def _taken(scope: dict[str, Any], name: str) -> float:
    used, held = scope["usage"], scope["reserved"]
    if name == "tokens":
        spent = used.get("input_tokens", 0) + used.get("output_tokens", 0)
    else:
        spent = used.get(name, 0)
    return float(spent + held.get(name, 0))


def _scopes(machine: Machine, loop: str | None) -> Iterator[dict[str, Any]]:
    for _, scope in _keyed_scopes(machine, loop):
        yield scope


def _keyed_scopes(machine: Machine, loop: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    while loop is not None and loop in machine.frames:
        frame = machine.frames[loop]
        yield loop, frame
        loop = frame["loop"]
    yield "run", machine.state


def _sane(usage: dict[str, Any]) -> dict[str, float]:
    names = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt", "unpriced")
    counted = {name: _number(usage.get(name)) for name in names if usage.get(name)}
    if usage.get("calls") and usage.get("cost_usd", 0) is None:
        counted["unpriced"] = counted.get("unpriced", 0) + _number(usage["calls"])
    return counted


def _number(value: object) -> float:
    """A usage figure; what is negative, not finite or no number counts as nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if math.isfinite(value) and value > 0 else 0
