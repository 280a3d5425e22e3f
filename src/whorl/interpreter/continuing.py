"""Continuing: loops that have ended, or lack money, go on, and everything around them is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import block, budget, foreach, loop, loop_limit, run, task_clock
from whorl.interpreter.frames import discard

if TYPE_CHECKING:
    from whorl.interpreter.frames import Budgeted, LoopFrame
    from whorl.interpreter.state import State

_AT_LIMIT = frozenset({"max_iterations", "timeout", "budget"})
# What budgets count.
_AMOUNTS = tuple(loop_limit.NAMES)
# A call needs at least one call and one token; what it costs is not known before.
_LEAST = {"calls": 1, "tokens": 1, "cost_usd": 1e-9}


class Refused(ValueError):
    """A request that makes no sense for the run as it is."""


def check(holds: bool, otherwise: str) -> None:
    """Refuses a request unless something holds."""
    if not holds:
        raise Refused(otherwise)


def set_going(machine: State) -> None:
    """A run that had ended or was paused runs again."""
    state = machine.state
    if machine.done:
        state["status"] = "running"
        state["result"] = None
        run.arm(machine)
    elif state["status"] == "paused":
        state["status"] = "running"
        discard(state, "paused_by", "short_loop")
        task_clock.start_anew(machine)
        machine.ask_again()


def flags(body: dict[str, Any]) -> str:
    """The amounts of a request as flags of the command line."""
    amounts = [(loop_limit.NAMES[name], body[name]) for name in _AMOUNTS if body.get(name)]
    return " ".join(f"{loop_limit.FLAGS[limit]} +{amount:g}" for limit, amount in amounts)


def to_continue(machine: State, body: dict[str, Any]) -> list[str]:
    """The loops that a request to continue means; raises Refused where that makes no sense.

    More money alone is for every loop that stopped for its budget.
    """
    at, iterations = body.get("at"), body.get("iterations")
    if machine.status == "paused" and machine.state.get("paused_by") == "budget":
        short, more = short_loop(machine), flags(body) or "--budget +1"
        words = f"the run is paused for its budget: it goes on with `whorl resume RUN {more}`"
        check(bool(short), words)
        check(at in (None, "", short), f"the loop that is short of money is {short!r}")
        return [loop_at(machine, short)]
    if not at and not iterations and flags(body):
        keys = [key for key in ended_for_budget(machine) if is_reopenable(machine, key)]
        check(bool(keys), "no loop of this run stopped for its budget")
    else:
        keys = [loop_at(machine, at, at_limit=True)]
        check_reopenable(machine, keys[0])
    if machine.status != "cancelled":
        _check_money(machine, keys, body)
    return keys


def _check_money(machine: State, keys: list[str], body: dict[str, Any]) -> None:
    """Refuses to go on where the budgets allow no call."""
    raised = _to_raise(machine, keys)
    for key in keys:
        frame = machine.loop_frames[key]
        if "ended" not in frame and frame["phase"] != "limit":
            continue
        for around, scope in budget.keyed_scopes(machine, key):
            for name in _AMOUNTS:
                needed = budget.missing(scope, name, frame.get("needs") or _LEAST)
                more = body.get(name, 0) if any(scope is one for one in raised) else 0
                if needed > more + 1e-12:
                    whose = "the run" if around == "run" else f"loop {name_of(machine, around)!r}"
                    limit = loop_limit.NAMES[name]
                    flag = loop_limit.raising(limit, max(needed, scope["limits"][name] / 2))
                    words = f"the {limit} budget of {whose} allows no call: add `{flag}`"
                    check(False, words)


def name_of(machine: State, key: str) -> str:
    """The name of a loop."""
    return machine.loop_frames[key]["name"]


def short_loop(machine: State) -> str:
    """The loop whose own budget the run is paused for, unless it has come to an end meanwhile."""
    short = str(machine.state.get("short_loop") or "")
    loops = (f for f in machine.frames.values() if f["kind"] == "loop" and "ended" not in f)
    return short if any(frame["address"] == short for frame in loops) else ""


def ended_for_budget(machine: State) -> list[str]:
    """The loops that stopped for a budget; inner ones first, since opening one opens others."""
    keys = [
        key
        for key, frame in machine.frames.items()
        if frame["kind"] == "loop" and "ended" in frame and frame.get("reason") == "budget"
    ]
    return keys[::-1]


def continued(machine: State, body: dict[str, Any]) -> None:
    """Carries out a request to continue."""
    keys = to_continue(machine, body)
    raise_limits(_to_raise(machine, keys), body)
    for key in keys:
        discard(machine.loop_frames[key], "short_of_run", "needs")
        _continue_loop(machine, key, int(body.get("iterations") or 0))
    if machine.status == "paused" and machine.state.get("paused_by") == "budget":
        set_going(machine)
    elif machine.status == "paused":
        machine.note("run.waiting", "", {"status": "paused"})


def _continue_loop(machine: State, key: str, more: int) -> None:
    """Lets a loop go on, for so many more iterations; its limit is raised, never lowered."""
    frame = machine.loop_frames[key]
    is_over = "ended" in frame or frame["phase"] == "limit"
    has_failed = frame.get("ended") in ("failed", "timed_out")
    limits = frame["limits"]
    if more:
        begun = frame["count"] if is_over else max(limits["iterations"], frame["count"])
        limits["iterations"] = max(limits["iterations"], begun + more)
        frame["stop_at"] = begun + more
    else:
        frame.pop("stop_at", None)
    told: dict[str, Any] = {"limits": dict(limits), "run_limits": dict(machine.state["limits"])}
    machine.note("loop.continued", frame["address"], told)
    open_around(machine, key)
    if not is_over:
        return
    reopen(machine, key)
    loop_limit.arm(machine, key)
    if "shelf" in frame:
        loop.take_up(machine, key)
    elif has_failed:
        machine.revive(key)
    else:
        loop.next_iteration(machine, key)


def _to_raise(machine: State, keys: list[str]) -> list[Budgeted]:
    """The budgets that stopped the loops: their own, or that of the run, once.

    A loop that ended for another reason gets more of both.
    """
    scopes: list[Budgeted] = []
    for key in keys:
        frame = machine.loop_frames[key]
        of_run = frame.get("short_of_run")
        if of_run is not True:
            scopes.append(frame)
        if of_run is not False and not any(one is machine.state for one in scopes):
            scopes.append(machine.state)
    return scopes


def raise_limits(scopes: list[Budgeted], body: dict[str, Any]) -> None:
    """Raises the limits of some scopes by what a request adds."""
    for name in _AMOUNTS:
        for scope in scopes:
            if body.get(name) and name in scope["limits"]:
                scope["limits"][name] += body[name]


def loop_at(machine: State, at: object, *, at_limit: bool = False) -> str:
    """The frame of the loop at an address; without one, the only loop that it can be."""
    loops = {f["address"]: key for key, f in machine.frames.items() if f["kind"] == "loop"}
    if at:
        address = str(at)
        check(address in loops, f"no loop {address!r} is open to that; there are: {_list(loops)}")
        return loops[address]
    outer = {a: key for a, key in loops.items() if machine.loop_frames[key]["loop"] is None}
    if at_limit and len(outer) > 1:
        outer = {a: k for a, k in outer.items() if machine.frames[k].get("reason") in _AT_LIMIT}
    check(bool(loops), "the run has no loop (yet)")
    check(len(outer) == 1, f"say which loop with --at: {_list(outer or loops)}")
    return next(iter(outer.values()))


def _list(loops: dict[str, str]) -> str:
    return ", ".join(sorted(loops)) or "none"


def is_reopenable(machine: State, key: str) -> bool:
    """Whether a loop can go on, as far as those around it are concerned."""
    return _closed_by(machine, key) is None


def check_reopenable(machine: State, key: str) -> None:
    """Refuses a loop whose surroundings are over."""
    around = _closed_by(machine, key)
    if around is not None:
        address, name = machine.loop_frames[key]["address"], around["name"]
        words = f"{address!r} lies in an iteration of loop {name!r} that is over: fork there"
        check(False, f"{words} instead")


def _closed_by(machine: State, key: str) -> LoopFrame | None:
    """The loop around a loop that has ended whose iteration is over, so that it cannot go on."""
    frame = machine.loop_frames[key]
    if "ended" not in frame:
        return None
    above = frame["parent"]
    while above is not None:
        around = machine.frames[above]
        if around["kind"] == "loop" and not _is_in_body(around):
            return around
        above = around["parent"]
    return None


def _is_in_body(frame: LoopFrame) -> bool:
    """Whether an iteration of a loop is under way, or put aside as it was."""
    if "shelf" in frame:
        return bool(frame["shelf"]["phase"] == "body")
    return "ended" not in frame and frame["phase"] == "body"


def open_around(machine: State, key: str) -> None:
    """Takes up the iterations around a loop that were put aside, the outermost first."""
    above = machine.loop_frames[key]["parent"]
    if above is not None:
        open_around(machine, above)
        if "shelf" in machine.loop_frames[above]:
            reopen(machine, above)
            loop.take_up(machine, above)


def reopen(machine: State, key: str) -> None:
    """Opens everything around a loop again; what follows it will run again."""
    frame = machine.loop_frames[key]
    discard(frame, "ended", "reason", "accepted_number")
    loop_limit.forget_question(machine, key)
    below, above = key, frame["parent"]
    was_ended = True
    while above is not None and was_ended:
        around = machine.frames[above]
        was_ended = "ended" in around
        if around["kind"] == "block":
            block.reopen(machine, above, machine.frames[below].get("name", ""))
        elif around["kind"] == "foreach":
            foreach.reopen(machine, above, below)
        around.pop("ended", None)
        below, above = above, around["parent"]
    set_going(machine)
