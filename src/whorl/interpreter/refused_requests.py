"""Why a request makes no sense for a run; which loops it means, and which budgets it raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import budget
from whorl.interpreter.constructs import subscriptions
from whorl.interpreter.constructs.loops import exploring
from whorl.interpreter.events import numbered

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Budgeted, LoopFrame, Values
    from whorl.interpreter.state import State
    from whorl.language import Json

    # Limits of loops and of the run, by whose they are and what they count.
    Limits = dict[tuple[str, str], Budgeted]


_AT_LIMIT = frozenset({"max_iterations", "timeout", "budget"})
# What is advised where a request gives no amount.
_ONE_DOLLAR = {"cost_usd": 1.0}


class Refused(ValueError):
    """A request that makes no sense for the run as it is; advice is made from the facts.

    `verb` is what helps: continue (the loop `at`, or all that lack money), resume, start; `more`
    is how much more of which budgets; `loops` are those that could be meant.
    """

    def __init__(self, message: str, **facts: Json) -> None:
        super().__init__(message)
        self.facts = facts


def check(holds: bool, otherwise: str, **facts: Json) -> None:
    if not holds:
        raise Refused(otherwise, **facts)


def check_request(machine: State, event: Event) -> None:
    is_end = event.kind in ("run.cancelled", "run.exhausted")
    check(is_end or "ending" not in machine.state, subscriptions.ENDING)
    match event.kind:
        case "run.continued":
            to_continue(machine, event.body)
        case "run.accepted" if "iteration" not in event.body:
            frame = machine.loop_frames[loop_at(machine, event.body.get("at"))]
            check("ended" not in frame, f"loop {frame['name']!r} has ended already")
        case "run.accepted":
            check_reopenable(machine, loop_at(machine, event.body.get("at")))
        case "run.paused":
            check(machine.status in ("running", "waiting"), f"the run is {machine.status}")
        case "run.cancelled" | "run.exhausted":
            check(not machine.done, f"the run has ended already: {machine.status}")
        case "run.resumed":
            _may_resume(machine, event.body)


def _may_resume(machine: State, body: dict[str, Any]) -> None:
    status, more = machine.status, _amounts(body)
    has_ended = status in ("succeeded", "cancelled")
    facts: Values = {"verb": "continue", "more": {**(more or _ONE_DOLLAR)}}
    can_go_on = has_ended and open_to_money(machine)
    check(not has_ended, f"the run has ended already: {status}", **(facts if can_go_on else {}))
    has_begun = bool(machine.frames[machine.state["root"]].get("body"))
    can_retry = status != "failed" or has_begun
    check(can_retry, "nothing in this run can be tried again", verb="start")
    short = short_loop(machine)
    is_other = status == "paused" and short and more
    words = f"the budget of loop {short!r} is too small, not that of the run"
    check(not is_other, words, **facts, at=short)


def _amounts(body: dict[str, Any]) -> dict[str, float]:
    return {name: body[name] for name in budget.NAMES if body.get(name)}


def chosen_loop(machine: State, at: str = "", *, at_limit: bool = False) -> str:
    """The address of the loop that a request means; raises Refused where that is not clear."""
    return str(machine.frames[loop_at(machine, at, at_limit=at_limit)]["address"])


def loop_at(machine: State, at: object, *, at_limit: bool = False) -> str:
    """The frame of the loop at an address; without one, the only loop that it can be."""
    loops = {f["address"]: key for key, f in machine.frames.items() if f["kind"] == "loop"}
    if at:
        address = str(at)
        names = ", ".join(sorted(loops)) or "none"
        check(address in loops, f"no loop {address!r} can do that now; these can: {names}")
        return loops[address]
    outer = {a: key for a, key in loops.items() if machine.loop_frames[key]["loop"] is None}
    if at_limit and len(outer) > 1:
        outer = {a: k for a, k in outer.items() if machine.frames[k].get("reason") in _AT_LIMIT}
    check(bool(loops), "the run has no loop (yet)")
    meant = sorted(outer or loops)
    check(len(outer) == 1, f"several loops can be meant: {', '.join(meant)}", loops=[*meant])
    return next(iter(outer.values()))


def to_continue(machine: State, body: dict[str, Any]) -> list[str]:
    """The loops that a request to continue means; raises Refused where that makes no sense.

    More money alone is for every loop that stopped for its budget.
    """
    at, iterations = body.get("at"), body.get("iterations")
    if machine.status == "paused" and machine.state.get("paused_by") == "budget":
        short, more = short_loop(machine), _amounts(body) or _ONE_DOLLAR
        words = "the run is paused for its budget"
        check(bool(short), words, verb="resume", more={**more})
        check(at in (None, "", short), f"the loop whose budget is too small is {short!r}")
        return [loop_at(machine, short)]
    if not at and not iterations and _amounts(body):
        keys = open_to_money(machine)
        check(bool(keys), "no loop of this run stopped for its budget")
    else:
        keys = [loop_at(machine, at, at_limit=True)]
        check_reopenable(machine, keys[0])
        check(not (why := exploring.obstacle(machine.loop_frames[keys[0]], body)), why)
    if machine.status != "cancelled":
        _check_money(machine, keys, body)
    return keys


def check_continued(machine: State, body: dict[str, Any]) -> None:
    """Refuses to let a loop go on as its rule left it, with what it carried when it was explored.

    Earlier versions did not: their journals have such requests.
    """
    for key in () if body.get("explore") else to_continue(machine, body):
        frame = machine.loop_frames[key]
        if exploring.went_past(frame):
            place, own = frame["address"], frame["count"]
            words = f"{place!r} was explored up to iteration {frame['explored']}"
            words += f", its own end is iteration {own}"
            raise Refused(words, verb="fork", at=numbered(place, own + 1))


def _check_money(machine: State, keys: list[str], body: dict[str, Any]) -> None:
    """Refuses to go on where the budgets allow no call: says all that is short at once."""
    raised = to_raise(machine, keys, body)
    given = body.get("limits") or {}
    for key in keys:
        frame = machine.loop_frames[key]
        if "ended" not in frame and frame["phase"] != "limit":
            continue
        needs = frame.get("needs") or budget.LEAST
        short: dict[str, str] = {}
        for around, scope in budget.keyed_scopes(machine, key):
            for name, lack in budget.over(scope, needs).items():
                more = body.get(name, 0) if (around, name) in raised else 0
                if around == "run" and name in given:
                    continue
                if lack > more + budget.NOTHING:
                    is_run = around == "run"
                    whose = "the run" if is_run else f"loop {machine.frames[around]['name']!r}"
                    short.setdefault(name, f"the {budget.NAMES[name]} budget of {whose}")
        if short:
            amounts = budget.lacking(machine, key, needs)
            verb = "allows" if len(short) == 1 else "allow"
            words = f"{' and '.join(short.values())} {verb} no call"
            raise Refused(words, verb="add", more={name: amounts[name] for name in short})


def short_loop(machine: State) -> str:
    """The loop whose own budget the run is paused for, unless it has come to an end meanwhile."""
    short = str(machine.state.get("short_loop") or "")
    loops = (f for f in machine.frames.values() if f["kind"] == "loop" and "ended" not in f)
    return short if any(frame["address"] == short for frame in loops) else ""


def open_to_money(machine: State) -> list[str]:
    """The loops that stopped for a budget; inner ones first, since opening one opens others."""
    return [
        key
        for key, frame in reversed(machine.frames.items())
        if frame["kind"] == "loop" and "ended" in frame and frame.get("reason") == "budget"
        if _closed_by(machine, key) is None
    ]


def to_raise(machine: State, keys: list[str], body: dict[str, Any]) -> Limits:
    """The budgets that stopped the loops: their own, or that of the run, once.

    A loop that ended for another reason gets more of both. A request that raises what is `around`
    raises also those that would stop the loops next: they have less left than it gives.
    """
    raised: Limits = {}
    for key in keys:
        frame = machine.loop_frames[key]
        of_run = frame.get("short_of_run")
        needs = frame.get("needs") or budget.LEAST
        for around, scope in budget.keyed_scopes(machine, key):
            stopped = of_run is not True if scope is frame else of_run is not False
            for name in budget.NAMES:
                gives = needs if scope is frame else {name: body.get(name, 0)}
                is_short = body.get("around") and budget.over(scope, gives).get(name, 0) > 0
                is_own = scope is frame or around == "run"
                if is_short or (stopped and is_own):
                    raised[around, name] = scope
    return raised


def check_reopenable(machine: State, key: str) -> None:
    if around := _closed_by(machine, key):
        place = repr(machine.frames[key]["address"])
        words = f"{place} lies in an iteration of loop {around['name']!r} that is over"
        raise Refused(words, verb="fork")


def _closed_by(machine: State, key: str) -> LoopFrame | None:
    """The loop around a loop that has ended whose iteration is over, so that it cannot go on."""
    frame = machine.loop_frames[key]
    if "ended" not in frame:
        return None
    above = frame["parent"]
    while above is not None:
        around = machine.frames[above]
        if around["kind"] == "loop":
            # An iteration that is put aside as it was can be taken up again.
            aside = around.get("suspended")
            phase = aside["phase"] if aside else "ended" if "ended" in around else around["phase"]
            if phase != "body":
                return around
        above = around["parent"]
    return None
