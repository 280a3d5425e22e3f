"""Budgets: reserved before a call, settled after it, for every loop around it and for the run.

Usage is counted once, at the call, and added to each scope that it happens in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.machine import Machine

_LIMITED = ("cost_usd", "tokens", "calls")


def add_usage(machine: Machine, loop: str | None, usage: dict[str, Any]) -> None:
    """Adds what a call used to every loop around it and to the run."""
    counted = _sane(usage)
    for scope in _scopes(machine, loop):
        scope["begun"] = True
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
    used = {
        "calls": _number(amount.get("calls")),
        "output_tokens": _number(amount.get("tokens")),
        "cost_usd": _number(amount.get("cost_usd")),
    }
    add_usage(machine, loop, used | {"in_doubt": int(in_doubt)})


def exhausted(machine: Machine, key: str) -> str | None:
    """The limit of a loop that is used up already, if there is one."""
    scope = machine.frames[key]
    for name in _LIMITED:
        limit = scope["limits"].get(name)
        if limit is not None and _taken(scope, name) >= limit:
            return name
    return None


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
