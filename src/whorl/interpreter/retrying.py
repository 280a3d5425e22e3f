"""Trying again: whether another attempt may help, how long to wait for it, and by which key.

An attempt that was not answered may have been carried out, so the next one carries the same key;
after an answer, also a bad one, the next attempt is another call.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl.interpreter.frames import TaskFrame
    from whorl.interpreter.state import State
    from whorl.ir import Retry
    from whorl.language import Json

TIMEOUTS = frozenset({"P108", "R101"})
# Tasks that failed without an answer and could be tried again by a person; the oldest ones go.
_UNANSWERED_MAX = 1_000


def is_doubtful(fault: dict[str, Any]) -> bool:
    """Whether the other side may have done what it was asked to do."""
    detail = fault.get("detail")
    is_unsent = isinstance(detail, dict) and bool(detail.get("unsent"))
    return not is_unsent and not _is_answered(fault)


def _is_answered(fault: dict[str, Any]) -> bool:
    return bool(fault.get("answered", fault.get("code") not in TIMEOUTS))


def keep_key(frame: TaskFrame, fault: dict[str, Any]) -> None:
    """Keeps the key, and the cap, of an attempt that was not answered for the next one."""
    if _is_answered(fault):
        frame.pop("key", None)
        frame.pop("cap", None)
    else:
        frame.setdefault("key", frame["address"])


def leave_key(machine: State, frame: TaskFrame) -> None:
    """A task failed without an answer: whoever has it tried again sends the same key."""
    if "key" in frame and "inputs" in frame:
        known = machine.state.setdefault("unanswered", {})
        known[frame["base"]] = [frame["key"], _mark(frame["inputs"]), frame.get("cap")]
        if len(known) > _UNANSWERED_MAX:
            del known[next(iter(known))]


def take_key(machine: State, frame: TaskFrame, inputs: dict[str, Json]) -> None:
    """Takes up the key that an earlier try at the same task left, if it asks for the same."""
    found = machine.state.get("unanswered", {}).pop(frame["base"], None)
    if found is not None and found[1] == _mark(inputs):
        frame["key"] = found[0]
        if found[2] is not None:
            frame["cap"] = found[2]


def _mark(inputs: dict[str, Json]) -> str:
    text = json.dumps(inputs, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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


def pause(machine: State, address: str, policy: Retry, number: int, asked: object = None) -> float:
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


def chance(machine: State, address: str) -> float:
    """A number from 0 to 1 that depends on the run and the address only."""
    digest = hashlib.sha256(f"{machine.state['seed']} {address}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
