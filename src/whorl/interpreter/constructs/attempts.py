"""Attempts at a node: whether another one may help, when, by which key, and how much time is left.

An attempt that was not answered may have been carried out, so the next one carries the same key;
after an answer, also a bad one, the next attempt is another call. The clock of a task that has one
time for all its attempts, with the waits between them, is an alarm like that of any other node.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING

from whorl.interpreter.events import SetTimer
from whorl.interpreter.frames import discard

if TYPE_CHECKING:
    from whorl.interpreter.frames import Error, TaskFrame, Values
    from whorl.interpreter.state import State
    from whorl.ir import Retry

TIMEOUTS = frozenset({"P108", "R101"})
# Tasks that failed without an answer and could be tried again by a person; the oldest ones go.
_UNANSWERED_MAX = 1_000


def is_answered(fault: Error) -> bool:
    """Whether the other side has said something; else it may have done what it was asked to do."""
    return bool(fault.get("answered", fault.get("code") not in TIMEOUTS))


def keep_key(frame: TaskFrame, fault: Error) -> None:
    """Keeps the key, and the cap, of an attempt that was not answered for the next one."""
    if is_answered(fault):
        discard(frame, "key", "cap")
    else:
        frame.setdefault("key", frame["address"])


def leave_key(machine: State, frame: TaskFrame) -> None:
    """A task failed without an answer: whoever has it tried again sends the same key."""
    if "key" in frame and "inputs" in frame:
        unanswered = machine.state["unanswered"]
        unanswered[frame["base"]] = [frame["key"], _mark(frame["inputs"]), frame.get("cap")]
        if len(unanswered) > _UNANSWERED_MAX:
            del unanswered[next(iter(unanswered))]


def take_key(machine: State, frame: TaskFrame, inputs: Values) -> None:
    """Takes up the key that an earlier try at the same task left, if it asks for the same."""
    key, mark, cap = machine.state["unanswered"].pop(frame["base"], (None, "", None))
    if key is not None and mark == _mark(inputs):
        frame["key"] = key
        if cap is not None:
            frame["cap"] = cap


def _mark(inputs: Values) -> str:
    text = json.dumps(inputs, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def may_help(policy: Retry, fault: Error) -> bool:
    """Whether the policy tries again after this fault."""
    if not policy.on:
        return bool(fault.get("retryable"))
    words = {"*"}
    for facts in (fault, fault.get("detail"), fault.get("cause")):
        if isinstance(facts, dict):
            words |= {str(facts[name]) for name in ("code", "status", "type") if name in facts}
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


def time_left(machine: State, frame: TaskFrame) -> float:
    """The seconds until its alarm, which may be due though nobody has looked at the clock yet."""
    alarm = machine.pending.get(frame.get("alarm", ""))
    return math.inf if alarm is None else float(alarm["due"]) - machine.now


def restart_clocks(machine: State) -> None:
    """A person lets a paused run go on: the time that it stood is no time of its tasks."""
    for key, frame in list(machine.frames.items()):
        if frame["kind"] == "task" and "alarm" in frame:
            if frame["alarm"] in machine.pending:
                machine.settle(frame["alarm"])
            seconds = machine.plan.tasks[frame["node"]].total_timeout_s
            assert seconds is not None
            machine.expect(frame["alarm"], key, "alarm", due=machine.now + seconds)


def let_clocks_stand(machine: State, seconds: float) -> None:
    """The time that a run stands counts for no limit; waits do not get longer by it."""
    for address, entry in machine.pending.items():
        if entry["what"] == "alarm":
            entry["due"] += seconds
            machine.command(SetTimer(address, entry["due"]))
    for frame in machine.frames.values():
        if frame["kind"] == "task" and "since" in frame:
            frame["since"] += seconds
        if frame["kind"] == "loop" and "started" in frame:
            frame["started"] += seconds
            if "iteration" in frame:
                frame["iteration"]["at"] += seconds
