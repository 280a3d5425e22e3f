"""Trying again: whether another attempt may help, and how long to wait for it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.ir import Retry

TIMEOUTS = frozenset({"P108", "R101"})


def may_help(policy: Retry, fault: dict[str, Any]) -> bool:
    """Whether the policy tries again after this fault."""
    if not policy.on:
        return bool(fault.get("retryable"))
    words = {"*"}
    for told in (fault, fault.get("detail"), fault.get("cause")):
        if isinstance(told, dict):
            words |= {str(told[name]) for name in ("code", "status", "type") if name in told}
    if words & TIMEOUTS:
        words.add("timeout")
    if any(len(word) == 3 and word[0] == "5" and word.isdecimal() for word in words):
        words.add("5xx")
    return any(word in words for word in policy.on)


def pause(
    machine: Machine, address: str, policy: Retry, number: int, asked: object = None
) -> float:
    """How long to wait before retry `number` (from 1); at least as long as the other side asks."""
    try:
        wait: float = policy.wait_s * policy.backoff ** (number - 1)
    except OverflowError:
        wait = policy.wait_max_s if policy.wait_s else 0.0
    if policy.drawn:
        least = max(policy.wait_min_s, wait / policy.backoff if number > 1 else 0.0)
        most = min(wait, policy.wait_max_s)
        wait = min(least, most) + chance(machine, address) * max(0.0, most - least)
    elif policy.jitter:
        wait *= 1 + policy.jitter * (chance(machine, address) * 2 - 1)
    wait = max(policy.wait_min_s, min(wait, policy.wait_max_s))
    return max(wait, float(asked)) if isinstance(asked, int | float) else wait


def chance(machine: Machine, address: str) -> float:
    """A number from 0 to 1 that depends on the run and the address only."""
    digest = hashlib.sha256(f"{machine.state['seed']} {address}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
